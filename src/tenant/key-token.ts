/**
 * A key as its holder has it: `dk_<keyid>_<secret>`, 16 and 52 characters of
 * `[a-z2-7]` (RFC 4648 base32 in lower case): 80 random bits that name the key,
 * 256 random bits that prove it. Stored is the SHA-256 of the secret alone; a
 * slow hash would add nothing to 256 random bits.
 */
const alphabet = "abcdefghijklmnopqrstuvwxyz234567";
const tokenGrammar = /^dk_([a-z2-7]{16})_([a-z2-7]{52})$/;
const keyIdGrammar = /^[a-z2-7]{16}$/;

export interface KeyToken {
	keyId: string;
	secret: string;
}

/** SHA-256 that doesn't leave the thread. */
export interface SecretHash {
	update(bytes: Uint8Array): void;
	/** Lower-case hex; the object is used up. */
	digestHex(): string;
}

/** Null for text of any other shape. */
export function parseKeyToken(text: string): KeyToken | null {
	const match = tokenGrammar.exec(text);
	return match ? { keyId: match[1]!, secret: match[2]! } : null;
}

export function isKeyId(text: string): boolean {
	return keyIdGrammar.test(text);
}

export function formatKeyToken(token: KeyToken): string {
	return `dk_${token.keyId}_${token.secret}`;
}

/** From the runtime's cryptographic generator. */
export function randomKeyToken(): KeyToken {
	return { keyId: randomBase32(10), secret: randomBase32(32) };
}

/** SHA-256 in lower-case hex, by the runtime's own way where it has one that is faster. */
export async function hashSecret(secret: string, createSha256?: () => SecretHash): Promise<string> {
	const bytes = new TextEncoder().encode(secret);
	if (createSha256 !== undefined) {
		const hash = createSha256();
		hash.update(bytes);
		return hash.digestHex();
	}
	const digest = await crypto.subtle.digest("SHA-256", bytes);
	return [...new Uint8Array(digest)].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** Takes the same time wherever two texts of one length differ. */
export function sameHash(a: string, b: string): boolean {
	if (a.length !== b.length) return false;
	let difference = 0;
	for (let at = 0; at < a.length; at++) difference |= a.charCodeAt(at) ^ b.charCodeAt(at);
	return difference === 0;
}

function randomBase32(bytes: number): string {
	const random = crypto.getRandomValues(new Uint8Array(bytes));
	let text = "";
	let bits = 0;
	let held = 0;
	for (const byte of random) {
		held = ((held << 8) | byte) & 0xfff;
		bits += 8;
		while (bits >= 5) {
			bits -= 5;
			text += alphabet[(held >> bits) & 31];
		}
	}
	if (bits > 0) text += alphabet[(held << (5 - bits)) & 31];
	return text;
}
