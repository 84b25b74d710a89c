import { describe, expect, it } from "vitest";
import { createBatchChecker } from "../../../src/arrow/check-batch.ts";
import type { ArrayData, Field, RawBatch } from "../../../src/arrow/types.ts";
import { type ErrorPlace, IngestError } from "../../../src/errors.ts";
import { defaultLimits } from "../../../src/limits.ts";
import { arrayOf, bitmap, extension, field, int, ints, plainCodecs } from "./support/arrays.ts";

const batchIndex = 7;

function check(of: Field, array: ArrayData, limits = defaultLimits): void {
	const checker = createBatchChecker({ fields: [of], metadata: new Map() }, limits, plainCodecs);
	checker({ length: array.length, columns: [array], index: batchIndex });
}

/** Code, place and text of the refusal; null: it passes. */
function refusal(
	of: Field,
	array: ArrayData,
	limits = defaultLimits,
): (ErrorPlace & { code: string; detail: string }) | null {
	try {
		check(of, array, limits);
		return null;
	} catch (error) {
		if (!(error instanceof IngestError)) throw error;
		return { code: error.code, detail: error.message, ...error.place };
	}
}

const utf8 = field("a", { kind: "utf8" });
const offsetsOf = (array: ArrayData) => new Int32Array(array.buffers[1]!.buffer);
const list = field("tags", { kind: "list" }, { children: [field("item", { kind: "utf8" })] });
const timeNs = { kind: "time", bits: 64, unit: "ns" } as const;
const day = 86_400_000_000_000n;
const tooLate = day + 1n;

describe("a batch as a whole", () => {
	it("has as many columns as its schema", () => {
		const checker = createBatchChecker(
			{ fields: [utf8], metadata: new Map() },
			defaultLimits,
			plainCodecs,
		);
		const batch: RawBatch = { length: 0, columns: [], index: 3 };
		expect(() => checker(batch)).toThrow(
			expect.objectContaining({ code: "invalid_arrow", place: { batch: 3 } }),
		);
	});

	it("has columns of its own length", () => {
		const checker = createBatchChecker(
			{ fields: [utf8], metadata: new Map() },
			defaultLimits,
			plainCodecs,
		);
		const batch: RawBatch = { length: 3, columns: [arrayOf(utf8, ["x"])], index: 0 };
		expect(() => checker(batch)).toThrow(/1 values in a batch of 3 rows/);
	});

	it("is refused when it nests deeper than the limit", () => {
		const deep = field("a", { kind: "list" }, { children: [list] });
		expect(() =>
			createBatchChecker(
				{ fields: [deep], metadata: new Map() },
				{ ...defaultLimits, maxNesting: 2 },
				plainCodecs,
			),
		).toThrow(/nested deeper than 2/);
	});
});

describe("validity", () => {
	it("gives the exact null count, whatever was declared", () => {
		const array = arrayOf(utf8, ["x", null, "y", null]);
		array.nullCount = 1;
		check(utf8, array);
		expect(array.nullCount).toBe(2);
	});

	it("is refused when nulls are declared and there is no bitmap", () => {
		const array = { ...arrayOf(utf8, ["x"]), nullCount: 1 };
		expect(refusal(utf8, array)).toMatchObject({
			code: "invalid_arrow",
			column: "a",
			batch: batchIndex,
		});
	});

	it("is refused when no nulls are declared and the bitmap has some", () => {
		const array = { ...arrayOf(utf8, ["x", null]), nullCount: 0 };
		expect(refusal(utf8, array)?.detail).toMatch(/null count of 0 beside a validity buffer with 1/);
	});

	it("is refused when its bitmap is too short", () => {
		const array = arrayOf(field("a", int(8)), Array(9).fill(null));
		array.buffers[0] = array.buffers[0]!.subarray(0, 1);
		expect(refusal(field("a", int(8)), array)?.detail).toMatch(
			/validity buffer has 1 bytes, 9 values need 2/,
		);
	});
});

