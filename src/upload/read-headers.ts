/**
 * The request headers that mean something to us, each read into a plain value or
 * refused with its own code. What we don't know is left alone, as HTTP has it.
 */
import { IngestError } from "../errors.ts";
import type { UploadRequest } from "../flow.ts";
import { maxIdempotencyKeyChars } from "../limits.ts";

/** Headers of which a proxy and we might each take another one. */
const sentOnce = new Set([
	"authorization",
	"content-encoding",
	"content-length",
	"content-type",
	"host",
	"idempotency-key",
	"upload-complete",
	"upload-length",
	"upload-offset",
]);

/**
 * `bad_request` for one of those sent twice; `raw` has names and values in turn.
 * RFC 9112, section 3.2: "A server MUST respond with a 400 status code to any
 * request that contains more than one Host header field line".
 */
export function assertSentOnce(raw: readonly string[]): void {
	const seen = new Set<string>();
	for (let at = 0; at < raw.length; at += 2) {
		const name = raw[at]!.toLowerCase();
		if (sentOnce.has(name) && seen.has(name)) {
			throw new IngestError("bad_request", `the header ${name} was sent more than once`);
		}
		seen.add(name);
	}
}

/** The caller's id where it is harmless in logs and headers, else a new one. */
export function readRequestId(headers: Headers): string {
	const given = headers.get("x-request-id") ?? "";
	return /^[\w.-]{1,64}$/.test(given) ? given : crypto.randomUUID();
}

/** https://www.w3.org/TR/trace-context/#traceparent-header; anything else is as good as none. */
export function readTraceparent(headers: Headers): string | null {
	const given = headers.get("traceparent") ?? "";
	return /^(?!ff)[0-9a-f]{2}-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}$/.test(given)
		? given
		: null;
}

export interface Preferences {
	respondAsync: boolean;
	/** Seconds; null: not said. */
	wait: number | null;
}

/**
 * https://www.rfc-editor.org/rfc/rfc7240#section-2: "If any preference is specified
 * more than once, only the first instance is to be considered", and a preference
 * that is not understood is ignored.
 */
export function readPreferences(headers: Headers): Preferences {
	const found = new Map<string, string>();
	for (const item of splitOutsideQuotes(headers.get("prefer") ?? "", ",")) {
		const [preference = ""] = splitOutsideQuotes(item, ";");
		const equals = preference.indexOf("=");
		const name = (equals < 0 ? preference : preference.slice(0, equals)).trim().toLowerCase();
		const value = equals < 0 ? "" : preference.slice(equals + 1).trim();
		if (name !== "" && !found.has(name)) found.set(name, value.replace(/^"(.*)"$/, "$1"));
	}
	const wait = found.get("wait") ?? "";
	return {
		respondAsync: found.has("respond-async"),
		wait: /^\d{1,9}$/.test(wait) ? Number(wait) : null,
	};
}

/** As `readIdempotencyKey`, of a header; null: there is none. */
export function readIdempotencyHeader(headers: Headers): string | null {
	const given = headers.get("idempotency-key");
	return given === null ? null : readIdempotencyKey(given, "the header Idempotency-Key");
}

