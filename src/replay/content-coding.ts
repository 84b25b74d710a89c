/**
 * Undoes the `Content-Encoding` that a body was staged with, in Node.
 *
 * In: the coded bytes in chunks. Out: the Arrow bytes in chunks, never more than `maxBytes`
 * and never more than a few chunks ahead of who reads them, however well they compress.
 * Several gzip members or zstd frames may follow each other, as in `cat a.zst b.zst`.
 *
 * Errors: `truncated_stream` where the coded bytes end too early, `bad_request` where they
 * are not what the coding says or something follows them, `too_large` over the limit.
 */

import type { Transform } from "node:stream";
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
	const input = new CodedInput(chunks);
	let decoded = 0;
	try {
		do {
			for await (const chunk of decodeMember(coding, input)) {
				signal.throwIfAborted();
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
		} while (await input.hasMore());
	} catch (error) {
		throw explain(error, coding);
	} finally {
		await input.close();
	}
}

/** Coded bytes, of which those that a decoder didn't want are given to the next one. */
class CodedInput {
	readonly #chunks: AsyncIterator<Uint8Array>;
	#rest: Uint8Array | null = null;

	constructor(chunks: AsyncIterable<Uint8Array>) {
		this.#chunks = chunks[Symbol.asyncIterator]();
	}

	async next(): Promise<Uint8Array | null> {
		const rest = this.#rest;
		this.#rest = null;
		if (rest !== null) return rest;
		for (;;) {
			const next = await this.#chunks.next();
			if (next.done) return null;
			if (next.value.byteLength > 0) return next.value;
		}
	}

	giveBack(bytes: Uint8Array): void {
		this.#rest = bytes.byteLength > 0 ? bytes : null;
	}

	async hasMore(): Promise<boolean> {
		const next = await this.next();
		if (next !== null) this.giveBack(next);
		return next !== null;
	}

	async close(): Promise<void> {
		await this.#chunks.return?.();
	}
}

/**
 * One decoder's worth: all gzip members, or zstd frames up to one that ends inside a chunk, after
 * which Node's decoder takes no more.
 */
async function* decodeMember(
	coding: "gzip" | "zstd",
	input: CodedInput,
): AsyncGenerator<Uint8Array> {
	const decoder: Transform & { readonly bytesWritten: number } =
		coding === "gzip" ? createGunzip({ chunkSize }) : createZstdDecompress({ chunkSize });
	const ended = new Promise<void>((resolve) => decoder.once("close", resolve));
	let fed = 0;
	let last: Uint8Array = new Uint8Array(0);
	const feed = async () => {
		for (;;) {
			const chunk = await input.next();
			if (chunk === null) {
				decoder.end();
				return;
			}
			last = chunk;
			fed += chunk.byteLength;
			const taken = new Promise<void>((resolve) => decoder.write(chunk, () => resolve()));
			await Promise.race([taken, ended]);
			// It leaves input only where a frame ended inside it.
			if (decoder.destroyed || decoder.bytesWritten < fed) return;
		}
	};
	const feeding = feed().catch((error) => {
		decoder.destroy(error);
	});
	try {
		yield* decoder as AsyncIterable<Uint8Array>;
	} finally {
		decoder.destroy();
		await feeding;
	}
	input.giveBack(last.subarray(last.byteLength - (fed - decoder.bytesWritten)));
}

/** zlib's errors have codes of their own; everything else came from the source. */
function explain(error: unknown, coding: ContentCoding): unknown {
	const code = error instanceof Error && "code" in error ? String(error.code) : "";
	if (code === "Z_BUF_ERROR") {
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
