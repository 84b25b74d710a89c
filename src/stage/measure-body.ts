/** A body on its way to the store: the same chunks out as in, counted and digested as they pass. */

import { IngestError } from "../errors.ts";
import type { StreamingSha256 } from "./stage-upload.ts";

export interface MeasureOptions {
	/** Another number of bytes is `truncated_stream`. */
	size?: number;
	/** Another digest (lower-case hex) is `digest_mismatch`. */
	sha256?: string;
	/** Called with the bytes so far before a chunk passes; what it throws errors the stream. */
	onBytes?(total: number): void;
}

export interface MeasuredBody {
	/** Errors at its end, before it closes, when size or digest are wrong: a store then leaves no object. */
	stream: ReadableStream<Uint8Array>;
	/** Once the stream was read to its end. */
	result(): Promise<{ size: number; sha256: string }>;
}

export function measureBody(
	body: ReadableStream<Uint8Array>,
	hash: StreamingSha256,
	options: MeasureOptions = {},
): MeasuredBody {
	const reader = body.getReader();
	const done = Promise.withResolvers<{ size: number; sha256: string }>();
	done.promise.catch(() => {});
	let size = 0;
	const stream = new ReadableStream<Uint8Array>(
		{
			async pull(controller) {
				try {
					const { value } = await readChunk(reader, size);
					if (value !== undefined) {
						size += value.length;
						options.onBytes?.(size);
						await hash.update(value);
						controller.enqueue(value);
						return;
					}
					const sha256 = await hash.digestHex();
					check(size, sha256, options);
					done.resolve({ size, sha256 });
					controller.close();
				} catch (error) {
					done.reject(error);
					reader.cancel(error).catch(() => {});
					controller.error(error);
				}
			},
			cancel: (reason) => {
				done.reject(reason);
				return reader.cancel(reason);
			},
		},
		{ highWaterMark: 0 },
	);
	return { stream, result: () => done.promise };
}

/** A body that breaks off is `truncated_stream`; a guard's own IngestError stays what it is. */
export async function readChunk(
	reader: ReadableStreamDefaultReader<Uint8Array>,
	received: number,
): Promise<{ value: Uint8Array | undefined }> {
	try {
		const { value, done } = await reader.read();
		return { value: done ? undefined : value };
	} catch (cause) {
		if (cause instanceof IngestError) throw cause;
		throw new IngestError("truncated_stream", `the body broke off after ${received} bytes`, {
			cause,
		});
	}
}

function check(size: number, sha256: string, expected: MeasureOptions): void {
	if (expected.size !== undefined && expected.size !== size) {
		throw new IngestError(
			"truncated_stream",
			`${expected.size} bytes were announced, ${size} came`,
		);
	}
	if (expected.sha256 !== undefined && expected.sha256 !== sha256) {
		throw new IngestError(
			"digest_mismatch",
			`SHA-256 ${expected.sha256} was announced, the ${size} bytes have ${sha256}`,
		);
	}
}
