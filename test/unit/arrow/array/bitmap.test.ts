import { expect, it } from "vitest";
import {
	andBitmaps,
	bitmapBytes,
	countNulls,
	isValid,
} from "../../../../src/arrow/array/bitmap.ts";
import { bitmap, plainCodecs } from "../support/arrays.ts";

const bits = (length: number, seed: number) =>
	Array.from({ length }, (_, i) => ((i * 7 + seed) * (i + 3)) % 5 < 3);

it("nulls are counted exactly, at any length and alignment, and not beyond the length", () => {
	for (let length = 0; length < 140; length++) {
		const values = bits(length, length);
		for (let shift = 0; shift < 5; shift++) {
			const bytes = new Uint8Array(shift + bitmapBytes(length) + 2).fill(0);
			bytes.set(bitmap(values), shift);
			// Bits beyond the length are nobody's nulls, set or not.
			if (length % 8 > 0) bytes[shift + bitmapBytes(length) - 1]! |= 0xff << (length % 8);
			const map = bytes.subarray(shift);
			expect(countNulls(map, length)).toBe(values.filter((value) => !value).length);
			values.forEach((value, i) => {
				expect(isValid(map, i)).toBe(value);
			});
		}
	}
});

it("two bitmaps together are valid where both are; none stands for all valid", () => {
	const [a, b] = [bits(29, 1), bits(29, 4)];
	const both = andBitmaps(bitmap(a), bitmap(b), 29, plainCodecs)!;
	for (let i = 0; i < 29; i++) expect(isValid(both, i)).toBe(a[i]! && b[i]!);
	const one = bitmap(a);
	expect(andBitmaps(one, null, 29, plainCodecs)).toBe(one);
	expect(andBitmaps(null, one, 29, plainCodecs)).toBe(one);
	expect(andBitmaps(null, null, 29, plainCodecs)).toBeNull();
});