/** 1 to 255 visible ASCII characters, in quotes (RFC 9651, section 3.3.3) or not. `bad_request` for others. */
export function readIdempotencyKey(text: string, what: string): string {
	const trimmed = text.trim();
	const quoted = /^"((?:[^"\\]|\\["\\])*)"$/.exec(trimmed);
	const key = quoted ? quoted[1]!.replace(/\\(["\\])/g, "$1") : trimmed;
	if (/^[\x21-\x7e]+$/.test(key) && key.length <= maxIdempotencyKeyChars) return key;
	throw new IngestError(
		"bad_request",
		`${what} is 1 to ${maxIdempotencyKeyChars} visible ASCII characters, in quotes or not; it has ${key.length}${
			/^[\x21-\x7e]*$/.test(key) ? "" : ", some of them not visible ASCII"
		}`,
	);
}

/** Arrow as people send it; the last is what curl says of `--data-binary` by itself. */
const arrowTypes = new Set([
	"application/vnd.apache.arrow.stream",
	"application/vnd.apache.arrow.file",
	"application/octet-stream",
	"application/x-www-form-urlencoded",
]);

/** `unsupported_media_type` for a body that says it is something else. */
export function assertArrowType(headers: Headers): void {
	const type = mediaType(headers);
	if (type === null || arrowTypes.has(type)) return;
	throw new IngestError(
		"unsupported_media_type",
		`content type ${JSON.stringify(type.slice(0, 100))} is not taken here; send ${[...arrowTypes].slice(0, 3).join(", ")} or none`,
	);
}

/** `unsupported_media_type` for a JSON body that says it is something else. */
export function assertJsonType(headers: Headers): void {
	const type = mediaType(headers);
	if (type === null || type === "application/json" || /^[^/]+\/[^/]+\+json$/.test(type)) return;
	// What curl says of `-d` by itself.
	if (type === "application/x-www-form-urlencoded") return;
	throw new IngestError(
		"unsupported_media_type",
		`content type ${JSON.stringify(type.slice(0, 100))} is not taken here; send application/json`,
	);
}

/** `unsupported_media_type` for a body that doesn't say it is a piece of an upload. */
export function assertPartialType(headers: Headers): void {
	const type = mediaType(headers);
	if (type === "application/partial-upload") return;
	throw new IngestError(
		"unsupported_media_type",
		`an append is application/partial-upload, not ${type === null ? "without a content type" : JSON.stringify(type.slice(0, 100))}`,
	);
}

/** Lower case, without parameters; null: not said. */
function mediaType(headers: Headers): string | null {
	const type = (headers.get("content-type") ?? "").split(";")[0]!.trim().toLowerCase();
	return type === "" ? null : type;
}

/** `unsupported_media_type` for codings that the loader can't undo, and for two on top of each other. */
export function readContentEncoding(headers: Headers): UploadRequest["content_encoding"] {
	const given = (headers.get("content-encoding") ?? "").trim().toLowerCase();
	const codings = given.split(",").map((coding) => coding.trim());
	const real = codings.filter((coding) => coding !== "" && coding !== "identity");
	if (real.length === 0) return "identity";
	// RFC 9110, section 8.4.1.3: "a recipient SHOULD consider x-gzip to be equivalent to gzip".
	if (real.length === 1 && (real[0] === "gzip" || real[0] === "x-gzip")) return "gzip";
	if (real.length === 1 && real[0] === "zstd") return "zstd";
	throw new IngestError(
		"unsupported_media_type",
		`content coding ${JSON.stringify(given.slice(0, 100))} is not taken here; send gzip, zstd or none`,
	);
}

/**
 * `Content-Digest: sha-256=:…:` (https://www.rfc-editor.org/rfc/rfc9530#section-2) as
 * lower-case hex; null where no SHA-256 is among the digests. `bad_request` for one that is none.
 */
export function readContentDigest(headers: Headers): string | null {
	const given = headers.get("content-digest");
	return given === null ? null : readSha256Member(given, "the header Content-Digest");
}

/** `Repr-Digest`: the Arrow bytes' digest as the caller says it, in the form that receipts have; null: none. */
export function readReprDigest(headers: Headers): string | null {
	const given = headers.get("repr-digest");
	const hex = given === null ? null : readSha256Member(given, "the header Repr-Digest");
	return hex === null ? null : formatSha256(hex);
}

/** Lower-case hex to the form of RFC 9530. */
function formatSha256(hex: string): string {
	const bytes = (hex.match(/../g) ?? []).map((pair) => Number.parseInt(pair, 16));
	return `sha-256=:${btoa(String.fromCharCode(...bytes))}:`;
}

/** Of a structured dictionary, the member `sha-256` as hex. */
function readSha256Member(text: string, what: string): string | null {
	let hex: string | null = null;
	for (const member of text.split(",")) {
		const [name = "", ...rest] = member.trim().split("=");
		if (name.toLowerCase() !== "sha-256") continue;
		const bytes = /^:([A-Za-z0-9+/]{43}=):$/.exec(rest.join("=").split(";")[0]!.trim());
		if (!bytes) {
			throw new IngestError(
				"bad_request",
				`${what} is sha-256=:…: with the 44 characters of base64 between the colons`,
			);
		}
		hex = [...atob(bytes[1]!)]
			.map((char) => char.charCodeAt(0).toString(16).padStart(2, "0"))
			.join("");
	}
	return hex;
}

/** Bytes the caller announced; null: chunked, or nothing said. */
export function readContentLength(headers: Headers): number | null {
	const given = headers.get("content-length");
	if (given === null) return null;
	if (/^\d{1,15}$/.test(given)) return Number(given);
	throw new IngestError("bad_request", `Content-Length ${JSON.stringify(given)} is no length`);
}

function splitOutsideQuotes(text: string, separator: string): string[] {
	const parts: string[] = [];
	let part = "";
	let quoted = false;
	for (let at = 0; at < text.length; at++) {
		const char = text[at]!;
		if (char === '"') quoted = !quoted;
		if (quoted && char === "\\") part += char + (text[++at] ?? "");
		else if (char === separator && !quoted) parts.push(part);
		else part += char;
		if (char === separator && !quoted) part = "";
	}
	return [...parts, part];
}