describe("a bitmap at the very end of its memory", () => {
	it("is copied to where a byte follows it, as the engine reads one more", () => {
		const of = field("a", int(8));
		const array = arrayOf(of, [1, null]);
		const before = array.buffers[0]!;
		expect(before.byteOffset + before.byteLength).toBe(before.buffer.byteLength);
		check(of, array);
		const after = array.buffers[0]!;
		expect(after.byteOffset + 1).toBeLessThan(after.buffer.byteLength);
		expect(after[0]! & 3).toBe(1);
	});
});

describe("buffers", () => {
	it.each([
		[field("a", int(64)), 23],
		[field("a", { kind: "float", bits: 64 }), 23],
		[field("a", { kind: "decimal", bits: 128, precision: 5, scale: 2 }), 47],
		[field("a", { kind: "fixed_size_binary", byteWidth: 5 }), 14],
		[field("a", { kind: "interval", unit: "month_day_nano" }), 47],
		[field("a", { kind: "date", unit: "day" }), 11],
		[field("a", { kind: "bool" }), 0],
	] as const)("of %j are refused when they are a byte short", (of, bytes) => {
		const array: ArrayData = {
			length: 3,
			nullCount: 0,
			buffers: [null, new Uint8Array(bytes)],
			children: [],
			dictionary: null,
		};
		expect(refusal(of, array)).toMatchObject({
			code: "invalid_arrow",
			column: "a",
			batch: batchIndex,
		});
		expect(refusal(of, { ...array, buffers: [null, new Uint8Array(bytes + 1)] })).toBeNull();
	});

	it("that are not aligned are copied so that they are", () => {
		const array = arrayOf(field("a", int(64)), [1n, 2n]);
		const shifted = new Uint8Array(17);
		shifted.set(array.buffers[1]!, 1);
		array.buffers[1] = shifted.subarray(1);
		check(field("a", int(64)), array);
		expect(array.buffers[1].byteOffset % 8).toBe(0);
		expect(new BigInt64Array(array.buffers[1].buffer, 0, 2)).toEqual(BigInt64Array.of(1n, 2n));
	});

	it("of an array without elements may be absent", () => {
		const none = {
			length: 0,
			nullCount: 0,
			buffers: [null, null, null],
			children: [],
			dictionary: null,
		};
		expect(refusal(utf8, none)).toBeNull();
		expect(none.buffers[1]).toHaveLength(8);
	});

	it("of no strings or lists may begin anywhere, as in pyarrow's slices of no rows", () => {
		const elsewhere = () => Uint8Array.of(3, 0, 0, 0, 4, 0, 0, 0);
		const text = { ...arrayOf(utf8, []), buffers: [null, elsewhere(), new Uint8Array(0)] };
		const lists = { ...arrayOf(list, []), buffers: [null, elsewhere()] };
		for (const [of, array] of [
			[utf8, text],
			[list, lists],
		] as const) {
			expect(refusal(of, array)).toBeNull();
			// DuckDB takes offset 0 for where the elements begin.
			expect(array.buffers[1]).toEqual(new Uint8Array(8));
		}
	});
});

