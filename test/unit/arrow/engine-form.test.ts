/** Every rewrite, through DuckDB's own scan: what lands is what was sent. More rows than one vector, where vectors matter. */

import { describe, expect, it } from "vitest";
import { createBatchChecker } from "../../../src/arrow/check-batch.ts";
import { planEngineForm } from "../../../src/arrow/engine-form.ts";
import type { ArrayData, ArrowType, Field, RawBatch } from "../../../src/arrow/types.ts";
import { defaultLimits } from "../../../src/limits.ts";
import { arrayOf, bitmap, extension, field, int, ints, plainCodecs } from "./support/arrays.ts";
import { throughDuckDB } from "./support/duckdb.ts";

const many = 5_000;
const nullAt = (i: number) => i % 7 === 3;

/** One column in one batch: DuckDB's type and what it prints. */
async function landed(of: Field, array: ArrayData) {
	const { types, rows, warnings } = await landedBatches(of, [array]);
	return { type: types[0], rows: rows.map(([value]) => value), warnings };
}

async function landedBatches(of: Field, arrays: readonly ArrayData[]) {
	const schema = { fields: [of], metadata: new Map() };
	const check = createBatchChecker(schema, defaultLimits, plainCodecs);
	const form = planEngineForm(schema, plainCodecs);
	const batches = arrays.map((array, index) => {
		const raw: RawBatch = { length: array.length, columns: [array], index };
		check(raw);
		return form.convert(raw);
	});
	return { ...(await throughDuckDB(form.fields, batches)), warnings: form.warnings };
}

const landedValues = (of: Field, values: readonly unknown[]) => landed(of, arrayOf(of, values));

const rowsOf = (make: (i: number) => unknown) =>
	Array.from({ length: many }, (_, i) => (nullAt(i) ? null : make(i)));
const printed = (make: (i: number) => string) =>
	Array.from({ length: many }, (_, i) => (nullAt(i) ? null : make(i)));

describe("columns that DuckDB scans rightly", () => {
	it("pass without a copy", () => {
		const types: ArrowType[] = [
			int(64),
			{ kind: "float", bits: 64 },
			{ kind: "decimal", bits: 128, precision: 15, scale: 2 },
			{ kind: "utf8" },
			{ kind: "bool" },
			{ kind: "date", unit: "day" },
			{ kind: "timestamp", unit: "us", zone: null },
		];
		const fields = types.map((type, i) => field(`c${i}`, type));
		const form = planEngineForm({ fields, metadata: new Map() }, plainCodecs);
		const columns = fields.map((of) => arrayOf(of, [null, null]));
		const batch = form.convert({ length: 2, columns, index: 0 });
		expect(form.fields).toEqual(fields);
		batch.columns.forEach((column, i) => {
			expect(column).toBe(columns[i]);
		});
	});

	it.each([
		[int(8), [-128, 127], "TINYINT", ["-128", "127"]],
		[int(64, false), [0n, 2n ** 64n - 1n], "UBIGINT", ["0", "18446744073709551615"]],
		[{ kind: "bool" }, [true, false], "BOOLEAN", ["true", "false"]],
		[
			{ kind: "decimal", bits: 32, precision: 9, scale: 2 },
			[123, -999_999_999],
			"DECIMAL(9,2)",
			["1.23", "-9999999.99"],
		],
		[
			{ kind: "decimal", bits: 32, precision: 4, scale: 2 },
			[123, -9_999],
			"DECIMAL(4,2)",
			["1.23", "-99.99"],
		],
		[
			{ kind: "decimal", bits: 64, precision: 18, scale: 3 },
			[1n, -(10n ** 18n) + 1n],
			"DECIMAL(18,3)",
			["0.001", "-999999999999999.999"],
		],
		[
			{ kind: "date", unit: "day" },
			[2_147_483_647, -2_147_483_646],
			"DATE",
			["infinity", "5877642-06-25 (BC)"],
		],
		[
			{ kind: "time", bits: 64, unit: "ns" },
			[86_399_999_999_999n, 1n],
			"TIME_NS",
			["23:59:59.999999999", "00:00:00.000000001"],
		],
		[
			{ kind: "timestamp", unit: "ns", zone: null },
			[999n, -1n],
			"TIMESTAMP_NS",
			["1970-01-01 00:00:00.000000999", "1969-12-31 23:59:59.999999999"],
		],
		[
			{ kind: "duration", unit: "us" },
			[1n, 2n ** 63n - 1n],
			"INTERVAL",
			["00:00:00.000001", "2562047788:00:54.775807"],
		],
		[
			{ kind: "interval", unit: "month" },
			[2_147_483_647, -2_147_483_648],
			"INTERVAL",
			["178956970 years 7 months", "-178956970 years -8 months"],
		],
		[
			{ kind: "utf8_view" },
			["short", "longer than twelve bytes"],
			"VARCHAR",
			["short", "longer than twelve bytes"],
		],
		[{ kind: "large_utf8" }, ["é", ""], "VARCHAR", ["é", ""]],
		[
			{ kind: "binary_view" },
			["ab", "longer than twelve bytes"],
			"BLOB",
			["ab", "longer than twelve bytes"],
		],
		[
			{ kind: "fixed_size_binary", byteWidth: 2 },
			[Uint8Array.of(65, 66), Uint8Array.of(67, 68)],
			"BLOB",
			["AB", "CD"],
		],
		[
			{ kind: "fixed_size_binary", byteWidth: 0 },
			[new Uint8Array(0), new Uint8Array(0)],
			"BLOB",
			["", ""],
		],
		[{ kind: "null" }, [null, null], "INTEGER", [null, null]],
	] as [ArrowType, unknown[], string, (string | null)[]][])(
		"%j lands with its values and nulls",
		async (type, values, duckdbType, expected) => {
			const of = field("a", type);
			const repeated = Array.from({ length: 3_000 }, (_, i) =>
				i % 3 === 2 ? null : values[i % 3],
			);
			expect(await landedValues(of, repeated)).toEqual({
				type: duckdbType,
				rows: Array.from({ length: 3_000 }, (_, i) => (i % 3 === 2 ? null : expected[i % 3])),
				warnings: [],
			});
		},
	);
});

