/**
 * The bytes of a file in order, either in chunks or put where they are wanted. One chunk's
 * memory serves for all: what makes garbage of a gigabyte makes the collector run.
 *
 * Chunks begin small, since the reader of a large body takes the rest of it in place, and grow
 * while nothing is taken in place: then many small messages come with one read.
 */
import { type FileHandle, open } from "node:fs/promises";
import type { ByteChunks, ByteIterator } from "../arrow/byte-source.ts";

const firstChunkBytes = 32 * 1024;
const maxChunkBytes = 1024 * 1024;

/** Opens the file when the first byte is asked for; closes it at its end, on errors and on `return`. */
export function fileChunks(path: string, signal: AbortSignal): ByteChunks {
	return { [Symbol.asyncIterator]: () => new FileChunks(path, signal) };
}

class FileChunks implements ByteIterator {
	readonly #path: string;
	readonly #signal: AbortSignal;
	#handle: FileHandle | null = null;
	#ended = false;
	#chunk = new Uint8Array(firstChunkBytes);
	#chunkBytes = firstChunkBytes;

	constructor(path: string, signal: AbortSignal) {
		this.#path = path;
		this.#signal = signal;
	}

	async next(): Promise<IteratorResult<Uint8Array>> {
		if (this.#chunk.length < this.#chunkBytes) this.#chunk = new Uint8Array(this.#chunkBytes);
		const count = await this.#read(this.#chunk.subarray(0, this.#chunkBytes));
		this.#chunkBytes = Math.min(2 * this.#chunkBytes, maxChunkBytes);
		if (count === 0) return { done: true, value: undefined };
		return { done: false, value: this.#chunk.subarray(0, count) };
	}

	readInto(target: Uint8Array): Promise<number> {
		this.#chunkBytes = firstChunkBytes;
		return this.#read(target);
	}

	async return(): Promise<IteratorResult<Uint8Array>> {
		this.#ended = true;
		const handle = this.#handle;
		this.#handle = null;
		await handle?.close();
		return { done: true, value: undefined };
	}

	async #read(target: Uint8Array): Promise<number> {
		if (this.#ended) return 0;
		try {
			this.#signal.throwIfAborted();
			this.#handle ??= await open(this.#path);
			const { bytesRead } = await this.#handle.read(target, 0, target.byteLength);
			this.#signal.throwIfAborted();
			if (bytesRead === 0) await this.return();
			return bytesRead;
		} catch (error) {
			await this.return();
			throw error;
		}
	}
}
