import { describe, expect, it } from "vitest";
import { findBadOffset, offsetAt, readOffsets } from "../../../../src/arrow/array/offsets.ts";
import { ints } from "../support/arrays.ts";

describe("offsets of 32 bits", () => {
	const find = (offsets: number[], limit: number) =>
		findBadOffset(ints(4, offsets), 4, offsets.length, limit);

	it("are right when they never go down and end within the limit", () => {
		expect(find([0], 0)).toBe(-1);
		expect(find([5, 5, 7, 2_147_483_647], 2_147_483_647)).toBe(-1);
	});

	it("are told by the first that is wrong", () => {
		expect(find([-1, 0], 9)).toBe(0);
		expect(find([0, 3, 2, 9], 9)).toBe(2);
		expect(find([0, 3, 10], 9)).toBe(2);
		// A difference that wraps around 32 bits.
		expect(find([0, 2_147_483_647, -2_147_483_648], 9)).toBe(1);
		expect(find([0, 2_147_483_647, -2], 2_147_483_647)).toBe(2);
	});
});

describe("offsets of 64 bits", () => {
	const find = (offsets: bigint[], limit: number) =>
		findBadOffset(ints(8, offsets), 8, offsets.length, limit);

	it("are right beyond 2^31 and 2^32 too", () => {
		expect(find([0n, 5n, 2n ** 31n, 2n ** 32n, 2n ** 32n + 1n, 2n ** 40n], 2 ** 40)).toBe(-1);
		const bytes = ints(8, [0n, 2n ** 31n, 2n ** 32n + 1n]);
		expect([...readOffsets(bytes, 8, 3)]).toEqual([0, 2 ** 31, 2 ** 32 + 1]);
		expect(offsetAt(bytes, 8, 2)).toBe(2 ** 32 + 1);
	});

	it("are told by the first that is wrong", () => {
		expect(find([0n, 2n ** 32n, 5n], 2 ** 40)).toBe(2);
		expect(find([0n, 2n ** 31n + 5n, 2n ** 31n], 2 ** 40)).toBe(2);
		expect(find([0n, 2n ** 40n + 1n], 2 ** 40)).toBe(1);
		expect(find([0n, -1n], 2 ** 40)).toBe(1);
		expect(find([0n, 2n ** 63n - 1n], 2 ** 40)).toBe(1);
		expect(find([-(2n ** 63n)], 2 ** 40)).toBe(0);
	});
});