describe("float16", () => {
	// 1, -2, 65504, 2^-24, 2^-14, infinity, -0, 0.333…
	const halves = [0x3c00, 0xc000, 0x7bff, 0x0001, 0x0400, 0x7c00, 0x8000, 0x3555];
	const floats = [
		"1.0",
		"-2.0",
		"65504.0",
		"5.9604645e-08",
		"6.1035156e-05",
		"inf",
		"-0.0",
		"0.33325195",
	];

	it("widens to FLOAT, alone", async () => {
		const { type, rows } = await landedValues(field("h", { kind: "float", bits: 16 }), [
			...halves,
			null,
			0x7e00,
		]);
		expect(type).toBe("FLOAT");
		expect(rows).toEqual([...floats, null, "nan"]);
	});

	it("widens inside a fixed size list and a struct", async () => {
		const half = field("item", { kind: "float", bits: 16 });
		const of = field(
			"s",
			{ kind: "struct" },
			{ children: [field("v", { kind: "fixed_size_list", size: 2 }, { children: [half] })] },
		);
		expect(await landedValues(of, [{ v: [0x3c00, 0xc000] }, { v: null }, null])).toMatchObject({
			type: "STRUCT(v FLOAT[2])",
			rows: ["{'v': [1.0, -2.0]}", "{'v': NULL}", null],
		});
	});
});

describe("decimals", () => {
	const exact = 1234567890123456789012345678_0123456789n;
	const decimal = (bits: 128 | 256, precision: number, scale: number) =>
		field("d", { kind: "decimal", bits, precision, scale });

	it("of 38 digits arrive digit for digit", async () => {
		expect(await landedValues(decimal(128, 38, 10), [exact, -exact, null])).toMatchObject({
			type: "DECIMAL(38,10)",
			rows: [
				"1234567890123456789012345678.0123456789",
				"-1234567890123456789012345678.0123456789",
				null,
			],
		});
	});

	it("of 256 bits arrive exactly when 38 digits hold them, whatever their declared precision", async () => {
		for (const [precision, type] of [
			[20, "DECIMAL(20,10)"],
			[38, "DECIMAL(38,10)"],
			[76, "DECIMAL(38,10)"],
		] as const) {
			const value = precision === 20 ? 12_345_678_901n : exact;
			expect(await landedValues(decimal(256, precision, 10), [value, -value, null])).toMatchObject({
				type,
				rows:
					precision === 20
						? ["1.2345678901", "-1.2345678901", null]
						: [
								"1234567890123456789012345678.0123456789",
								"-1234567890123456789012345678.0123456789",
								null,
							],
			});
		}
	});

	it("of 256 bits beyond 38 digits are refused with column and row", async () => {
		await expect(landedValues(decimal(256, 76, 10), [1n, 10n ** 38n])).rejects.toMatchObject({
			code: "unsupported_type",
			place: { column: "d", row: 1, batch: 0, arrow_type: "decimal256(76, 10)" },
		});
	});

	it("with a negative scale arrive with their zeros", async () => {
		expect(await landedValues(decimal(128, 5, -3), [12_345n, -1n, null])).toMatchObject({
			type: "DECIMAL(8,0)",
			rows: ["12345000", "-1000", null],
		});
		expect(await landedValues(decimal(256, 30, -20), [7n, 10n ** 18n - 1n])).toMatchObject({
			type: "DECIMAL(38,0)",
			rows: [`7${"0".repeat(20)}`, `${"9".repeat(18)}${"0".repeat(20)}`],
		});
	});

	it("with a negative scale that doesn't fit are refused with column and row", async () => {
		await expect(landedValues(decimal(128, 30, -20), [7n, 10n ** 18n])).rejects.toMatchObject({
			code: "unsupported_type",
			place: { column: "d", row: 1 },
		});
	});

	it("with a scale beyond their precision get the digits", async () => {
		expect(await landedValues(decimal(128, 2, 5), [12n, null])).toMatchObject({
			type: "DECIMAL(5,5)",
			rows: [".00012", null],
		});
		expect(() =>
			planEngineForm({ fields: [decimal(256, 50, 40)], metadata: new Map() }, plainCodecs),
		).toThrow(expect.objectContaining({ code: "unsupported_type" }));
	});
});

