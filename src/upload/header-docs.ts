/**
 * Request headers as OpenAPI tells of them; `read-headers.ts` reads them. Without
 * patterns: HTTP takes spaces around a value away, and lists may hold more than we ask for.
 */

export const idempotencyKeyHeader =
	"1 to 255 visible ASCII characters, in quotes or not; a repeat is answered and not loaded again";

export const preferWaitHeader = "wait=N: seconds to wait for the receipt (RFC 7240)";

export const preferHeader = `${preferWaitHeader}; respond-async: don't wait`;

export const contentEncodingHeader = "gzip or zstd; undone by the loader, under the size limit";

export const contentDigestHeader = "sha-256=:…: of the body as sent (RFC 9530)";

export const reprDigestHeader = "sha-256=:…: of the Arrow bytes, content coding undone (RFC 9530)";

export const uploadCompleteHeader =
	"?1: the upload ends with this request's bytes; ?0: it goes on (draft-ietf-httpbis-resumable-upload-12)";

export const uploadOffsetHeader = "Bytes of the upload before these, as the last answer told";

export const uploadLengthHeader = "Bytes of the whole upload, where they are known";
