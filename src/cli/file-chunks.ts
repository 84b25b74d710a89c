/** The bytes of a file in order, in chunks or put where they are wanted. */
import { type FileHandle, open } from "node:fs/promises";
import type { ByteChunks } from "../arrow/byte-source.ts";
import { ReadChunks } from "../arrow/read-chunks.ts";

/** Opens the file when the first byte is asked for; closes it at its end, on errors and on `return`. */
export function fileChunks(
	path: string,
	signal: AbortSignal,
	/** Bytes `start … end`, `end` excluded; null: all there are, also of a pipe. */
	range: { start: number; end: number } | null = null,
): ByteChunks {
	const reader = () => {
		let handle: FileHandle | null = null;
		let at = range?.start ?? 0;
		const read = async (target: Uint8Array) => {
			signal.throwIfAborted();
			handle ??= await open(path);
			const wanted =
				range === null ? target.byteLength : Math.min(target.byteLength, range.end - at);
			const { bytesRead } = await handle.read(target, 0, wanted, range === null ? null : at);
			at += bytesRead;
			signal.throwIfAborted();
			return bytesRead;
		};
		return new ReadChunks(read, async () => handle?.close());
	};
	return { [Symbol.asyncIterator]: reader };
}
