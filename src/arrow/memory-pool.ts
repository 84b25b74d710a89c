/**
 * Memory of large message bodies and of joined batches, used again within one load.
 *
 * Fresh memory is paid for three times: pages are faulted in and zeroed, and V8 runs a full
 * collection for every 64 MB or so of it, since a body's wrapper is small and old. Used again it is not paid for.
 *
 * Who takes memory gets it as the only holder of a `BatchMemory`. It comes back here when its last
 * holder lets go, and nowhere else; whoever doesn't let go, say after an error, leaves it to the
 * collector as any other memory. So a forgotten `release` costs, and only one too many would do harm: that throws.
 *
 * At most `maxIdleBytes` lie here unused; what is more, and all once the load is over, is given back at once.
 */

import { BatchMemory } from "./batch-memory.ts";
import type { Codecs } from "./codecs.ts";

const KiB = 1024;
const maxIdleBytes = 128 * KiB * KiB;
/** Blocks are of few sizes, so that they fit again: eight to each power of two. */
const smallestStep = 64 * KiB;

export interface PooledBytes {
	/** Exactly as many as asked for. What was in them before may still be. */
	bytes: Uint8Array;
	memory: BatchMemory;
}

export class MemoryPool {
	readonly #allocate: Codecs["allocate"];
	readonly #rules: NonNullable<Codecs["pool"]>;
	/** The longest unused first. */
	#idle: Uint8Array[] = [];
	#idleBytes = 0;
	#closed = false;

	/** Null: memory is not used again in this runtime. */
	static of({ allocate, pool }: Codecs): MemoryPool | null {
		return pool === undefined ? null : new MemoryPool(allocate, pool);
	}

	private constructor(allocate: Codecs["allocate"], rules: NonNullable<Codecs["pool"]>) {
		this.#allocate = allocate;
		this.#rules = rules;
	}

	/** Null: too few to be worth it, allocate them as usual. Throws what `allocate` does. */
	take(size: number): PooledBytes | null {
		if (size < this.#rules.fromBytes || size === 0) return null;
		const block = this.#fitting(size) ?? this.#allocate(blockBytes(size));
		const memory = new BatchMemory(() => this.#give(block));
		return { bytes: block.subarray(0, size), memory };
	}

	/** The load is over: what is unused goes, and what comes back later goes then. */
	close(): void {
		this.#closed = true;
		for (const block of this.#idle) discard(block);
		this.#idle = [];
		this.#idleBytes = 0;
	}

	#fitting(size: number): Uint8Array | undefined {
		let best = -1;
		for (let i = 0; i < this.#idle.length; i++) {
			const { length } = this.#idle[i]!;
			if (length < size || length > 2 * blockBytes(size)) continue;
			if (best < 0 || length < this.#idle[best]!.length) best = i;
		}
		if (best < 0) return undefined;
		const [block] = this.#idle.splice(best, 1);
		this.#idleBytes -= block!.length;
		return block;
	}

	/** Called by the block's `BatchMemory` alone, when nobody can read it any more. */
	#give(block: Uint8Array): void {
		this.#rules.reclaimed?.(block);
		if (this.#closed || block.length > maxIdleBytes) {
			discard(block);
			return;
		}
		this.#idle.push(block);
		this.#idleBytes += block.length;
		while (this.#idleBytes > maxIdleBytes) {
			const oldest = this.#idle.shift()!;
			this.#idleBytes -= oldest.length;
			discard(oldest);
		}
	}
}

function blockBytes(size: number): number {
	const step = Math.max(smallestStep, 2 ** (Math.floor(Math.log2(size)) - 3));
	return Math.ceil(size / step) * step;
}

/** Frees memory without waiting for the collector. */
function discard(block: Uint8Array): void {
	(block.buffer as ArrayBuffer).transfer(0);
}