describe("dictionaries", () => {
	const encoded = (type: ArrowType, indexType = int(8), children: Field[] = []) =>
		field("d", type, { children, dictionary: { id: 1n, indexType, ordered: false } });
	const words = ["a", "a word that is longer than twelve bytes", "", "é"];

	it.each([8, 16, 32, 64] as const)(
		"with %i-bit indices, signed or not, arrive with nulls",
		async (bits) => {
			for (const signed of [true, false]) {
				const of = encoded({ kind: "utf8" }, int(bits, signed));
				const { type, rows } = await landedValues(
					of,
					rowsOf((i) => words[i % 4]),
				);
				expect(type).toBe("VARCHAR");
				expect(rows).toEqual(printed((i) => words[i % 4]!));
			}
		},
	);

	it("with null values and duplicates arrive", async () => {
		const of = encoded({ kind: "large_utf8" });
		const array = arrayOf(of, ["x", "y", "z", "x"]);
		array.dictionary = arrayOf({ ...of, dictionary: null }, ["same", null, "same"]);
		expect(await landed(of, array)).toMatchObject({ rows: ["same", null, "same", "same"] });
	});

	it("that differ from batch to batch arrive as they were in each", async () => {
		const of = encoded({ kind: "utf8" });
		const batches = Array.from({ length: 12 }, (_, b) =>
			arrayOf(
				of,
				rowsOf((i) => `batch ${b} value ${i % 3}`),
			),
		);
		const { rows } = await landedBatches(of, batches);
		const expected = batches.flatMap((_, b) => printed((i) => `batch ${b} value ${i % 3}`));
		expect(rows.map(([value]) => value)).toEqual(expected);
	});

	it("garbage under nulls is not followed", async () => {
		const of = encoded({ kind: "utf8" }, int(32));
		const array = arrayOf(
			of,
			rowsOf((i) => words[i % 4]),
		);
		const indices = new Int32Array(array.buffers[1]!.buffer);
		for (let i = 0; i < many; i++) if (nullAt(i)) indices[i] = i % 2 ? 0x7fff_ffff : -0x7fff_ffff;
		expect((await landed(of, array)).rows).toEqual(printed((i) => words[i % 4]!));
	});

	it.each([
		[int(64), [1n, -5n], "BIGINT", ["1", "-5"]],
		[{ kind: "float", bits: 16 }, [0x3c00, 0xc000], "FLOAT", ["1.0", "-2.0"]],
		[{ kind: "bool" }, [true, false], "BOOLEAN", ["true", "false"]],
		[
			{ kind: "decimal", bits: 256, precision: 40, scale: 1 },
			[15n, -25n],
			"DECIMAL(38,1)",
			["1.5", "-2.5"],
		],
		[
			{ kind: "utf8_view" },
			["in line", "not in line, but elsewhere"],
			"VARCHAR",
			["in line", "not in line, but elsewhere"],
		],
		[
			{ kind: "timestamp", unit: "us", zone: "UTC" },
			[0n, 1n],
			"TIMESTAMP WITH TIME ZONE",
			["1970-01-01 00:00:00+00", "1970-01-01 00:00:00.000001+00"],
		],
		[
			{ kind: "interval", unit: "day_time" },
			[1n + (2n << 32n), 3n],
			"INTERVAL",
			["1 day 00:00:00.002", "3 days"],
		],
	] as [ArrowType, unknown[], string, string[]][])(
		"of %j arrive",
		async (type, values, duckdbType, expected) => {
			const of = encoded(type);
			expect(
				await landedValues(
					of,
					rowsOf((i) => values[i % 2]),
				),
			).toMatchObject({
				type: duckdbType,
				rows: printed((i) => expected[i % 2]!),
			});
		},
	);

	it("of structs, lists, unions and maps arrive", async () => {
		const n = field("n", int(32));
		const s = field("s", { kind: "utf8" });
		const struct = { n: 1, s: "x" };
		expect(
			await landedValues(
				encoded({ kind: "struct" }, int(8), [n, s]),
				rowsOf(() => struct),
			),
		).toMatchObject({
			type: "STRUCT(n INTEGER, s VARCHAR)",
			rows: printed(() => "{'n': 1, 's': x}"),
		});
		const lists = [["a", null], []];
		expect(
			await landedValues(
				encoded({ kind: "list" }, int(8), [s]),
				rowsOf((i) => lists[i % 2]),
			),
		).toMatchObject({
			type: "VARCHAR[]",
			rows: printed((i) => ["[a, NULL]", "[]"][i % 2]!),
		});
		const unions = [
			{ member: 0, value: 7 },
			{ member: 1, value: "u" },
		];
		const union = encoded({ kind: "union", mode: "dense", typeIds: [3, 4] }, int(8), [n, s]);
		expect(
			await landedValues(
				union,
				rowsOf((i) => unions[i % 2]),
			),
		).toMatchObject({
			type: "UNION(n INTEGER, s VARCHAR)",
			rows: printed((i) => ["7", "u"][i % 2]!),
		});
	});

	it("inside dictionaries arrive", async () => {
		const inner = { ...encoded({ kind: "utf8" }), name: "s" };
		const of = encoded({ kind: "struct" }, int(16), [inner]);
		const values = [{ s: "one" }, { s: "two" }, { s: null }];
		expect(
			await landedValues(
				of,
				rowsOf((i) => values[i % 3]),
			),
		).toMatchObject({
			rows: printed((i) => ["{'s': one}", "{'s': two}", "{'s': NULL}"][i % 3]!),
		});
	});

	it("with nulls inside lists arrive, where DuckDB's own scan crashes", async () => {
		const of = field(
			"l",
			{ kind: "list" },
			{ children: [{ ...encoded({ kind: "utf8" }), name: "item" }] },
		);
		const values = rowsOf((i) => [i % 2 ? "odd" : null, `s${i % 5}`]);
		expect((await landedValues(of, values)).rows).toEqual(
			printed((i) => `[${i % 2 ? "odd" : "NULL"}, s${i % 5}]`),
		);
	});

	it("that unfold beyond the limit are refused", () => {
		const of = encoded({ kind: "list" }, int(8), [field("item", int(64))]);
		const long = Array.from({ length: 1_000 }, (_, i) => BigInt(i));
		const form = planEngineForm({ fields: [of], metadata: new Map() }, plainCodecs, 100_000);
		const array = arrayOf(of, Array(1_000).fill(long));
		expect(() => form.convert({ length: 1_000, columns: [array], index: 4 })).toThrow(
			expect.objectContaining({
				code: "too_large",
				place: expect.objectContaining({ column: "d", batch: 4 }),
			}),
		);
	});

	it("of one long string that many rows share are refused beyond the limit", () => {
		const of = encoded({ kind: "utf8" });
		const array = arrayOf(of, Array(1_000).fill("x".repeat(10_000)));
		const form = planEngineForm({ fields: [of], metadata: new Map() }, plainCodecs, 5_000_000);
		expect(() => form.convert({ length: 1_000, columns: [array], index: 0 })).toThrow(
			expect.objectContaining({
				code: "too_large",
				place: expect.objectContaining({ column: "d" }),
			}),
		);
	});

	it("keep their extension where it lies on binary", async () => {
		const opaque = (name: string) =>
			extension("arrow.opaque", JSON.stringify({ type_name: name, vendor_name: "DuckDB" }));
		const bit = { ...encoded({ kind: "binary" }), metadata: opaque("bit") };
		// Three bits of padding, set, then 10110.
		expect(await landedValues(bit, [Uint8Array.of(3, 0b1111_0110), null])).toMatchObject({
			type: "BIT",
			rows: ["10110", null],
		});
		const bignum = { ...encoded({ kind: "large_binary" }), metadata: opaque("bignum") };
		expect(await landedValues(bignum, [Uint8Array.of(0x80, 0, 1, 42), null])).toMatchObject({
			type: "BIGNUM",
			rows: ["42", null],
		});
	});

	it("keep their extension", async () => {
		const of = { ...encoded({ kind: "utf8" }), metadata: extension("arrow.json") };
		expect(await landedValues(of, ['{"a":1}', null])).toMatchObject({
			type: "JSON",
			rows: ['{"a":1}', null],
		});
		const uuid = {
			...encoded({ kind: "fixed_size_binary", byteWidth: 16 }),
			metadata: extension("arrow.uuid"),
		};
		expect(
			await landedValues(uuid, [Uint8Array.from({ length: 16 }, (_, i) => i), null]),
		).toMatchObject({
			type: "UUID",
			rows: ["00010203-0405-0607-0809-0a0b0c0d0e0f", null],
		});
	});
});