describe("strings", () => {
	it("with an offset below the one before are refused with their row", () => {
		const array = arrayOf(utf8, ["ab", "cd", "ef"]);
		offsetsOf(array)[2] = 1;
		expect(refusal(utf8, array)).toMatchObject({
			code: "invalid_arrow",
			column: "a",
			batch: batchIndex,
			row: 1,
			arrow_type: "string",
		});
	});

	it("with a negative offset are refused", () => {
		const array = arrayOf(utf8, ["ab"]);
		offsetsOf(array)[0] = -1;
		expect(refusal(utf8, array)?.detail).toMatch(/offset 0 is -1/);
	});

	it("with an offset beyond their data are refused", () => {
		const array = arrayOf(utf8, ["ab", "cd"]);
		offsetsOf(array)[2] = 5;
		expect(refusal(utf8, array)).toMatchObject({ row: 1 });
	});

	it("may begin anywhere in their data", () => {
		const array = arrayOf(utf8, ["ab", "cd"]);
		array.buffers[1] = array.buffers[1]!.subarray(4);
		expect(refusal(utf8, { ...array, length: 1 })).toBeNull();
	});

	it("with 64-bit offsets over 2^31, 2^32 and 2^53 are refused", () => {
		const of = field("a", { kind: "large_utf8" });
		for (const offset of [2n ** 31n, 2n ** 32n + 1n, 2n ** 53n, -1n, 2n ** 63n - 1n]) {
			const array = arrayOf(of, ["ab", "cd"]);
			new BigInt64Array(array.buffers[1]!.buffer)[1] = offset;
			expect(refusal(of, array)).toMatchObject({ code: "invalid_arrow", row: 0 });
		}
	});

	it.each([
		["a lone continuation byte", [0x80]],
		["an overlong slash", [0xc0, 0xaf]],
		["an overlong three-byte form", [0xe0, 0x9f, 0xbf]],
		["a surrogate", [0xed, 0xa0, 0x80]],
		["a code point beyond U+10FFFF", [0xf4, 0x90, 0x80, 0x80]],
		["a lead byte that does not exist", [0xff]],
		["a character cut short", [0xe2, 0x82]],
		["an overlong four-byte form", [0xf0, 0x8f, 0xbf, 0xbf]],
	])("with %s are refused with their row, at any alignment", (_, bytes) => {
		for (let before = 0; before < 70; before++) {
			const values = ["é", "x".repeat(before), Uint8Array.from(bytes), "y".repeat(40)];
			expect(refusal(utf8, arrayOf(utf8, values))).toMatchObject({ code: "invalid_arrow", row: 2 });
		}
	});

	it("of every length of character pass", () => {
		const text = "aé€😀\u{10ffff}\ud7ff\ue000".repeat(20);
		for (let from = 0; from < 9; from++)
			expect(refusal(utf8, arrayOf(utf8, ["x".repeat(from), text, "", text]))).toBeNull();
	});

	it("may not share one character, though their bytes together are UTF-8", () => {
		const [first, second] = new TextEncoder().encode("é");
		const array = arrayOf(utf8, ["abc", Uint8Array.of(first!), Uint8Array.of(second!)]);
		expect(refusal(utf8, array)).toMatchObject({ code: "invalid_arrow", row: 1 });
	});

	it("under a null may hold any bytes", () => {
		const array = arrayOf(utf8, ["é", Uint8Array.of(0xff), "z"]);
		expect(
			refusal(utf8, {
				...array,
				nullCount: 1,
				buffers: [bitmap([true, false, true]), ...array.buffers.slice(1)],
			}),
		).toBeNull();
	});

	it("of binary types may hold any bytes", () => {
		const of = field("a", { kind: "binary" });
		expect(refusal(of, arrayOf(of, [Uint8Array.of(0xff)]))).toBeNull();
	});
});

describe("views", () => {
	const of = field("a", { kind: "utf8_view" });
	const make = () =>
		arrayOf(of, [
			"short",
			"long enough to lie elsewhere",
			null,
			"long enough to lie elsewhere, too",
		]);
	const tampered = (row: number, word: number, value: number) => {
		const array = make();
		new Int32Array(array.buffers[1]!.buffer)[row * 4 + word] = value;
		return refusal(of, array);
	};

	it("that are right pass", () => {
		expect(refusal(of, make())).toBeNull();
	});

	it.each([
		["negative length", 1, 0, -1],
		["data buffer that isn't there", 1, 2, 1],
		["negative data buffer", 1, 2, -1],
		["negative offset", 1, 3, -1],
		["offset beyond its data", 1, 3, 40],
		["length beyond its data", 1, 0, 400],
		["wrong prefix", 1, 1, 0],
		["padding that isn't zero", 0, 3, 1],
		["padding that isn't zero in the first word of data", 0, 2, 0x100 | 0x74],
	])("with a %s are refused with their row", (_, row, word, value) => {
		expect(tampered(row, word, value)).toMatchObject({
			code: "invalid_arrow",
			column: "a",
			row,
			batch: batchIndex,
		});
	});

	it("under a null may hold anything", () => {
		for (const [word, value] of [
			[0, -5],
			[2, 99],
			[3, -1],
		] as const)
			expect(tampered(2, word, value)).toBeNull();
	});

	it("are checked as UTF-8, inline and elsewhere", () => {
		expect(refusal(of, arrayOf(of, ["x", Uint8Array.of(0x61, 0xff)]))).toMatchObject({ row: 1 });
		const long = new Uint8Array(30).fill(0x61);
		long[29] = 0xc3;
		expect(refusal(of, arrayOf(of, ["x", "é".repeat(20), long]))).toMatchObject({ row: 2 });
	});

	it("that overlap until they unfold beyond the limit are refused", () => {
		const array = arrayOf(of, ["x".repeat(1000)]);
		const views = new Uint8Array(16 * 50);
		for (let i = 0; i < 50; i++) views.set(array.buffers[1]!, i * 16);
		const many = { ...array, length: 50, buffers: [null, views, array.buffers[2]!] };
		expect(refusal(of, many)).toBeNull();
		expect(refusal(of, many, { ...defaultLimits, maxBatchBytes: 20_000 })).toMatchObject({
			code: "too_large",
			row: 20,
		});
	});
});

