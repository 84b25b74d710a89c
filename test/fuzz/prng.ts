/** Seeded random numbers, so that input n of seed s is the same bytes for ever. */
export interface Prng {
	/** 0 … 2^32 - 1. */
	uint32(): number;
	/** 0 … below - 1; 0 for 0. */
	below(below: number): number;
	chance(probability: number): boolean;
	pick<T>(items: readonly T[]): T;
}

/** sfc32 of Chris Doty-Humphrey's PractRand, seeded by two numbers. */
export function createPrng(seed: number, stream: number): Prng {
	let a = seed | 0;
	let b = stream | 0;
	let c = 0x9e3779b9;
	let counter = 1;
	const uint32 = () => {
		const sum = (((a + b) | 0) + counter) | 0;
		counter = (counter + 1) | 0;
		a = b ^ (b >>> 9);
		b = (c + (c << 3)) | 0;
		c = (((c << 21) | (c >>> 11)) + sum) | 0;
		return sum >>> 0;
	};
	// The first numbers still show the seed.
	for (let i = 0; i < 12; i++) uint32();
	const below = (limit: number) => (limit <= 0 ? 0 : Math.floor((uint32() / 2 ** 32) * limit));
	return {
		uint32,
		below,
		chance: (probability) => uint32() / 2 ** 32 < probability,
		pick: (items) => items[below(items.length)]!,
	};
}
