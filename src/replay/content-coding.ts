/**
 * Undoes the `Content-Encoding` that a body was staged with, in Node.
 *
 * In: the coded bytes in chunks. Out: the Arrow bytes in chunks, never more than `maxBytes`
 * and never more than a few chunks ahead of who reads them, however well they compress.
 *
 * Errors: `truncated_stream` where the coded bytes end too early, `bad_request` where they
 * are not what the coding says or something follows them, `too_large` over the limit.
 */

import { Readable, type Transform } from "node:stream";
import { pipeline } from "node:stream/promises";
import { createGunzip, createZstdDecompress } from "node:zlib";
import { IngestError } from "../errors.ts";

export type ContentCoding = "identity" | "gzip" | "zstd";

const KiB = 1024;
const chunkSize = 256 * KiB;

export interface ContentLimits {
	/** Of the bytes that come out. */
	maxBytes: number;
	signal: AbortSignal;
}

export async function* decodeContent(
	coding: ContentCoding,
	chunks: AsyncIterable<Uint8Array>,
	{ maxBytes, signal }: ContentLimits,
): AsyncGenerator<Uint8Array> {
	if (coding === "identity") {
		yield* chunks;
		return;
	}
	let coded = 0;
	const counted = async function* () {
		for await (const chunk of chunks) {
			coded += chunk.byteLength;
			yield chunk;
		}
	};
	const decoder = createDecoder(coding);
	const ending = new AbortController();
	const feeding = pipeline(Readable.from(counted(), { objectMode: false }), decoder, {
		signal: AbortSignal.any([signal, ending.signal]),
	});
	// Whoever iterates the decoder meets the same error there.
	feeding.catch(() => {});
	let decoded = 0;
	try {
		for await (const chunk of decoder as AsyncIterable<Uint8Array>) {
			decoded += chunk.byteLength;
			if (decoded > maxBytes) {
				throw new IngestError(
					"too_large",
					`the ${coding} content is over the limit of ${maxBytes} bytes when unpacked`,
					{ extra: { limit: maxBytes } },
				);
			}
			yield chunk;
		}
		await feeding;
	} catch (error) {
		throw explain(error, coding);
	} finally {
		ending.abort();
	}
	if (coded > decoder.bytesWritten) {
		throw new IngestError(
			"bad_request",
			`${coded - decoder.bytesWritten} bytes follow the ${coding} content of ${decoder.bytesWritten}`,
		);
	}
}

function createDecoder(coding: "gzip" | "zstd"): Transform & { readonly bytesWritten: number } {
	return coding === "gzip" ? createGunzip({ chunkSize }) : createZstdDecompress({ chunkSize });
}

/** zlib's errors have codes of their own; everything else came from the source. */
function explain(error: unknown, coding: ContentCoding): unknown {
	const code = error instanceof Error && "code" in error ? String(error.code) : "";
	if (code === "Z_BUF_ERROR" || (error as Error)?.message === "unexpected end of file") {
		return new IngestError("truncated_stream", `the ${coding} content ends too early`, {
			cause: error,
		});
	}
	if (!code.startsWith("Z_") && !code.startsWith("ZSTD_")) return error;
	return new IngestError(
		"bad_request",
		`the body is not the ${coding} content that its Content-Encoding says: ${(error as Error).message}`,
		{ cause: error },
	);
}