describe("decimals", () => {
	it.each([
		[32, 9],
		[32, 1],
		[64, 18],
		[64, 10],
		[128, 15],
		[128, 18],
		[128, 19],
		[128, 20],
		[128, 28],
		[128, 29],
		[128, 38],
		[128, 9],
		[256, 38],
		[256, 20],
	] as const)("of %i bits hold %i digits and no more", (bits, precision) => {
		const of = field("price", { kind: "decimal", bits, precision, scale: 0 });
		const limit = 10n ** BigInt(precision);
		const good = [0n, 1n, -1n, limit - 1n, 1n - limit, limit / 2n];
		expect(refusal(of, arrayOf(of, good))).toBeNull();
		for (const bad of [limit, -limit, limit + 1n]) {
			const many = [...Array(3000).fill(1n), ...good, bad, ...good];
			expect(refusal(of, arrayOf(of, many))).toMatchObject({
				code: bits === 256 ? "unsupported_type" : "invalid_arrow",
				column: "price",
				row: 3006,
			});
		}
	});

	it("of 256 bits are refused as unsupported where 38 digits don't hold them", () => {
		const of = field("a", { kind: "decimal", bits: 256, precision: 76, scale: 10 });
		const limit = 10n ** 38n;
		expect(refusal(of, arrayOf(of, [limit - 1n, 1n - limit]))).toBeNull();
		expect(refusal(of, arrayOf(of, [1n, limit]))).toMatchObject({
			code: "unsupported_type",
			column: "a",
			row: 1,
		});
		expect(refusal(of, arrayOf(of, [10n ** 75n]))).toMatchObject({
			code: "unsupported_type",
			row: 0,
		});
		expect(refusal(of, arrayOf(of, [10n ** 76n]))).toMatchObject({
			code: "unsupported_type",
			row: 0,
		});
	});

	it("under nulls may hold anything", () => {
		const of = field("a", { kind: "decimal", bits: 128, precision: 15, scale: 2 });
		const array = arrayOf(of, Array(5000).fill(10n ** 30n));
		expect(
			refusal(of, { ...array, nullCount: 5000, buffers: [new Uint8Array(625), array.buffers[1]!] }),
		).toBeNull();
	});
});

