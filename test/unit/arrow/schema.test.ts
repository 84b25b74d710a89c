import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { ArrowType, Field } from "../../../src/arrow/types.ts";
import type { Limits } from "../../../src/limits.ts";
import { field, int } from "./support/arrays.ts";
import { errorOf, readBack } from "./support/read-ipc.ts";
import { writeStream } from "./support/write-ipc.ts";

const schemaOf = async (fields: readonly Field[], limits: Partial<Limits> = {}) =>
	(await readBack(writeStream(fields, []), { limits })).schemas[0]!;
const refusal = async (fields: readonly Field[], limits: Partial<Limits> = {}) => {
	const { code, place, message } = await errorOf(schemaOf(fields, limits));
	return { code, column: place.column, message };
};
const item = field("item", int(32));

const leaves: ArrowType[] = [
	{ kind: "null" },
	{ kind: "bool" },
	...([8, 16, 32, 64] as const).flatMap((bits) => [int(bits), int(bits, false)]),
	...([16, 32, 64] as const).map((bits): ArrowType => ({ kind: "float", bits })),
	{ kind: "decimal", bits: 32, precision: 9, scale: 2 },
	{ kind: "decimal", bits: 64, precision: 18, scale: -3 },
	{ kind: "decimal", bits: 128, precision: 38, scale: 38 },
	{ kind: "decimal", bits: 256, precision: 76, scale: 0 },
	{ kind: "date", unit: "day" },
	{ kind: "date", unit: "ms" },
	{ kind: "time", bits: 32, unit: "s" },
	{ kind: "time", bits: 32, unit: "ms" },
	{ kind: "time", bits: 64, unit: "us" },
	{ kind: "time", bits: 64, unit: "ns" },
	...(["s", "ms", "us", "ns"] as const).flatMap((unit): ArrowType[] => [
		{ kind: "timestamp", unit, zone: null },
		{ kind: "timestamp", unit, zone: "Europe/Paris" },
		{ kind: "duration", unit },
	]),
	...(["month", "day_time", "month_day_nano"] as const).map(
		(unit): ArrowType => ({ kind: "interval", unit }),
	),
	...(["utf8", "large_utf8", "utf8_view", "binary", "large_binary", "binary_view"] as const).map(
		(kind): ArrowType => ({ kind }),
	),
	{ kind: "fixed_size_binary", byteWidth: 0 },
	{ kind: "fixed_size_binary", byteWidth: 16 },
];
const nested: Field[] = [
	...(["list", "large_list", "list_view", "large_list_view"] as const).map((kind) =>
		field(kind, { kind }, { children: [item] }),
	),
	field("fsl", { kind: "fixed_size_list", size: 4 }, { children: [item] }),
	field(
		"struct",
		{ kind: "struct" },
		{ children: [item, field("é", { kind: "utf8" }, { nullable: false })] },
	),
	field(
		"map",
		{ kind: "map", keysSorted: true },
		{
			children: [
				field(
					"entries",
					{ kind: "struct" },
					{ nullable: false, children: [field("key", { kind: "utf8" }), item] },
				),
			],
		},
	),
	field(
		"union",
		{ kind: "union", mode: "dense", typeIds: [5, 7] },
		{ children: [item, field("s", { kind: "utf8" })] },
	),
	field("sparse", { kind: "union", mode: "sparse", typeIds: [0] }, { children: [item] }),
	field("runs", { kind: "run_end_encoded" }, { children: [field("run_ends", int(16)), item] }),
	field(
		"dictionary",
		{ kind: "list" },
		{ children: [item], dictionary: { id: -5n, indexType: int(64, false), ordered: true } },
	),
];