describe("geometry", () => {
	const point = (x: number, y: number) => {
		const bytes = new Uint8Array(21);
		bytes.set([1, 1, 0, 0, 0]);
		bytes.set(new Uint8Array(Float64Array.of(x, y).buffer), 5);
		return bytes;
	};
	const dictionary = { id: 1n, indexType: int(8), ordered: false };
	const wkb = { metadata: extension("geoarrow.wkb", "{}") };
	const wkt = { metadata: extension("geoarrow.wkt", "{}") };

	it("in dictionaries lands as GEOMETRY", async () => {
		const points = [point(1, 2), point(3, 4)];
		for (const kind of ["binary", "large_binary", "binary_view"] as const) {
			const of = field("g", { kind }, { ...wkb, dictionary });
			expect(await landedValues(of, [points[0], null, points[1], points[0]])).toMatchObject({
				type: expect.stringMatching(/^GEOMETRY/),
				rows: ["POINT (1 2)", null, "POINT (3 4)", "POINT (1 2)"],
			});
		}
		const of = field("g", { kind: "utf8" }, { ...wkt, dictionary });
		expect(await landedValues(of, ["POINT(1 2)", null, "POINT (1 2)"])).toMatchObject({
			rows: ["POINT (1 2)", null, "POINT (1 2)"],
		});
	});

	it("in runs, lists, structs and unions lands as GEOMETRY", async () => {
		const g = field("g", { kind: "utf8" }, wkt);
		const runs = field(
			"r",
			{ kind: "run_end_encoded" },
			{ ...wkt, children: [field("run_ends", int(16)), field("values", { kind: "utf8" })] },
		);
		expect((await landedValues(runs, ["POINT (1 2)", "POINT (1 2)", null])).rows).toEqual([
			"POINT (1 2)",
			"POINT (1 2)",
			null,
		]);
		const list = field("l", { kind: "list_view" }, { children: [g] });
		expect(await landedValues(list, [["POINT (1 2)", null], null])).toMatchObject({
			type: expect.stringMatching(/^GEOMETRY.*\[\]$/),
			rows: ["['POINT (1 2)', NULL]", null],
		});
		const struct = field("s", { kind: "struct" }, { children: [g] });
		expect((await landedValues(struct, [{ g: "POINT (1 2)" }, null])).rows).toEqual([
			"{'g': 'POINT (1 2)'}",
			null,
		]);
		const union = field(
			"u",
			{ kind: "union", mode: "dense", typeIds: [0, 1] },
			{ children: [g, field("n", int(8))] },
		);
		expect(
			(
				await landedValues(union, [
					{ member: 0, value: "POINT (1 2)" },
					{ member: 1, value: 5 },
				])
			).rows,
		).toEqual(["POINT (1 2)", "5"]);
	});

	it("that is wrong names column, batch and row, in a struct too", async () => {
		const g = field("g", { kind: "utf8" }, wkt);
		const struct = field("s", { kind: "struct" }, { children: [g] });
		await expect(
			landedValues(struct, [{ g: "POINT (1 2)" }, { g: "POINT (" }]),
		).rejects.toMatchObject({
			code: "invalid_arrow",
			place: { column: "s.g", batch: 0, row: 1 },
		});
	});
});