describe("dates, times and timestamps", () => {
	it.each([
		[field("t", { kind: "time", bits: 32, unit: "s" }), [0, 86_400], [-1, 86_401]],
		[field("t", { kind: "time", bits: 32, unit: "ms" }), [0, 86_400_000], [-1, 86_400_001]],
		[
			field("t", { kind: "time", bits: 64, unit: "us" }),
			[0n, 86_400_000_000n],
			[-1n, 86_400_000_001n],
		],
		[field("t", timeNs), [0n, day], [-1n, day + 1n, 2n ** 63n - 1n, -(2n ** 63n)]],
		[
			field("t", { kind: "date", unit: "day" }),
			[0, 2_147_483_647, -2_147_483_647],
			[-2_147_483_648],
		],
		[
			field("t", { kind: "date", unit: "ms" }),
			[0n, -86_400_000n, 86_400_000n * 2_147_483_647n],
			[-86_400_000n * 2_147_483_648n, 86_400_000n * 2_147_483_648n, 2n ** 62n],
		],
		[
			field("t", { kind: "timestamp", unit: "us", zone: null }),
			[0n, 2n ** 63n - 1n, 1n - 2n ** 63n, -9_223_372_022_400_000_000n],
			[-(2n ** 63n), 2n - 2n ** 63n, -9_223_372_022_400_000_001n],
		],
		[
			field("t", { kind: "timestamp", unit: "ms", zone: null }),
			[9_223_372_036_854_775n, -9_223_372_022_400_000n, 2n ** 63n - 1n],
			[9_223_372_036_854_776n, -9_223_372_022_400_001n],
		],
		[
			field("t", { kind: "timestamp", unit: "s", zone: "UTC" }),
			[9_223_372_036_854n, -9_223_372_022_400n],
			[9_223_372_036_855n, 2n ** 63n - 1n],
		],
		[
			field("t", { kind: "timestamp", unit: "ns", zone: null }),
			[-9_223_286_400_000_000_000n, 2n ** 63n - 1n],
			[-9_223_286_400_000_000_001n],
		],
		[
			field("t", { kind: "timestamp", unit: "ns", zone: "UTC" }),
			[-(2n ** 63n), 2n ** 63n - 1n],
			[],
		],
		[
			field("t", { kind: "duration", unit: "s" }),
			[9_223_372_036_854n, -9_223_372_036_854n],
			[9_223_372_036_855n],
		],
		[
			field("t", { kind: "duration", unit: "ms" }),
			[9_223_372_036_854_775n],
			[-9_223_372_036_854_776n],
		],
		[field("t", { kind: "duration", unit: "ns" }), [2n ** 63n - 1n], []],
	] as const)("of %j hold what DuckDB holds and no more", (of, good, bad) => {
		expect(refusal(of, arrayOf(of, good))).toBeNull();
		for (const value of bad)
			expect(refusal(of, arrayOf(of, [good[0], value]))).toMatchObject({
				column: "t",
				row: 1,
				batch: batchIndex,
			});
		const hidden = arrayOf(of, bad);
		if (bad.length > 0) {
			expect(
				refusal(of, {
					...hidden,
					nullCount: bad.length,
					buffers: [new Uint8Array(8), hidden.buffers[1]!],
				}),
			).toBeNull();
		}
	});
});