describe("reading a schema", () => {
	test("every type comes back with its parameters, nullability, dictionary and metadata", async () => {
		const fields = [
			...leaves.map((type, i) => field(`leaf ${i}`, type, { nullable: i % 2 === 0 })),
			...nested,
			field(
				"extension",
				{ kind: "binary" },
				{ metadata: new Map([["ARROW:extension:metadata", Uint8Array.of(0xff, 0, 1)]]) },
			),
		];
		expect((await schemaOf(fields)).fields).toEqual(fields);
	});

	test.each<[string, Field]>([
		["an integer of 24 bits", field("c", { kind: "int", bits: 24 as 8, signed: true })],
		[
			"a decimal of 39 digits in 128 bits",
			field("c", { kind: "decimal", bits: 128, precision: 39, scale: 0 }),
		],
		[
			"a decimal without digits",
			field("c", { kind: "decimal", bits: 128, precision: 0, scale: 0 }),
		],
		[
			"a decimal of 100 bits",
			field("c", { kind: "decimal", bits: 100 as 128, precision: 5, scale: 0 }),
		],
		["a time in seconds of 64 bits", field("c", { kind: "time", bits: 64, unit: "s" })],
		["a time in nanoseconds of 32 bits", field("c", { kind: "time", bits: 32, unit: "ns" })],
		["a negative width", field("c", { kind: "fixed_size_binary", byteWidth: -1 })],
		[
			"a negative list size",
			field("c", { kind: "fixed_size_list", size: -1 }, { children: [item] }),
		],
		["an unknown float precision", field("c", { kind: "float", bits: 128 as 64 })],
		[
			"a union id over 127",
			field("c", { kind: "union", mode: "dense", typeIds: [128] }, { children: [item] }),
		],
		[
			"a union id that is given twice",
			field(
				"c",
				{ kind: "union", mode: "dense", typeIds: [1, 1] },
				{ children: [item, field("b", int(8))] },
			),
		],
		[
			"fewer union ids than members",
			field(
				"c",
				{ kind: "union", mode: "dense", typeIds: [1] },
				{ children: [item, field("b", int(8))] },
			),
		],
		["a list without a child", field("c", { kind: "list" })],
		["a list of two children", field("c", { kind: "list" }, { children: [item, item] })],
		["an integer with a child", field("c", int(8), { children: [item] })],
		["a map of integers", field("c", { kind: "map", keysSorted: false }, { children: [item] })],
		[
			"a map whose entries have three fields",
			field(
				"c",
				{ kind: "map", keysSorted: false },
				{
					children: [
						field(
							"e",
							{ kind: "struct" },
							{ children: [item, field("b", int(8)), field("d", int(8))] },
						),
					],
				},
			),
		],
		[
			"run ends of 8 bits",
			field("c", { kind: "run_end_encoded" }, { children: [field("run_ends", int(8)), item] }),
		],
		[
			"unsigned run ends",
			field(
				"c",
				{ kind: "run_end_encoded" },
				{ children: [field("run_ends", int(32, false)), item] },
			),
		],
		[
			"dictionary indices of 7 bits",
			field("c", int(8), {
				dictionary: {
					id: 0n,
					indexType: { kind: "int", bits: 7 as 8, signed: true },
					ordered: false,
				},
			}),
		],
		["a time zone with a NUL", field("c", { kind: "timestamp", unit: "s", zone: "U\0TC" })],
	])("%s is invalid_arrow with its column, at any depth", async (_, bad) => {
		expect(await refusal([field("a", int(8)), bad])).toMatchObject({
			code: "invalid_arrow",
			column: "c",
		});
		const inList = field(
			"l",
			{ kind: "list" },
			{ children: [field("s", { kind: "struct" }, { children: [bad] })] },
		);
		expect(await refusal([inList])).toMatchObject({ code: "invalid_arrow", column: "l[].c" });
	});

	test("an index of 128 bits is none", async () => {
		const dictionary = {
			id: 0n,
			indexType: { kind: "int", bits: 128 as 64, signed: true },
		} as const;
		const coded = field("c", { kind: "utf8" }, { dictionary: { ...dictionary, ordered: false } });
		expect(await refusal([coded])).toMatchObject({ code: "invalid_arrow", column: "c" });
	});

	test("no columns, and structs and unions without members, are unsupported_type", async () => {
		expect(await refusal([])).toMatchObject({ code: "unsupported_type" });
		expect(await refusal([field("s", { kind: "struct" })])).toMatchObject({
			code: "unsupported_type",
			column: "s",
		});
		const union = field("u", { kind: "union", mode: "sparse", typeIds: [] });
		expect(await refusal([union])).toMatchObject({ code: "unsupported_type", column: "u" });
	});
});