describe("unions", () => {
	const children = [
		field("n", int(32)),
		field("s", { kind: "utf8" }),
		field("v", { kind: "list" }, { children: [field("item", int(8))] }),
	];
	const values = Array.from(
		{ length: many },
		(_, i) =>
			[
				{ member: 0, value: i },
				{ member: 1, value: `text ${i}` },
				{ member: 0, value: null },
				{ member: 2, value: [i % 100, null] },
			][(i + Math.floor(i / 2048)) % 4],
	);
	const texts = Array.from(
		{ length: many },
		(_, i) => [`${i}`, `text ${i}`, null, `[${i % 100}, NULL]`][(i + Math.floor(i / 2048)) % 4],
	);

	it.each(["sparse", "dense"] as const)("that are %s arrive, with any type ids", async (mode) => {
		const of = field("u", { kind: "union", mode, typeIds: [100, 3, 0] }, { children });
		expect(await landedValues(of, values)).toMatchObject({
			type: "UNION(n INTEGER, s VARCHAR, v TINYINT[])",
			rows: texts,
		});
	});

	it("of metadata V4 are null where their own bitmap says so", async () => {
		for (const mode of ["sparse", "dense"] as const) {
			const of = field("u", { kind: "union", mode, typeIds: [0, 1, 2] }, { children });
			const array = arrayOf(of, values.slice(0, 4));
			array.buffers.unshift(bitmap([true, false, true, true]));
			array.nullCount = 1;
			array.buffers[1]![1] = 99;
			expect((await landed(of, array)).rows).toEqual(["0", null, null, "[3, NULL]"]);
		}
	});

	it("inside lists and structs arrive", async () => {
		const union = field("u", { kind: "union", mode: "dense", typeIds: [1, 2, 3] }, { children });
		const list = field("l", { kind: "list" }, { children: [union] });
		const lists = rowsOf((i) => [values[i], values[(i * 7) % many]]);
		expect((await landedValues(list, lists)).rows).toEqual(
			printed((i) => `[${texts[i] ?? "NULL"}, ${texts[(i * 7) % many] ?? "NULL"}]`),
		);
		const struct = field("t", { kind: "struct" }, { children: [union] });
		expect(
			(
				await landedValues(
					struct,
					values.map((u) => ({ u })),
				)
			).rows,
		).toEqual(texts.map((text) => `{'u': ${text ?? "NULL"}}`));
	});

	it("don't let values reach DuckDB that are not selected", async () => {
		const of = field(
			"u",
			{ kind: "union", mode: "sparse", typeIds: [0, 1] },
			{ children: [field("d", { kind: "duration", unit: "s" }), field("s", { kind: "utf8" })] },
		);
		const array = arrayOf(of, [
			{ member: 0, value: 1n },
			{ member: 1, value: "x" },
		]);
		array.children[0] = arrayOf(of.children[0]!, [1n, 2n ** 62n]);
		array.children[1] = arrayOf(of.children[1]!, [Uint8Array.of(0xff), "x"]);
		expect((await landed(of, array)).rows).toEqual(["00:00:01", "x"]);
	});

	it("with equal or missing member names are refused", () => {
		const plan = (names: string[]) => {
			const members = names.map((name) => field(name, int(8)));
			const typeIds = names.map((_, i) => i);
			return () =>
				planEngineForm(
					{
						fields: [field("u", { kind: "union", mode: "sparse", typeIds }, { children: members })],
						metadata: new Map(),
					},
					plainCodecs,
				);
		};
		expect(plan(["a", "A"])).toThrow(expect.objectContaining({ code: "duplicate_column" }));
		expect(plan(["a", ""])).toThrow(expect.objectContaining({ code: "unsupported_type" }));
		expect(plan([])).toThrow(expect.objectContaining({ code: "unsupported_type" }));
	});
});

