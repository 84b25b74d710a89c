/** Input n of seed s, always the same bytes for the same corpus. */

import type { Seed } from "./corpus.ts";
import { grammarStream } from "./grammar.ts";
import { mutate } from "./mutate.ts";
import { createPrng } from "./prng.ts";

export interface FuzzInput {
	bytes: Uint8Array;
	/** What it was made from and how. */
	origin: string;
	/** Sizes of the chunks that it comes by in, in turn; null: it is at rest. */
	chunks: number[] | null;
	/** To be read once more in these, with the same result; null: not this one. */
	otherChunks: number[] | null;
}

export function makeInput(seed: number, index: number, corpus: readonly Seed[]): FuzzInput {
	const prng = createPrng(seed, index);
	const chunks = prng.chance(0.5)
		? null
		: Array.from({ length: 1 + prng.below(5) }, () => 1 + prng.below(prng.pick([3, 64, 4096])));
	let otherChunks = prng.chance(0.1) ? [1 + prng.below(prng.pick([3, 64, 4096]))] : null;
	if (prng.chance(0.06)) {
		return { bytes: grammarStream(prng), origin: "grammar", chunks, otherChunks };
	}
	const small = corpus.filter(({ hasSmallBatches }) => hasSmallBatches);
	const start = prng.pick(prng.chance(0.3) ? small : corpus);
	// No two messages lie in one of these, so that none are joined: the long way tells what is right.
	if (start.hasSmallBatches) otherChunks = [1 + prng.below(64)];
	const { bytes, kinds } = mutate(start, corpus, prng);
	return { bytes, origin: `${start.name}: ${kinds.join(", ")}`, chunks, otherChunks };
}
