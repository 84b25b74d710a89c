import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
	findBadOffset,
	findBadText,
	findInvalidUtf8,
	findLongDecimal,
	findOutside,
} from "../kernels.js";
import { bytes, validity } from "./arrays.ts";

/** RFC 3629, written as its table: well-formed sequences by lead byte and the ranges of what follows. */
const wellFormed: [number, number, [number, number][]][] = [
	[0x00, 0x7f, []],
	[0xc2, 0xdf, [[0x80, 0xbf]]],
	[
		0xe0,
		0xe0,
		[
			[0xa0, 0xbf],
			[0x80, 0xbf],
		],
	],
	[
		0xe1,
		0xec,
		[
			[0x80, 0xbf],
			[0x80, 0xbf],
		],
	],
	[
		0xed,
		0xed,
		[
			[0x80, 0x9f],
			[0x80, 0xbf],
		],
	],
	[
		0xee,
		0xef,
		[
			[0x80, 0xbf],
			[0x80, 0xbf],
		],
	],
	[
		0xf0,
		0xf0,
		[
			[0x90, 0xbf],
			[0x80, 0xbf],
			[0x80, 0xbf],
		],
	],
	[
		0xf1,
		0xf3,
		[
			[0x80, 0xbf],
			[0x80, 0xbf],
			[0x80, 0xbf],
		],
	],
	[
		0xf4,
		0xf4,
		[
			[0x80, 0x8f],
			[0x80, 0xbf],
			[0x80, 0xbf],
		],
	],
];

function expectedInvalid(data: Uint8Array): number {
	let at = 0;
	while (at < data.length) {
		const lead = data[at] as number;
		const row = wellFormed.find(([low, high]) => lead >= low && lead <= high);
		const tail = row?.[2];
		const fits = tail?.every(([low, high], i) => {
			const byte = data[at + 1 + i];
			return byte !== undefined && byte >= low && byte <= high;
		});
		if (!tail || !fits) return at;
		at += 1 + tail.length;
	}
	return -1;
}

const whole = (data: Uint8Array) => findInvalidUtf8(data, 0, data.length);

describe("findInvalidUtf8", () => {
	test("agrees with RFC 3629 on every sequence of up to three bytes, in a vector and out of it", () => {
		const padded = new Uint8Array(160).fill(0x61);
		let wrong = 0;
		for (let a = 0; a < 256; a++) {
			for (let b = 0; b < 256; b++) {
				// Third bytes from each range that matters, and its borders.
				for (const c of [
					0x00, 0x61, 0x7f, 0x80, 0x8f, 0x90, 0x9f, 0xa0, 0xbf, 0xc0, 0xc2, 0xe0, 0xed, 0xf0, 0xf4,
					0xff,
				]) {
					const three = Uint8Array.of(a, b, c);
					const expected = expectedInvalid(three);
					if (whole(three) !== expected) wrong++;
					// Across the border of two vectors, and of two blocks, with a letter behind.
					const inside = expectedInvalid(Uint8Array.of(a, b, c, 0x61));
					for (const at of [14, 62]) {
						padded.set(three, at);
						if (findInvalidUtf8(padded, 0, 128) !== (inside < 0 ? -1 : at + inside)) wrong++;
						padded.fill(0x61, at, at + 3);
					}
				}
			}
		}
		expect(wrong).toBe(0);
	});

	test("agrees with RFC 3629 on four bytes at each range's borders, at every place in two blocks", () => {
		const edges = [0x7f, 0x80, 0x8f, 0x90, 0xbf, 0xc0];
		const padded = new Uint8Array(192).fill(0x61);
		let wrong = 0;
		for (const lead of [0xef, 0xf0, 0xf1, 0xf3, 0xf4, 0xf5, 0xff]) {
			for (const b of edges) {
				for (const c of edges) {
					for (const d of edges) {
						for (const at of [0, 12, 13, 14, 15, 60, 61, 62, 63, 64, 124, 125, 126, 127]) {
							padded.set([lead, b, c, d], at);
							const expected = expectedInvalid(padded);
							if (findInvalidUtf8(padded, 0, padded.length) !== expected) wrong++;
							padded.fill(0x61, at, at + 4);
						}
					}
				}
			}
		}
		expect(wrong).toBe(0);
	});

	test("agrees with RFC 3629 on any text with any bytes changed, in any part of it", () => {
		fc.assert(
			fc.property(
				fc.string({ unit: "binary", minLength: 0, maxLength: 200 }),
				fc.array(fc.tuple(fc.nat(1000), fc.nat(255)), { maxLength: 3 }),
				fc.nat(20),
				(text, changes, skip) => {
					const data = new TextEncoder().encode(text);
					for (const [at, byte] of changes) if (data.length > 0) data[at % data.length] = byte;
					const start = Math.min(skip, data.length);
					const expected = expectedInvalid(data.subarray(start));
					expect(findInvalidUtf8(data, start, data.length)).toBe(
						expected < 0 ? -1 : start + expected,
					);
				},
			),
			{ numRuns: 3000, seed: 7 },
		);
	});

	test("finds a sequence that the end cuts, at any length", () => {
		for (let length = 1; length < 200; length++) {
			const data = new Uint8Array(length).fill(0x61);
			expect(whole(data)).toBe(-1);
			data[length - 1] = 0xe2;
			expect(whole(data)).toBe(length - 1);
		}
	});
});

