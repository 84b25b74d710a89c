/** A seeded generator of numbers: the same seed gives the same file on every machine. */
export interface Random {
	/** A whole number of `0 … below - 1`. */
	below(below: number): number;
}

/** xorshift32, https://www.jstatsoft.org/article/view/v008i14 */
export function createRandom(seed: number): Random {
	let state = seed | 0 || 1;
	return {
		below(below) {
			state ^= state << 13;
			state ^= state >>> 17;
			state ^= state << 5;
			return (state >>> 0) % below;
		},
	};
}
