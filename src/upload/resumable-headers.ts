/**
 * The header fields of resumable uploads, read and written.
 *
 * https://datatracker.ietf.org/doc/draft-ietf-httpbis-resumable-upload/12/, section 4.1;
 * values are Items of https://www.rfc-editor.org/rfc/rfc9651, and of all four fields
 * "Other values MUST cause the entire header field to be ignored".
 */
import type { AppDeps } from "./app-deps.ts";

/** Of draft 12; only who says this number knows what we mean by a 104. */
const interopVersion = "9";
const uploadResumptionSupported = 104;

const parameters = "(?:\\s*;.*)?";
const booleanItem = new RegExp(`^\\?([01])${parameters}$`);
const lengthItem = new RegExp(`^(\\d{1,15})${parameters}$`);

/** Whether the request's bytes are the upload's last ones; null: not said. */
export function readUploadComplete(headers: Headers): boolean | null {
	const item = booleanItem.exec((headers.get("upload-complete") ?? "").trim());
	return item === null ? null : item[1] === "1";
}

/** Bytes before the first one of the request; null: not said. */
export const readUploadOffset = (headers: Headers) => readLength(headers, "upload-offset");

/** Bytes of the whole upload; null: not said. */
export const readUploadLength = (headers: Headers) => readLength(headers, "upload-length");

function readLength(headers: Headers, name: string): number | null {
	const item = lengthItem.exec((headers.get(name) ?? "").trim());
	return item === null ? null : Number(item[1]);
}

export const formatComplete = (complete: boolean) => (complete ? "?1" : "?0");

/** Sizes in bytes; `maxAgeSeconds`: what is left of the upload's time, or the time that a new one would have. */
export function uploadLimit(limits: {
	maxUploadBytes: number;
	maxAppendBytes: number;
	maxAgeSeconds?: number;
}): string {
	const { maxUploadBytes, maxAppendBytes, maxAgeSeconds } = limits;
	const members = {
		"max-size": maxUploadBytes,
		"max-append-size": Math.min(maxUploadBytes, maxAppendBytes),
		"min-append-size": 0,
		...(maxAgeSeconds === undefined ? {} : { "max-age": Math.max(0, Math.floor(maxAgeSeconds)) }),
	};
	return Object.entries(members)
		.map(([name, value]) => `${name}=${value}`)
		.join(", ");
}

/** `Upload-Limit` of an upload that takes appends. */
export function appendLimit(
	{ limits, maxRequestBytes }: Pick<AppDeps, "limits" | "maxRequestBytes">,
	maxAgeSeconds: number,
): string {
	const { maxUploadBytes } = limits;
	const maxAppendBytes = maxRequestBytes ?? maxUploadBytes;
	return uploadLimit({ maxUploadBytes, maxAppendBytes, maxAgeSeconds });
}

/** For OPTIONS of a path that begins uploads or takes appends. */
export function resumableOptions(
	deps: Pick<AppDeps, "limits" | "maxRequestBytes">,
): Record<string, string> {
	return {
		// "MUST include the full application/partial-upload media type"
		"Accept-Patch": "application/partial-upload",
		"Upload-Limit": appendLimit(deps, deps.limits.uploadTtlMs / 1000),
	};
}

/**
 * What sends a 104 to this caller, or null: "MUST NOT send a 104 … when the interop
 * version indicated … is missing or mismatching" (appendix B).
 */
export function informer(
	deps: Pick<AppDeps, "inform">,
	request: Request,
	env: unknown,
): ((headers: Record<string, string>) => void) | null {
	const { inform } = deps;
	const version = request.headers.get("upload-draft-interop-version")?.trim();
	if (inform === undefined || version !== interopVersion) return null;
	return (headers) =>
		inform(env, uploadResumptionSupported, {
			...headers,
			"Upload-Draft-Interop-Version": interopVersion,
		});
}