describe("findBadText", () => {
	const encode = (...texts: (Uint8Array | string)[]) => {
		const parts = texts.map((text) =>
			typeof text === "string" ? new TextEncoder().encode(text) : text,
		);
		const offsets = new Int32Array(parts.length + 1);
		for (const [i, part] of parts.entries()) offsets[i + 1] = (offsets[i] as number) + part.length;
		const data = new Uint8Array(offsets[parts.length] as number);
		for (const [i, part] of parts.entries()) data.set(part, offsets[i]);
		return { offsets: bytes(offsets), large: bytes(BigInt64Array.from(offsets, BigInt)), data };
	};

	test.each([
		["ASCII", ["a", "b"], null, -1],
		["any script", ["ü", "", "漢字", "😀"], null, -1],
		["a character torn over two values", [Uint8Array.of(0xc3), Uint8Array.of(0xbc)], null, 0],
		["a wrong byte", ["fine", Uint8Array.of(0xff)], null, 1],
		["a wrong byte under a null", ["fine", Uint8Array.of(0xff), "fine"], [1, null, 1], -1],
		[
			"a wrong byte after one under a null",
			[Uint8Array.of(0xff), Uint8Array.of(0xfe)],
			[null, 1],
			1,
		],
	])("judges %s", (_what, texts, valid, expected) => {
		const { offsets, large, data } = encode(...texts);
		const bitmap = valid === null ? null : validity(valid).bitmap;
		expect(findBadText(offsets, 4, texts.length, data, bitmap)).toBe(expected);
		expect(findBadText(large, 8, texts.length, data, bitmap)).toBe(expected);
	});

	test("says -2 for offsets that are wrong, and reads nothing by them", () => {
		expect(findBadText(bytes(Int32Array.of(0, 9)), 4, 1, Uint8Array.of(0x61), null)).toBe(-2);
		expect(findBadText(bytes(Int32Array.of(-1, 1)), 4, 1, Uint8Array.of(0x61), null)).toBe(-2);
	});
});

describe("findBadOffset", () => {
	test.each([
		[[0, 1, 1, 5], 5, -1],
		[[], 0, -1],
		[[0], 0, -1],
		[[3, 4], 4, -1],
		[[-1, 0], 4, 0],
		[[0, 3, 2], 4, 2],
		[[0, 5], 4, 1],
		[[5, 1], 4, 0],
	])("of %j up to %i is at %i", (offsets, limit, expected) => {
		expect(findBadOffset(bytes(Int32Array.from(offsets)), 4, offsets.length, limit)).toBe(expected);
		const large = bytes(BigInt64Array.from(offsets, BigInt));
		expect(findBadOffset(large, 8, offsets.length, limit)).toBe(expected);
	});

	test("is found at any place of thousands, also at a block's border", () => {
		const good = Int32Array.from({ length: 4000 }, (_, i) => i);
		for (const at of [1, 1022, 1023, 1024, 1025, 2048, 3999]) {
			const offsets = good.slice();
			offsets[at] = at - 2;
			expect(findBadOffset(bytes(offsets), 4, 4000, 4000)).toBe(at);
			offsets[at] = 4001;
			expect(findBadOffset(bytes(offsets), 4, 4000, 4000)).toBe(at);
		}
		expect(findBadOffset(bytes(good), 4, 4000, 3999)).toBe(-1);
	});

	test("is found beyond 32 bits", () => {
		const large = bytes(BigInt64Array.of(0n, 2n ** 40n, 2n ** 40n - 1n));
		expect(findBadOffset(large, 8, 2, 2 ** 40)).toBe(-1);
		expect(findBadOffset(large, 8, 2, 2 ** 40 - 1)).toBe(1);
		expect(findBadOffset(large, 8, 3, 2 ** 41)).toBe(2);
	});
});