describe("lists and maps", () => {
	it("with an offset beyond their elements are refused with the row", () => {
		const array = arrayOf(list, [["a"], ["b"]]);
		offsetsOf(array)[2] = 3;
		expect(refusal(list, array)).toMatchObject({ code: "invalid_arrow", column: "tags", row: 1 });
	});

	it("name the row of a wrong element, and its path", () => {
		const array = arrayOf(list, [["a", "b"], [], null, ["c", Uint8Array.of(0xff)], ["d"]]);
		expect(refusal(list, array)).toMatchObject({
			column: "tags[]",
			row: 3,
			batch: batchIndex,
			arrow_type: "string",
		});
	});

	it("may have wrong values where no row shows them: outside all offsets and under nulls", () => {
		const array = arrayOf(list, [
			[Uint8Array.of(0xff)],
			["x"],
			[Uint8Array.of(0xfe)],
			[Uint8Array.of(0xfd)],
		]);
		array.buffers = [bitmap([false, true]), array.buffers[1]!.subarray(4)];
		// Lists 1 and 2 of four, of which the second is null.
		expect(
			refusal(list, {
				...array,
				length: 2,
				nullCount: 1,
				buffers: [bitmap([true, false]), array.buffers[1]!],
			}),
		).toBeNull();
	});

	it("of a fixed size need all their elements", () => {
		const of = field(
			"v",
			{ kind: "fixed_size_list", size: 3 },
			{ children: [field("item", int(32))] },
		);
		const array = arrayOf(of, [
			[1, 2, 3],
			[4, 5, 6],
		]);
		array.children[0] = { ...array.children[0]!, length: 5 };
		expect(refusal(of, array)?.detail).toMatch(/5 elements where 2 lists of 3 need 6/);
	});

	it("name the row of a wrong element of a fixed-size list", () => {
		const of = field(
			"v",
			{ kind: "fixed_size_list", size: 2 },
			{ children: [field("item", timeNs)] },
		);
		expect(refusal(of, arrayOf(of, [[0n, 0n], null, [0n, tooLate]]))).toMatchObject({
			column: "v[]",
			row: 2,
		});
	});

	it("as views must lie within their elements where they are valid", () => {
		const of = field("v", { kind: "list_view" }, { children: [field("item", int(32))] });
		const array = arrayOf(of, [[1], [2, 3], null]);
		expect(refusal(of, array)).toBeNull();
		for (const [buffer, row, value] of [
			[1, 1, 2],
			[1, 1, -1],
			[2, 1, 3],
			[2, 0, -1],
		] as const) {
			const bad = arrayOf(of, [[1], [2, 3], null]);
			new Int32Array(bad.buffers[buffer]!.buffer)[row] = value;
			expect(refusal(of, bad)).toMatchObject({ code: "invalid_arrow", column: "v", row });
		}
		new Int32Array(array.buffers[1]!.buffer)[2] = 99;
		expect(refusal(of, array)).toBeNull();
	});

	it("as views that unfold beyond the limit are refused, and those under nulls don't count", () => {
		const of = field("v", { kind: "list_view" }, { children: [field("item", { kind: "null" })] });
		const array = arrayOf(of, Array(100).fill(Array(10).fill(null)));
		array.buffers[1] = new Uint8Array(400);
		array.buffers[2] = ints(4, Array(100).fill(1_000));
		expect(refusal(of, array)).toBeNull();
		const limits = { ...defaultLimits, maxBatchBytes: 50_000 };
		expect(refusal(of, array, limits)).toMatchObject({ code: "too_large", column: "v" });
		array.buffers[0] = new Uint8Array(13);
		expect(refusal(of, { ...array, nullCount: 100 }, limits)).toBeNull();
	});

	it("as views name the first row that shows a wrong element", () => {
		const of = field("v", { kind: "large_list_view" }, { children: [field("item", timeNs)] });
		const array = arrayOf(of, [null, [0n, 1n], [tooLate], [2n]]);
		new BigInt64Array(array.buffers[1]!.buffer)[3] = 2n;
		expect(refusal(of, array)).toMatchObject({ column: "v[]", row: 2 });
	});

	const map = field(
		"m",
		{ kind: "map", keysSorted: false },
		{
			children: [
				field(
					"entries",
					{ kind: "struct" },
					{ nullable: false, children: [field("key", { kind: "utf8" }), field("value", int(32))] },
				),
			],
		},
	);

	it("with a null key are refused with the row", () => {
		expect(
			refusal(
				map,
				arrayOf(map, [
					[["a", 1]],
					[
						["b", 1],
						[null, 2],
					],
				]),
			),
		).toMatchObject({ code: "invalid_arrow", column: "m", row: 1 });
	});

	it("with a key twice are refused with the row, few entries or many", () => {
		const many = Array.from({ length: 40 }, (_, i) => [`k${i}`, i]);
		expect(refusal(map, arrayOf(map, [many, many]))).toBeNull();
		expect(
			refusal(
				map,
				arrayOf(map, [
					[["a", 1]],
					null,
					[
						["a", 1],
						["b", 2],
						["a", 3],
					],
				]),
			),
		).toMatchObject({ row: 2 });
		expect(refusal(map, arrayOf(map, [many, [...many, ["k7", 0]]]))).toMatchObject({
			row: 1,
			code: "invalid_arrow",
		});
	});

	it.each([
		[int(64), [1n, 2n, 1n]],
		[{ kind: "float", bits: 64 } as const, [0, 1, -0]],
		[{ kind: "float", bits: 32 } as const, [Number.NaN, 1, Number.NaN]],
		[{ kind: "bool" } as const, [true, false, true]],
		[
			{ kind: "utf8_view" } as const,
			["a long key that lies elsewhere", "b", "a long key that lies elsewhere"],
		],
		[{ kind: "decimal", bits: 128, precision: 10, scale: 2 } as const, [5n, 6n, 5n]],
	])("with keys of %j twice are refused", (type, keys) => {
		const of = field(
			"m",
			{ kind: "map", keysSorted: false },
			{
				children: [
					field(
						"entries",
						{ kind: "struct" },
						{ children: [field("key", type), field("value", int(8))] },
					),
				],
			},
		);
		const two = keys.slice(0, 2).map((key) => [key, 1]);
		expect(refusal(of, arrayOf(of, [two]))).toBeNull();
		expect(refusal(of, arrayOf(of, [two, keys.map((key) => [key, 1])]))).toMatchObject({ row: 1 });
	});
});

