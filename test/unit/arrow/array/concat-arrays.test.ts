import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { concatArrays, concatSlices } from "../../../../src/arrow/array/concat-arrays.ts";
import type { Field } from "../../../../src/arrow/types.ts";
import { arrayOf, field, int, ints, plainCodecs } from "../support/arrays.ts";
import { rawValues } from "../support/read-ipc.ts";

const text = fc.option(fc.string({ maxLength: 20 }));
const item = field("item", int(32));
const smallInt = fc.option(fc.integer({ min: -100, max: 100 }));
const pair = field(
	"pair",
	{ kind: "struct" },
	{ children: [field("a", int(8)), field("b", { kind: "utf8" })] },
);
const members = [field("i", int(32)), field("s", { kind: "utf8" })];
const union = (mode: "sparse" | "dense") =>
	field("u", { kind: "union", mode, typeIds: [5, 9] }, { children: members });
const unionValue = fc.oneof(
	smallInt.map((value) => ({ member: 0, value })),
	text.map((value) => ({ member: 1, value })),
);
const list = fc.option(fc.array(smallInt, { maxLength: 5 }));

/** A field and values that fill it. */
const cases: [Field, fc.Arbitrary<unknown>][] = [
	[field("null", { kind: "null" }), fc.constant(null)],
	[field("bool", { kind: "bool" }), fc.option(fc.boolean())],
	[field("int16", int(16)), smallInt],
	[
		field("decimal256", { kind: "decimal", bits: 256, precision: 76, scale: 0 }),
		fc.option(fc.bigInt({ min: -9n, max: 9n })),
	],
	[
		field("fsb3", { kind: "fixed_size_binary", byteWidth: 3 }),
		fc.option(fc.uint8Array({ minLength: 3, maxLength: 3 })),
	],
	[field("utf8", { kind: "utf8" }), text],
	[field("large_binary", { kind: "large_binary" }), fc.option(fc.uint8Array({ maxLength: 9 }))],
	[field("utf8_view", { kind: "utf8_view" }), text],
	[field("list", { kind: "list" }, { children: [item] }), list],
	[field("large_list", { kind: "large_list" }, { children: [item] }), list],
	[field("list_view", { kind: "list_view" }, { children: [item] }), list],
	[field("large_list_view", { kind: "large_list_view" }, { children: [item] }), list],
	[
		field("fsl", { kind: "fixed_size_list", size: 3 }, { children: [item] }),
		fc.option(fc.array(smallInt, { minLength: 3, maxLength: 3 })),
	],
	[pair, fc.option(fc.record({ a: smallInt, b: text }))],
	[union("sparse"), unionValue],
	[union("dense"), unionValue],
	[
		field(
			"ree",
			{ kind: "run_end_encoded" },
			{ children: [field("run_ends", int(16)), field("values", { kind: "utf8" })] },
		),
		fc.option(fc.constantFrom("x", "y")),
	],
	[
		field(
			"dict",
			{ kind: "utf8" },
			{ dictionary: { id: 1n, indexType: int(16, false), ordered: false } },
		),
		text,
	],
	[
		field(
			"nested",
			{ kind: "list" },
			{
				children: [
					field(
						"item",
						{ kind: "struct" },
						{
							children: [
								field("l", { kind: "list_view" }, { children: [item] }),
								field(
									"d",
									{ kind: "utf8" },
									{ dictionary: { id: 2n, indexType: int(64), ordered: false } },
								),
							],
						},
					),
				],
			},
		),
		fc.option(fc.array(fc.record({ l: list, d: text }), { maxLength: 3 })),
	],
];