describe("findOutside", () => {
	test("agrees with a plain loop for every width", () => {
		const arrays = { 1: Int8Array, 2: Int16Array, 4: Int32Array, 8: BigInt64Array } as const;
		fc.assert(
			fc.property(
				fc.constantFrom<1 | 2 | 4 | 8>(1, 2, 4, 8),
				fc.array(fc.oneof(fc.bigInt(-130n, 130n), fc.bigInt(-(2n ** 63n), 2n ** 63n - 1n)), {
					maxLength: 60,
				}),
				fc.bigInt(-(2n ** 63n), 2n ** 63n - 1n),
				fc.bigInt(-(2n ** 63n), 2n ** 63n - 1n),
				fc.nat(5),
				fc.infiniteStream(fc.boolean()),
				(width, raw, a, b, from, flags) => {
					const values = raw.map((value) => BigInt.asIntN(width * 8, value));
					const [min, max] = a < b ? [a, b] : [b, a];
					const nulls = values.map(() => (flags.next().value ? 1 : null));
					const { bitmap } = validity(nulls);
					const make = arrays[width] as unknown as { from(values: unknown[]): ArrayBufferView };
					const data = bytes(make.from(width === 8 ? values : values.map(Number)));
					const expected = values.findIndex(
						(value, i) => i >= from && nulls[i] !== null && (value < min || value > max),
					);
					expect(findOutside(data, width, values.length, from, min, max, bitmap)).toBe(expected);
				},
			),
			{ numRuns: 2000, seed: 7 },
		);
	});

	test("finds one of ten thousand, and goes on after it", () => {
		const values = new BigInt64Array(10_000);
		values[5000] = 7n;
		values[9999] = -7n;
		expect(findOutside(bytes(values), 8, 10_000, 0, 0n, 6n, null)).toBe(5000);
		expect(findOutside(bytes(values), 8, 10_000, 5001, 0n, 6n, null)).toBe(9999);
		expect(findOutside(bytes(values), 8, 9999, 5001, 0n, 6n, null)).toBe(-1);
	});
});

describe("findLongDecimal", () => {
	const words = (value: bigint, width: number) =>
		Array.from({ length: width }, (_, i) => Number((value >> BigInt(8 * i)) & 0xffn));
	const mostDigits = { 4: 9, 8: 18, 16: 38, 32: 76 } as const;

	test("draws the line at 10^precision, for every width and precision", () => {
		for (const width of [4, 8, 16, 32] as const) {
			for (let precision = 1; precision <= mostDigits[width]; precision++) {
				const limit = 10n ** BigInt(precision);
				const right = [0n, 1n, -1n, limit - 1n, -limit + 1n];
				const bits = BigInt(width * 8);
				const most = 2n ** (bits - 1n) - 1n;
				const wrong = [limit, -limit, limit + 1n, -limit - 1n, most, -most - 1n, limit << 1n];
				const data = Uint8Array.from(right.flatMap((value) => words(value, width)));
				expect(findLongDecimal(data, width, right.length, 0, precision, null)).toBe(-1);
				for (const value of wrong) {
					if (value > most || value < -most - 1n) continue;
					const one = Uint8Array.from([...data, ...words(value, width)]);
					expect(findLongDecimal(one, width, 6, 0, precision, null)).toBe(5);
					expect(findLongDecimal(one, width, 6, 0, precision, Uint8Array.of(0b011111))).toBe(-1);
				}
			}
		}
	});

	test("agrees with BigInt on any 128 bits", () => {
		fc.assert(
			fc.property(
				fc.array(fc.bigInt(-(2n ** 127n), 2n ** 127n - 1n), { maxLength: 20 }),
				fc.integer({ min: 1, max: 38 }),
				fc.nat(110),
				(raw, precision, shift) => {
					const values = raw.map((value) => value >> BigInt(shift));
					const limit = 10n ** BigInt(precision);
					const data = Uint8Array.from(values.flatMap((value) => words(value, 16)));
					const expected = values.findIndex((value) => value >= limit || value <= -limit);
					expect(findLongDecimal(data, 16, values.length, 0, precision, null)).toBe(expected);
				},
			),
			{ numRuns: 2000, seed: 7 },
		);
	});
});

describe("a call that doesn't fit its arrays is refused", () => {
	const eight = new Uint8Array(8);
	test.each([
		["bytes past the end", () => findInvalidUtf8(eight, 0, 9), RangeError],
		["an end before its start", () => findInvalidUtf8(eight, 5, 4), RangeError],
		["offsets past the end", () => findBadOffset(eight, 4, 3, 1), RangeError],
		["a width that offsets don't have", () => findBadOffset(eight, 2 as 4, 3, 1), RangeError],
		["texts past the end", () => findBadText(eight, 4, 2, eight, null), RangeError],
		[
			"a bitmap too short",
			() => findOutside(eight, 1, 8, 0, 0n, 0n, new Uint8Array(0)),
			RangeError,
		],
		["values past the end", () => findOutside(eight, 8, 2, 0, 0n, 0n, null), RangeError],
		["limits beyond 64 bits", () => findOutside(eight, 8, 1, 0, 0n, 2n ** 63n, null), TypeError],
		["a precision of no digits", () => findLongDecimal(eight, 8, 1, 0, 0, null), RangeError],
		[
			"another array",
			() => findInvalidUtf8(new Int8Array(8) as unknown as Uint8Array, 0, 1),
			TypeError,
		],
		["a negative length", () => findOutside(eight, 8, -1, 0, 0n, 0n, null), TypeError],
	])("%s", (_what, call, kind) => {
		expect(call).toThrow(kind);
	});
});
