/**
 * What can only be read into given memory, as bytes in order: in chunks or put where they are
 * wanted. One chunk's memory serves for all: what makes garbage of a gigabyte makes the collector run.
 *
 * Chunks begin small, since the reader of a large body takes the rest of it in place, and grow
 * while nothing is taken in place: then many small messages come with one read.
 */

import type { ByteIterator } from "./byte-source.ts";

const firstChunkBytes = 32 * 1024;
const maxChunkBytes = 1024 * 1024;

export class ReadChunks implements ByteIterator {
	readonly #read: (target: Uint8Array) => Promise<number>;
	readonly #close: () => Promise<void>;
	#ended = false;
	#chunk = new Uint8Array(firstChunkBytes);
	#chunkBytes = firstChunkBytes;

	/** `read` is as `ByteIterator.readInto`; `close` is called once: at the end, on errors, on `return`. */
	constructor(read: (target: Uint8Array) => Promise<number>, close: () => Promise<void>) {
		this.#read = read;
		this.#close = close;
	}

	async next(): Promise<IteratorResult<Uint8Array>> {
		if (this.#chunk.length < this.#chunkBytes) this.#chunk = new Uint8Array(this.#chunkBytes);
		const count = await this.#take(this.#chunk.subarray(0, this.#chunkBytes));
		this.#chunkBytes = Math.min(2 * this.#chunkBytes, maxChunkBytes);
		if (count === 0) return { done: true, value: undefined };
		return { done: false, value: this.#chunk.subarray(0, count) };
	}

	readInto(target: Uint8Array): Promise<number> {
		this.#chunkBytes = firstChunkBytes;
		return this.#take(target);
	}

	async return(): Promise<IteratorResult<Uint8Array>> {
		if (!this.#ended) {
			this.#ended = true;
			await this.#close();
		}
		return { done: true, value: undefined };
	}

	async #take(target: Uint8Array): Promise<number> {
		if (this.#ended) return 0;
		try {
			const count = await this.#read(target);
			if (count === 0) await this.return();
			return count;
		} catch (error) {
			await this.return().catch(() => {});
			throw error;
		}
	}
}
