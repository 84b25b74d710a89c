/**
 * How a Worker proves to the loader that a job comes from it: an HMAC-SHA-256 over
 * the time and the body, with a secret that both have.
 *
 *   X-Duckdock-Signature: t=<seconds since 1970>,v1=<64 hex digits>
 *
 * A signature is good for five minutes. Within them it can be sent again, and
 * nothing comes of it: a job is a name, and a load happens once.
 */
export const signatureHeader = "X-Duckdock-Signature";
const goodForSeconds = 300;
/** Shorter secrets can be guessed. */
export const minSecretChars = 32;

const encoder = new TextEncoder();

/** The header's value. `nowMs`: milliseconds since 1970. */
export async function signBody(secret: string, body: string, nowMs: number): Promise<string> {
	const seconds = Math.floor(nowMs / 1000);
	const key = await hmacKey(secret, "sign");
	const mac = await crypto.subtle.sign("HMAC", key, encoder.encode(`${seconds}.${body}`));
	return `t=${seconds},v1=${hexOf(new Uint8Array(mac))}`;
}

/** Whether the header was made of this body by who has the secret, lately. */
export async function verifyBody(
	secret: string,
	body: string,
	header: string | null,
	nowMs: number,
): Promise<boolean> {
	const match = /^t=(\d{1,12}),v1=([0-9a-f]{64})$/.exec(header ?? "");
	if (!match) return false;
	const [, seconds, mac] = match;
	if (Math.abs(nowMs / 1000 - Number(seconds)) > goodForSeconds) return false;
	const key = await hmacKey(secret, "verify");
	// Compares in constant time.
	return crypto.subtle.verify("HMAC", key, bytesOf(mac!), encoder.encode(`${seconds}.${body}`));
}

function hmacKey(secret: string, use: "sign" | "verify"): Promise<CryptoKey> {
	const algorithm = { name: "HMAC", hash: "SHA-256" };
	return crypto.subtle.importKey("raw", encoder.encode(secret), algorithm, false, [use]);
}

const hexOf = (bytes: Uint8Array) =>
	Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");

const bytesOf = (hex: string) =>
	new Uint8Array((hex.match(/../g) ?? []).map((pair) => Number.parseInt(pair, 16)));