describe("lists", () => {
	const item = field("item", int(32));

	it.each(["list_view", "large_list_view"] as const)(
		"that are %s arrive with the nulls inside them",
		async (kind) => {
			const of = field("v", { kind }, { children: [item] });
			expect(
				await landedValues(
					of,
					rowsOf((i) => [i, null, i % 2]),
				),
			).toMatchObject({
				type: "INTEGER[]",
				rows: printed((i) => `[${i}, NULL, ${i % 2}]`),
			});
		},
	);

	it("as views may be out of order and overlap", async () => {
		const of = field("v", { kind: "list_view" }, { children: [item] });
		const array = arrayOf(of, [[1, 2], [3], [4], null]);
		array.buffers[1] = ints(4, [2, 0, 1, 50]);
		array.buffers[2] = ints(4, [2, 3, 2, 70]);
		expect((await landed(of, array)).rows).toEqual(["[3, 4]", "[1, 2, 3]", "[2, 3]", null]);
	});

	it("with elements under nulls arrive, whatever those elements hold", async () => {
		const of = field("l", { kind: "list" }, { children: [field("item", { kind: "utf8" })] });
		const array = arrayOf(of, [["a"], [Uint8Array.of(0xff)], ["b", "c"], []]);
		array.buffers[0] = bitmap([true, false, true, true]);
		array.nullCount = 1;
		expect((await landed(of, array)).rows).toEqual(["[a]", null, "[b, c]", "[]"]);
	});

	it("that begin in the middle of their elements arrive", async () => {
		const of = field("l", { kind: "large_list" }, { children: [field("item", { kind: "bool" })] });
		const array = arrayOf(
			of,
			rowsOf((i) => [i % 2 === 0, null, true]),
		);
		const sliced = {
			...array,
			length: many - 8,
			buffers: [array.buffers[0]!.subarray(1), array.buffers[1]!.subarray(64)],
		};
		expect((await landed(of, sliced)).rows).toEqual(
			printed((i) => `[${i % 2 === 0}, NULL, true]`).slice(8),
		);
	});

	it("of fixed size 0, and over 100,000, become lists", async () => {
		const none = field("v", { kind: "fixed_size_list", size: 0 }, { children: [item] });
		expect(await landedValues(none, [[], null, []])).toMatchObject({
			type: "INTEGER[]",
			rows: ["[]", null, "[]"],
		});
		const wide = field(
			"v",
			{ kind: "fixed_size_list", size: 100_001 },
			{ children: [field("item", int(8))] },
		);
		const { type, rows } = await landedValues(wide, [Array(100_001).fill(1), null]);
		expect(type).toBe("TINYINT[]");
		expect(rows[0]).toHaveLength(300_003);
		expect(rows[1]).toBeNull();
	});

	it("of fixed size arrive with nulls at every level", async () => {
		const inner = field(
			"item",
			{ kind: "fixed_size_list", size: 2 },
			{ children: [field("item", { kind: "utf8" })] },
		);
		const of = field("v", { kind: "fixed_size_list", size: 2 }, { children: [inner] });
		expect(
			await landedValues(
				of,
				rowsOf((i) => [[`a${i}`, null], i % 2 ? null : ["x", "y"]]),
			),
		).toMatchObject({
			type: "VARCHAR[2][2]",
			rows: printed((i) => `[[a${i}, NULL], ${i % 2 ? "NULL" : "[x, y]"}]`),
		});
	});

	it("as maps arrive with nulls", async () => {
		const entries = field(
			"entries",
			{ kind: "struct" },
			{
				nullable: false,
				children: [
					field("key", { kind: "utf8" }, { nullable: false }),
					field("value", { kind: "float", bits: 16 }),
				],
			},
		);
		const of = field("m", { kind: "map", keysSorted: false }, { children: [entries] });
		expect(
			await landedValues(
				of,
				rowsOf((i) => [
					["k", 0x3c00],
					[`k${i}`, null],
				]),
			),
		).toMatchObject({
			type: "MAP(VARCHAR, FLOAT)",
			rows: printed((i) => `{k=1.0, k${i}=NULL}`),
		});
	});
});

describe("structs", () => {
	it("with nulls of their own are null, and so are their members", async () => {
		const of = field(
			"s",
			{ kind: "struct" },
			{
				children: [
					field("n", int(32)),
					field(
						"t",
						{ kind: "struct" },
						{
							children: [
								field("u", { kind: "utf8" }),
								field("d", { kind: "duration", unit: "ms" }),
							],
						},
					),
				],
			},
		);
		const array = arrayOf(
			of,
			Array.from({ length: many }, (_, i) => ({ n: i, t: { u: `u${i}`, d: 1n } })),
		);
		array.children[1]!.children[0] = arrayOf(
			field("u", { kind: "utf8" }),
			Array.from({ length: many }, (_, i) => (nullAt(i) ? Uint8Array.of(0xff) : `u${i}`)),
		);
		array.children[1]!.children[1] = arrayOf(
			field("d", int(64)),
			Array.from({ length: many }, (_, i) => (nullAt(i) ? 2n ** 62n : 1n)),
		);
		array.buffers[0] = bitmap(Array.from({ length: many }, (_, i) => !nullAt(i)));
		array.nullCount = Array.from({ length: many }, (_, i) => nullAt(i)).filter(Boolean).length;
		expect((await landed(of, array)).rows).toEqual(
			printed((i) => `{'n': ${i}, 't': {'u': u${i}, 'd': '00:00:00.001'}}`),
		);
	});

	it("without members, or with members of one name, are refused", () => {
		const plan =
			(...names: string[]) =>
			() =>
				planEngineForm(
					{
						fields: [
							field(
								"s",
								{ kind: "struct" },
								{ children: names.map((name) => field(name, int(8))) },
							),
						],
						metadata: new Map(),
					},
					plainCodecs,
				);
		expect(plan()).toThrow(
			expect.objectContaining({
				code: "unsupported_type",
				place: expect.objectContaining({ column: "s" }),
			}),
		);
		expect(plan("b", "B")).toThrow(
			expect.objectContaining({
				code: "duplicate_column",
				place: expect.objectContaining({ column: "s.B" }),
			}),
		);
		expect(plan("a\0b")).toThrow(expect.objectContaining({ code: "invalid_arrow" }));
	});
});

describe("run ends", () => {
	const encoded = (bits: 16 | 32 | 64, values: Field) =>
		field(
			"r",
			{ kind: "run_end_encoded" },
			{ children: [field("run_ends", int(bits), { nullable: false }), values] },
		);

	it.each([16, 32, 64] as const)("of %i bits arrive, with nulls", async (bits) => {
		const of = encoded(bits, field("values", { kind: "utf8" }));
		const value = (i: number) =>
			Math.floor(i / 10) % 3 === 0 ? null : `the value of run ${Math.floor(i / 10)}`;
		expect(
			await landedValues(
				of,
				Array.from({ length: many }, (_, i) => value(i)),
			),
		).toMatchObject({
			type: "VARCHAR",
			rows: Array.from({ length: many }, (_, i) => value(i)),
		});
	});

	it("inside lists and structs arrive", async () => {
		const run = { ...encoded(32, field("values", int(64))), name: "item" };
		const list = field("l", { kind: "list" }, { children: [run] });
		expect(
			(
				await landedValues(
					list,
					rowsOf((i) => [BigInt(i >> 4), BigInt(i >> 4)]),
				)
			).rows,
		).toEqual(printed((i) => `[${i >> 4}, ${i >> 4}]`));
		const struct = field("s", { kind: "struct" }, { children: [run] });
		expect(
			(
				await landedValues(
					struct,
					rowsOf((i) => ({ item: BigInt(i >> 4) })),
				)
			).rows,
		).toEqual(printed((i) => `{'item': ${i >> 4}}`));
	});

	it("that stand for more rows than the limit are refused without memory for them", () => {
		const of = encoded(64, field("values", int(8)));
		const array = arrayOf(of, [1]);
		array.children[0] = arrayOf(of.children[0]!, [2n ** 40n]);
		array.length = 2 ** 31 - 1;
		const form = planEngineForm({ fields: [of], metadata: new Map() }, plainCodecs, 1_000_000);
		expect(() => form.convert({ length: array.length, columns: [array], index: 0 })).toThrow(
			expect.objectContaining({ code: "too_large" }),
		);
	});
});