describe("joining arrays", () => {
	test.each(cases.map(([of, values]) => [of.name, of, values] as const))(
		"%s: slices at any position keep their values and nulls",
		(_, of, values) => {
			const slice = fc
				.array(values, { maxLength: 40 })
				.chain((all) =>
					fc
						.tuple(fc.constant(all), fc.nat(all.length), fc.nat(all.length))
						.map(([of_, a, b]) => ({ all: of_, from: Math.min(a, b), to: Math.max(a, b) })),
				);
			fc.assert(
				fc.property(fc.array(slice, { maxLength: 5 }), (slices) => {
					const joined = concatSlices(
						of,
						slices.map(({ all, from, to }) => ({
							array: arrayOf(of, all),
							from,
							length: to - from,
						})),
						plainCodecs,
					);
					const expected = slices.flatMap(({ all, from, to }) =>
						rawValues(of, arrayOf(of, all)).slice(from, to),
					);
					expect(joined.length).toBe(expected.length);
					expect(rawValues(of, joined)).toEqual(expected);
					if (joined.buffers.length > 0 && of.type.kind !== "union") {
						expect(joined.nullCount).toBe(expected.filter((value) => value === null).length);
					}
				}),
				{ numRuns: 150 },
			);
		},
	);

	test("one array is returned as it is", () => {
		const array = arrayOf(item, [1, 2]);
		expect(concatArrays(item, [array], plainCodecs)).toBe(array);
	});

	test("a dictionary that all share is kept, and its indices are not changed", () => {
		const of = field(
			"d",
			{ kind: "utf8" },
			{ dictionary: { id: 1n, indexType: int(8), ordered: false } },
		);
		const dictionary = arrayOf(field("d", { kind: "utf8" }), ["a", "b"]);
		const encoded = (indices: number[]) => ({
			...arrayOf(field("i", int(8)), indices),
			dictionary,
		});
		const joined = concatArrays(of, [encoded([0, 1]), encoded([1])], plainCodecs);
		expect(joined.dictionary).toBe(dictionary);
		expect(rawValues(of, joined)).toEqual(["a", "b", "b"]);
	});

	test("dictionaries that need a larger index than their type are too_large", () => {
		const of = field("d", int(32), { dictionary: { id: 1n, indexType: int(8), ordered: false } });
		const many = arrayOf(
			of,
			Array.from({ length: 100 }, (_, i) => i),
		);
		const more = arrayOf(
			of,
			Array.from({ length: 100 }, (_, i) => 100 + i),
		);
		expect(() => concatArrays(of, [many, more], plainCodecs)).toThrow(
			/dictionary index 199, the type holds 127/,
		);
	});

	test("arrays whose buffers are too short or whose offsets leave their data are invalid_arrow, and not read beyond", () => {
		const utf8 = field("s", { kind: "utf8" });
		const good = arrayOf(utf8, ["abc"]);
		const short = { ...good, length: 5 };
		const beyond = { ...good, buffers: [null, ints(4, [0, 99]), good.buffers[2]!] };
		const backwards = { ...good, buffers: [null, ints(4, [3, 0]), good.buffers[2]!] };
		for (const bad of [short, beyond, backwards]) {
			expect(() => concatArrays(utf8, [good, bad], plainCodecs)).toThrow(
				expect.objectContaining({ code: "invalid_arrow" }),
			);
		}
	});
});

describe("joining views", () => {
	const view = field("v", { kind: "utf8_view" });

	test("data buffers that arrays share are there once, though each array has thousands", () => {
		const texts = Array.from({ length: 1_000 }, (_, i) => `a text longer than twelve ${i}`);
		const whole = arrayOf(view, texts);
		// As deltas leave a dictionary: every value in a buffer of its own.
		const data = texts.map((value) => new TextEncoder().encode(value));
		const views = whole.buffers[1]!;
		texts.forEach((_, i) => {
			views.set(ints(4, [i, 0]), i * 16 + 8);
		});
		const arrays = Array.from({ length: 300 }, () => ({
			...whole,
			buffers: [null, views, ...data.map((bytes) => bytes.subarray())],
		}));
		const slices = arrays.map((array, i) => ({ array, from: i, length: 3 }));
		const joined = concatSlices(view, slices, plainCodecs);
		expect(joined.buffers).toHaveLength(2 + data.length);
		const expected = slices.flatMap(({ from }) => texts.slice(from, from + 3));
		expect(rawValues(view, joined)).toEqual(rawValues(view, arrayOf(view, expected)));
	});

	test("a view into a buffer that its array doesn't have points into none of the others'", () => {
		const [one, other] = ["the first text of all", "the other text of all"].map((value) =>
			arrayOf(view, [value]),
		);
		one!.buffers[1]!.set(ints(4, [1]), 8);
		const joined = concatArrays(view, [one!, other!], plainCodecs);
		const indices = [0, 1].map((i) =>
			new DataView(joined.buffers[1]!.buffer, joined.buffers[1]!.byteOffset).getInt32(
				16 * i + 8,
				true,
			),
		);
		expect(indices).toEqual([-1, 1]);
	});
});
