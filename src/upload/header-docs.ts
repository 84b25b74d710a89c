/** Request headers as OpenAPI tells of them; `read-headers.ts` reads them. */

const digest = "^sha-256=:[A-Za-z0-9+/]{43}=:$";

export const idempotencyKeyHeader = {
	description:
		"1 to 255 visible ASCII characters, in quotes or not; a repeat is answered and not loaded again",
	schema: { minLength: 1, maxLength: 255, pattern: "^[\\x21\\x23-\\x7e]+$" },
};

export const preferWaitHeader = "wait=N: seconds to wait for the receipt (RFC 7240)";

export const preferHeader = `${preferWaitHeader}; respond-async: don't wait`;

export const contentEncodingHeader = {
	description: "Undone by the loader, under the size limit",
	schema: { enum: ["gzip", "zstd", "identity"] },
};

export const contentDigestHeader = {
	description: "Of the body as sent (RFC 9530)",
	schema: { pattern: digest },
};

export const reprDigestHeader = {
	description: "Of the Arrow bytes, content coding undone (RFC 9530)",
	schema: { pattern: digest },
};
