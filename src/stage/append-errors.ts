/**
 * What can be wrong with an append, with the types that the draft registers.
 * draft-ietf-httpbis-resumable-upload-12, section 7.
 */
import { IngestError } from "../errors.ts";

const registry = "https://iana.org/assignments/http-problem-types#";

export function offsetMismatch(expected: number, provided: number): IngestError {
	return new IngestError(
		"offset_mismatch",
		`the upload has ${expected} bytes, the append begins at ${provided}`,
		{
			problemType: `${registry}mismatching-upload-offset`,
			extra: { "expected-offset": expected, "provided-offset": provided },
		},
	);
}

/** Two announcements of the upload's length that differ, or bytes that don't keep to one. */
export function inconsistentLength(detail: string): IngestError {
	return new IngestError("bad_request", detail, {
		problemType: `${registry}inconsistent-upload-length`,
	});
}

/** `upload_completed` as the draft names it; other errors as they are. */
export function asAppendError(error: unknown): unknown {
	if (!(error instanceof IngestError) || error.code !== "upload_completed") return error;
	return new IngestError("upload_completed", error.message, {
		problemType: `${registry}completed-upload`,
		extra: error.extra,
	});
}