describe("intervals", () => {
	it("of days and milliseconds arrive, at the ends of their range too", async () => {
		const of = field("i", { kind: "interval", unit: "day_time" });
		const dayTime = (days: number, ms: number) =>
			(BigInt.asUintN(32, BigInt(ms)) << 32n) | BigInt.asUintN(32, BigInt(days));
		expect(
			await landedValues(of, [dayTime(1, 2), dayTime(-2_147_483_648, 2_147_483_647), null]),
		).toMatchObject({
			type: "INTERVAL",
			rows: ["1 day 00:00:00.002", "-2147483648 days 596:31:23.647", null],
		});
	});

	it("under nulls may hold what would overflow", async () => {
		const of = field("i", { kind: "duration", unit: "s" });
		const array = arrayOf(of, [1n, 2n ** 63n - 1n]);
		expect(
			(
				await landed(of, {
					...array,
					nullCount: 1,
					buffers: [bitmap([true, false]), array.buffers[1]!],
				})
			).rows,
		).toEqual(["00:00:01", null]);
	});

	it("in nanoseconds are named in a warning when digits are lost, and only then", async () => {
		const duration = field("d", { kind: "duration", unit: "ns" });
		expect((await landedValues(duration, [1_000n, -5_000_000_000_000n, null])).warnings).toEqual(
			[],
		);
		expect(await landedValues(duration, [1_001n])).toMatchObject({
			rows: ["00:00:00.000001"],
			warnings: [{ code: "lossy_cast", column: "d" }],
		});
		const interval = field("i", { kind: "interval", unit: "month_day_nano" });
		const value = (months: bigint, days: bigint, nanos: bigint) =>
			(nanos << 64n) | (days << 32n) | months;
		expect(
			(
				await landedValues(interval, [
					value(1n, 2n, 3_000n),
					value(0n, 0n, 2n ** 62n - (2n ** 62n % 1000n)),
				])
			).warnings,
		).toEqual([]);
		expect((await landedValues(interval, [value(1n, 2n, 3_001n)])).warnings).toMatchObject([
			{ code: "lossy_cast", column: "i" },
		]);
	});

	it("timestamp[ns, tz] says that it loses nanoseconds, at any depth", async () => {
		const ts = field("ts", { kind: "timestamp", unit: "ns", zone: "UTC" });
		expect(await landedValues(ts, [1_999n])).toMatchObject({
			rows: ["1970-01-01 00:00:00.000001+00"],
			warnings: [{ code: "timestamp_ns_tz_truncated", column: "ts" }],
		});
		const nested = field(
			"s",
			{ kind: "struct" },
			{ children: [field("l", { kind: "list" }, { children: [ts] })] },
		);
		expect((await landedValues(nested, [null])).warnings).toMatchObject([{ column: "s.l[]" }]);
	});
});

describe("date64", () => {
	const of = field("d", { kind: "date", unit: "ms" });
	const day = 86_400_000n;

	it("lands as the day that the moment lies in, before 1970 too, and says once that the time is lost", async () => {
		const values = [
			0n,
			-day,
			day * 20_000n,
			-1n,
			day - 1n,
			-day - 1n,
			null,
			day * 2_147_483_646n,
			day * -2_147_483_646n,
		];
		expect(await landedValues(of, values)).toEqual({
			type: "DATE",
			rows: [
				"1970-01-01",
				"1969-12-31",
				"2024-10-04",
				"1969-12-31",
				"1970-01-01",
				"1969-12-30",
				null,
				"5881580-07-10",
				"5877642-06-25 (BC)",
			],
			warnings: [
				{
					code: "lossy_cast",
					column: "d",
					detail: expect.stringContaining("date64[ms] becomes DATE"),
				},
			],
		});
	});

	it("of whole days has no warning", async () => {
		expect((await landedValues(of, [0n, -day, day * 2_147_483_646n])).warnings).toEqual([]);
	});
});

