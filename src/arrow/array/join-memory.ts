/**
 * Memory for all buffers of a batch that is joined or unpacked: one block, one thing to pin and to use again.
 *
 * In: about how many bytes they will take. Out: codecs whose `allocate` cuts pieces from
 * the block; what doesn't fit, or isn't worth a block, lies elsewhere, as usual.
 */

import type { BatchMemory } from "../batch-memory.ts";
import type { Codecs } from "../codecs.ts";
import type { MemoryPool } from "../memory-pool.ts";
import type { ArrayData } from "../types.ts";

/** What any processor's vector instructions like. */
export const joinAlignment = 64;

export interface JoinMemory {
	codecs: Codecs;
	/** Of the block. */
	memory: BatchMemory | null;
	/** True if all bytes of the arrays were allocated here: they show nothing of what they were made of. */
	holdsAll(arrays: readonly ArrayData[]): boolean;
}

export function joinMemory(pool: MemoryPool | null, codecs: Codecs, size: number): JoinMemory {
	const taken = pool?.take(size) ?? null;
	const block = taken?.bytes ?? nothing;
	const own = new Set<ArrayBufferLike>([block.buffer]);
	let used = 0;
	const allocate = (length: number) => {
		if (length <= block.length - used) {
			const piece = block.subarray(used, used + length);
			used = Math.ceil((used + length) / joinAlignment) * joinAlignment;
			return piece;
		}
		const elsewhere = codecs.allocate(length);
		own.add(elsewhere.buffer);
		return elsewhere;
	};
	const holds = ({ buffers, children, dictionary }: ArrayData): boolean =>
		buffers.every((buffer) => buffer === null || buffer.length === 0 || own.has(buffer.buffer)) &&
		children.every(holds) &&
		(dictionary === null || holds(dictionary));
	return {
		codecs: { ...codecs, allocate },
		memory: taken?.memory ?? null,
		holdsAll: (arrays) => arrays.every(holds),
	};
}

const nothing = new Uint8Array(0);