describe("structs", () => {
	const of = field(
		"point",
		{ kind: "struct" },
		{ children: [field("x", timeNs), field("y", { kind: "utf8" })] },
	);

	it("need children of their length", () => {
		const array = arrayOf(of, [
			{ x: 0n, y: "a" },
			{ x: 1n, y: "b" },
		]);
		array.children[1] = { ...array.children[1]!, length: 1 };
		expect(refusal(of, array)).toMatchObject({ code: "invalid_arrow", column: "point" });
	});

	it("name the member and the row", () => {
		expect(
			refusal(
				of,
				arrayOf(of, [
					{ x: 0n, y: "a" },
					{ x: tooLate, y: "b" },
				]),
			),
		).toMatchObject({ column: "point.x", row: 1, arrow_type: "time64[ns]" });
	});

	it("may have wrong values where they are null themselves", () => {
		const array = arrayOf(of, [
			{ x: 0n, y: "a" },
			{ x: tooLate, y: Uint8Array.of(0xff) },
		]);
		expect(refusal(of, { ...array, nullCount: 1, buffers: [bitmap([true, false])] })).toBeNull();
	});
});

describe("unions", () => {
	const members = { children: [field("n", int(32)), field("s", { kind: "utf8" })] };
	const sparse = field("u", { kind: "union", mode: "sparse", typeIds: [5, 9] }, members);
	const dense = field("u", { kind: "union", mode: "dense", typeIds: [5, 9] }, members);
	const values = [
		{ member: 0, value: 1 },
		{ member: 1, value: "x" },
		{ member: 0, value: 2 },
	];

	it("with a type id that the schema doesn't name are refused with the row", () => {
		for (const of of [sparse, dense]) {
			const array = arrayOf(of, values);
			array.buffers[0]![1] = 0;
			expect(refusal(of, array)).toMatchObject({ code: "invalid_arrow", column: "u", row: 1 });
		}
	});

	it.each([[-1], [2], [0]])(
		"with the dense offset %i out of range or order are refused with the row",
		(offset) => {
			const array = arrayOf(
				dense,
				[...values, { member: 0, value: 3 }].slice(0, offset === 0 ? 4 : 3),
			);
			const offsets = new Int32Array(array.buffers[1]!.buffer);
			if (offset === 0) offsets[3] = 0;
			else offsets[2] = offset;
			expect(refusal(dense, array)).toMatchObject({
				code: "invalid_arrow",
				row: offset === 0 ? 3 : 2,
			});
		},
	);

	it("that are sparse need children of their length", () => {
		const array = arrayOf(sparse, values);
		array.children[0] = { ...array.children[0]!, length: 2 };
		expect(refusal(sparse, array)?.detail).toMatch(/a child of 2 values where the union has 3/);
	});

	it("may have wrong values where another member is selected", () => {
		const array = arrayOf(sparse, values);
		array.children[1] = arrayOf(members.children[1]!, [
			Uint8Array.of(0xff),
			"x",
			Uint8Array.of(0xfe),
		]);
		expect(refusal(sparse, array)).toBeNull();
		array.buffers[0]![2] = 9;
		expect(refusal(sparse, array)).toMatchObject({ column: "u.s", row: 2 });
	});

	it("that are dense name the row of a wrong value", () => {
		const wrong = [...values, { member: 1, value: Uint8Array.of(0xff) }];
		expect(refusal(dense, arrayOf(dense, wrong))).toMatchObject({ column: "u.s", row: 3 });
	});
});