describe("columns that promise no nulls", () => {
	const planOf = (of: Field) => {
		const form = planEngineForm({ fields: [of], metadata: new Map() }, plainCodecs);
		let index = 0;
		return (values: readonly unknown[], sent: ArrayData = arrayOf(of, values)) =>
			form.convert({ length: sent.length, columns: [sent], index: index++ });
	};

	it("become nullable when their first rows break it, and are refused later with the row", () => {
		const promised = field("a", int(8), { nullable: false });
		const convert = planOf(promised);
		convert([]);
		convert([1, null]);
		expect(promised.nullable).toBe(true);
		const kept = field("a", int(8), { nullable: false });
		const later = planOf(kept);
		later([1, 2]);
		expect(() => later([1, 2, null])).toThrow(
			expect.objectContaining({
				code: "invalid_arrow",
				place: { column: "a", batch: 1, row: 2, arrow_type: "int8" },
			}),
		);
		expect(kept.nullable).toBe(false);
	});

	it("are looked through where nulls are in dictionaries, runs and members of unions", () => {
		const dictionary = field(
			"d",
			{ kind: "utf8" },
			{ nullable: false, dictionary: { id: 0n, indexType: int(8), ordered: false } },
		);
		const encoded = arrayOf(dictionary, ["a", "b"]);
		encoded.dictionary = arrayOf({ ...dictionary, dictionary: null }, ["a", null]);
		const runs = field(
			"r",
			{ kind: "run_end_encoded" },
			{ nullable: false, children: [field("run_ends", int(16)), field("values", int(8))] },
		);
		const union = field(
			"u",
			{ kind: "union", mode: "dense", typeIds: [0] },
			{ nullable: false, children: [field("n", int(8))] },
		);
		for (const [of, good, bad] of [
			[dictionary, arrayOf(dictionary, ["a", "a"]), encoded],
			[runs, arrayOf(runs, [1, 1]), arrayOf(runs, [1, null])],
			[
				union,
				arrayOf(union, [{ member: 0, value: 1 }]),
				arrayOf(union, [
					{ member: 0, value: 1 },
					{ member: 0, value: null },
				]),
			],
		] as const) {
			const convert = planOf(of);
			convert([], good);
			expect(() => convert([], bad)).toThrow(
				expect.objectContaining({ place: expect.objectContaining({ row: 1, batch: 1 }) }),
			);
		}
	});
});

describe("null types", () => {
	it("inside lists, structs, maps and unions arrive", async () => {
		const nothing = field("nothing", { kind: "null" });
		const list = field("l", { kind: "list" }, { children: [nothing] });
		expect(
			(
				await landedValues(
					list,
					rowsOf((i) => Array(i % 3).fill(null)),
				)
			).rows,
		).toEqual(
			printed(
				(i) =>
					`[${Array(i % 3)
						.fill("NULL")
						.join(", ")}]`,
			),
		);
		const struct = field("s", { kind: "struct" }, { children: [nothing, field("n", int(8))] });
		expect(
			(
				await landedValues(
					struct,
					rowsOf(() => ({ n: 1 })),
				)
			).rows,
		).toEqual(printed(() => "{'nothing': NULL, 'n': 1}"));
		const union = field(
			"u",
			{ kind: "union", mode: "dense", typeIds: [0, 1] },
			{ children: [nothing, field("n", int(8))] },
		);
		expect(
			(
				await landedValues(union, [
					{ member: 0, value: null },
					{ member: 1, value: 1 },
				])
			).rows,
		).toEqual([null, "1"]);
	});

	it("below fixed-size lists in lists are nulls beyond DuckDB's first vector, where its own scan makes zeros", async () => {
		const none = field("n", { kind: "null" });
		const two = (child: Field) =>
			field("item", { kind: "fixed_size_list", size: 2 }, { children: [child] });
		const struct = field("item", { kind: "struct" }, { children: [none] });
		for (const [element, value, type, text] of [
			[two(none), [null, null], "INTEGER[2][]", "[NULL, NULL]"],
			[
				two(struct),
				[{ n: null }, { n: null }],
				"STRUCT(n INTEGER)[2][]",
				"[{'n': NULL}, {'n': NULL}]",
			],
		] as const) {
			const of = field("v", { kind: "list" }, { children: [element] });
			const found = await landedValues(
				of,
				rowsOf((i) => Array(i % 5).fill(value)),
			);
			expect(found).toMatchObject({
				type,
				rows: printed(
					(i) =>
						`[${Array(i % 5)
							.fill(text)
							.join(", ")}]`,
				),
			});
		}
	});
});

describe("arrays without rows", () => {
	it("of every type arrive, their buffers absent", async () => {
		const n = field("n", int(8));
		const entries = field(
			"entries",
			{ kind: "struct" },
			{ nullable: false, children: [field("key", { kind: "utf8" }), n] },
		);
		const fields = [
			field("a", { kind: "utf8" }),
			field("b", { kind: "large_binary" }),
			field(
				"c",
				{ kind: "list" },
				{ children: [field("x", { kind: "list_view" }, { children: [n] })] },
			),
			field("d", { kind: "map", keysSorted: false }, { children: [entries] }),
			field("e", { kind: "union", mode: "dense", typeIds: [0] }, { children: [n] }),
			field("f", { kind: "run_end_encoded" }, { children: [field("run_ends", int(16)), n] }),
			field("g", { kind: "utf8" }, { dictionary: { id: 0n, indexType: int(8), ordered: false } }),
			field("h", { kind: "fixed_size_list", size: 3 }, { children: [n] }),
			field("i", { kind: "utf8_view" }),
			field("j", { kind: "float", bits: 16 }),
			field("k", { kind: "decimal", bits: 256, precision: 50, scale: 5 }),
		];
		const strip = (array: ArrayData): ArrayData => ({
			...array,
			buffers: array.buffers.map(() => null),
			children: array.children.map(strip),
			dictionary: array.dictionary && strip(array.dictionary),
		});
		const schema = { fields, metadata: new Map() };
		const columns = fields.map((of) => strip(arrayOf(of, [])));
		const raw = { length: 0, columns, index: 0 };
		createBatchChecker(schema, defaultLimits, plainCodecs)(raw);
		const form = planEngineForm(schema, plainCodecs);
		expect((await throughDuckDB(form.fields, [form.convert(raw)])).rows).toEqual([]);
	});
});
