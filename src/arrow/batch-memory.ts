/**
 * What a batch's buffers lie in, with the number of those who may still read it.
 *
 * Whoever makes it is its first holder. A batch that carries one is a holder; who makes two batches of one
 * retains it for the second. A holder reads until it releases, and not after.
 */
export class BatchMemory {
	#holders = 1;
	readonly #free: () => void;

	/** `free` is called once, when the last holder has let go. */
	constructor(free: () => void) {
		this.#free = free;
	}

	/** One holder more. */
	retain(): this {
		if (this.#holders === 0) throw new Error("memory is retained that was given back");
		this.#holders++;
		return this;
	}

	/** One holder less. */
	release(): void {
		if (this.#holders === 0) throw new Error("memory is released that was given back");
		this.#holders--;
		if (this.#holders === 0) this.#free();
	}
}

/** One holder in place of those of `memories`; undefined: there are none. */
export function joinMemories(
	memories: readonly (BatchMemory | null | undefined)[],
): BatchMemory | undefined {
	const held = memories.filter((memory) => memory !== null && memory !== undefined);
	if (held.length < 2) return held[0];
	return new BatchMemory(() => {
		for (const memory of held) memory.release();
	});
}