describe("run ends", () => {
	const of = field(
		"r",
		{ kind: "run_end_encoded" },
		{ children: [field("run_ends", int(32), { nullable: false }), field("values", timeNs)] },
	);
	const make = () => arrayOf(of, [1n, 1n, 2n, 2n, 2n]);

	it.each([
		["not above zero", [0, 5]],
		["not increasing", [5, 5]],
		["negative", [-1, 5]],
		["short of the length", [2, 4]],
	])("that are %s are refused", (_, ends) => {
		const array = make();
		array.children[0] = arrayOf(of.children[0]!, ends);
		expect(refusal(of, array)).toMatchObject({
			code: "invalid_arrow",
			column: "r",
			batch: batchIndex,
		});
	});

	it("that have nulls are refused", () => {
		const array = make();
		array.children[0] = arrayOf(of.children[0]!, [2, null]);
		expect(refusal(of, array)?.detail).toMatch(/run ends have nulls/);
	});

	it("may go beyond the length, and values in runs beyond it may be wrong", () => {
		const array = { ...arrayOf(of, [1n, 1n, tooLate, tooLate]), length: 2 };
		expect(refusal(of, array)).toBeNull();
		expect(refusal(of, arrayOf(of, [1n, 1n, tooLate, tooLate]))).toMatchObject({ row: 2 });
	});
});

describe("dictionaries", () => {
	const encoded = (bits: 8 | 16 | 32 | 64, signed: boolean) =>
		field(
			"d",
			{ kind: "utf8" },
			{ dictionary: { id: 1n, indexType: int(bits, signed), ordered: false } },
		);

	it.each([
		[8, true],
		[8, false],
		[16, true],
		[16, false],
		[32, true],
		[32, false],
		[64, true],
		[64, false],
	] as const)(
		"with %i-bit indices (signed: %s) refuse one that is out of range, and not one under a null",
		(bits, signed) => {
			const of = encoded(bits, signed);
			const width = bits / 8;
			for (const bad of [2n, -1n, bits === 64 ? 2n ** 32n : 100n]) {
				const array = arrayOf(of, ["a", "b", "a"]);
				array.buffers[1] = ints(width, [0, 1, bad]);
				expect(refusal(of, array)).toMatchObject({ code: "invalid_arrow", column: "d", row: 2 });
				expect(
					refusal(of, {
						...array,
						nullCount: 1,
						buffers: [bitmap([true, true, false]), array.buffers[1]],
					}),
				).toBeNull();
			}
		},
	);

	it("have their own values checked, and once only", () => {
		const of = encoded(8, true);
		const bad = arrayOf(of, ["a", Uint8Array.of(0xff)]);
		expect(refusal(of, bad)).toMatchObject({
			code: "invalid_arrow",
			column: "d",
			batch: batchIndex,
		});
		const checker = createBatchChecker(
			{ fields: [of], metadata: new Map() },
			defaultLimits,
			plainCodecs,
		);
		const good = arrayOf(of, ["a", "b"]);
		checker({ length: 2, columns: [good], index: 0 });
		good.dictionary!.buffers[2]![0] = 0xff;
		checker({ length: 2, columns: [good], index: 1 });
	});

	it("that were never sent are refused where an index is valid", () => {
		const of = encoded(8, true);
		expect(refusal(of, { ...arrayOf(of, ["a"]), dictionary: null })?.detail).toMatch(/never sent/);
		expect(refusal(of, { ...arrayOf(of, [null]), dictionary: null })).toBeNull();
	});
});

describe("extensions", () => {
	it("name the row of a value that is not one of theirs", () => {
		const of = field("j", { kind: "utf8" }, { metadata: extension("arrow.json") });
		expect(refusal(of, arrayOf(of, ['{"a":1}', "{"]))).toMatchObject({
			code: "invalid_arrow",
			column: "j",
			row: 1,
		});
	});

	it("on another storage are refused before a batch comes", () => {
		const of = field(
			"u",
			{ kind: "fixed_size_binary", byteWidth: 15 },
			{ metadata: extension("arrow.uuid") },
		);
		expect(() => check(of, arrayOf(of, []))).toThrow(
			expect.objectContaining({ code: "invalid_arrow" }),
		);
	});
});