describe("names", () => {
	test.each([
		"index",
		'a"b',
		"a-b",
		"a b",
		"🦆",
		"a\nb",
		"'); DROP TABLE t;--",
		"é".repeat(127),
		"a.b",
	])("%j is taken as it is", async (name) => {
		expect((await schemaOf([field(name, int(8))])).fields[0]!.name).toBe(name);
	});

	test.each(["", "a\0b", "é".repeat(128), "a".repeat(256)])(
		"%j is invalid_arrow, as column and as field of a struct",
		async (name) => {
			expect(await refusal([field(name, int(8))])).toMatchObject({ code: "invalid_arrow" });
			const struct = field("s", { kind: "struct" }, { children: [field(name, int(8))] });
			expect(await refusal([struct])).toMatchObject({ code: "invalid_arrow", column: "s" });
		},
	);

	test("of a list's child do not matter", async () => {
		const list = field("l", { kind: "list" }, { children: [field("", int(8))] });
		expect((await schemaOf([list])).fields).toEqual([list]);
	});

	test("that differ in ASCII case only are duplicate_column, and those that differ in other letters' case are not", async () => {
		for (const [a, b] of [
			["a", "a"],
			["a", "A"],
			["Id", "iD"],
		] as const) {
			expect(await refusal([field(a, int(8)), field(b, int(8))])).toMatchObject({
				code: "duplicate_column",
				column: b,
			});
			const struct = field(
				"s",
				{ kind: "struct" },
				{ children: [field(a, int(8)), field(b, int(8))] },
			);
			expect(await refusal([struct])).toMatchObject({ code: "duplicate_column", column: `s.${b}` });
		}
		expect((await schemaOf([field("é", int(8)), field("É", int(8))])).fields).toHaveLength(2);
	});
});

describe("limits", () => {
	test("of columns, and of fields at all levels, are too_large beyond", async () => {
		const many = (count: number) => Array.from({ length: count }, (_, i) => field(`c${i}`, int(8)));
		expect((await schemaOf(many(5), { maxColumns: 5 })).fields).toHaveLength(5);
		expect(await refusal(many(6), { maxColumns: 5 })).toMatchObject({ code: "too_large" });
		const struct = field("s", { kind: "struct" }, { children: many(60) });
		expect(await refusal([struct], { maxColumns: 5 })).toMatchObject({ code: "too_large" });
	});

	test("of nesting are too_large beyond 64 levels, also at 400", async () => {
		const deep = (levels: number): Field =>
			levels === 1
				? field("x", int(8))
				: field("x", { kind: "list" }, { children: [deep(levels - 1)] });
		expect((await schemaOf([deep(64)])).fields[0]!.type.kind).toBe("list");
		expect(await refusal([deep(65)])).toMatchObject({ code: "too_large" });
		expect(await refusal([deep(400)])).toMatchObject({ code: "too_large" });
		expect((await refusal([deep(600)])).code).toMatch(/too_large|invalid_arrow/);
	});
});

test("any field of any type comes back as it was written", async () => {
	const { field: any } = fc.letrec<{ field: Field }>((tie) => ({
		field: fc.oneof(
			{ maxDepth: 4 },
			fc.constantFrom(...leaves).map((type) => field("f", type)),
			tie("field").map((child) => field("f", { kind: "list" }, { children: [child] })),
			tie("field").map((child) =>
				field("f", { kind: "fixed_size_list", size: 3 }, { children: [child] }),
			),
			fc
				.array(tie("field"), { minLength: 1, maxLength: 4 })
				.map((children) =>
					field(
						"f",
						{ kind: "struct" },
						{ children: children.map((child, i) => ({ ...child, name: `f${i}` })) },
					),
				),
		),
	}));
	await fc.assert(
		fc.asyncProperty(any, async (one) => {
			expect((await schemaOf([one])).fields).toEqual([one]);
		}),
		{ numRuns: 100 },
	);
});
