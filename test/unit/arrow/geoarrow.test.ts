import { describe, expect, it } from "vitest";
import { createValueCursor } from "../../../src/arrow/check/value-cursor.ts";
import { geoPlan } from "../../../src/arrow/geoarrow.ts";
import type { Field } from "../../../src/arrow/types.ts";
import {
	allocateOnly,
	makeArray,
	makeField,
	place,
	readBinary,
	wktOf,
} from "./support/geo-arrays.ts";

const double = makeField({ kind: "float", bits: 64 }, [], "x");
const named = (field: Field, name: string): Field => ({ ...field, name });
const separated = (names: string) =>
	makeField(
		{ kind: "struct" },
		[...names].map((name) => named(double, name)),
	);
const interleaved = (names: string) =>
	makeField({ kind: "fixed_size_list", size: names.length }, [named(double, names)]);
const listOf = (child: Field, kind: "list" | "large_list" = "list") => makeField({ kind }, [child]);
const asExtension = (field: Field, name: string, metadata?: string | Uint8Array) =>
	makeField(field.type, field.children, "g", name, metadata);

const textOf = (field: Field, values: unknown[]) => {
	const plan = geoPlan(field, allocateOnly)!;
	const array = plan.convert(makeArray(field, values), place);
	expect(array.nullCount).toBe(values.filter((value) => value === null).length);
	return readBinary(array, "large_binary").map((wkb) => wkb && wktOf(wkb));
};

const lines = [
	[
		[1, 2],
		[3, 4],
		[5, 6],
		[7, 8],
		[9, 10],
		[11, 12],
	],
	null,
	[],
	[[5, 6]],
];
const lineTexts = [
	"LINESTRING (1 2, 3 4, 5 6, 7 8, 9 10, 11 12)",
	null,
	"LINESTRING EMPTY",
	"LINESTRING (5 6)",
];
const square = [
	[0, 0],
	[2, 0],
	[2, 2],
	[0, 0],
];
const hole = [
	[1, 0.5],
	[1.5, 0.5],
	[1.5, 1],
	[1, 0.5],
];
const squareText = "(0 0, 2 0, 2 2, 0 0)";
const holeText = "(1 0.5, 1.5 0.5, 1.5 1, 1 0.5)";

describe("native encodings", () => {
	it.each([
		["separated", separated("xy"), "list" as const],
		["interleaved", interleaved("xy"), "list" as const],
		["of large lists", separated("xy"), "large_list" as const],
	])("%s become WKB, with nulls and empties", (_, coordinate, list) => {
		expect(textOf(asExtension(coordinate, "geoarrow.point"), [[30, 10], null, [NaN, NaN]])).toEqual(
			["POINT (30 10)", null, "POINT EMPTY"],
		);
		const line = listOf(coordinate, list);
		expect(textOf(asExtension(line, "geoarrow.linestring"), lines)).toEqual(lineTexts);
		expect(
			textOf(asExtension(line, "geoarrow.multipoint"), [
				[
					[1, 2],
					[3, 4],
				],
				null,
				[],
			]),
		).toEqual(["MULTIPOINT (1 2, 3 4)", null, "MULTIPOINT EMPTY"]);
		const polygon = listOf(line, list);
		expect(
			textOf(asExtension(polygon, "geoarrow.polygon"), [[square, hole], null, [], [[]]]),
		).toEqual([`POLYGON (${squareText}, ${holeText})`, null, "POLYGON EMPTY", "POLYGON (EMPTY)"]);
		expect(
			textOf(asExtension(polygon, "geoarrow.multilinestring"), [[square, []], null, []]),
		).toEqual([`MULTILINESTRING (${squareText}, EMPTY)`, null, "MULTILINESTRING EMPTY"]);
		const multi = asExtension(listOf(polygon, list), "geoarrow.multipolygon");
		expect(textOf(multi, [[[square, hole], [square]], null, [], [[]]])).toEqual([
			`MULTIPOLYGON ((${squareText}, ${holeText}), (${squareText}))`,
			null,
			"MULTIPOLYGON EMPTY",
			"MULTIPOLYGON (EMPTY)",
		]);
	});

	it.each([
		["xyz", "POINT Z (1 2 3)"],
		["xym", "POINT M (1 2 3)"],
		["xyzm", "POINT ZM (1 2 3 4)"],
	])("%s keep their dimensions", (names, text) => {
		const values = [[1, 2, 3, 4].slice(0, names.length)];
		expect(textOf(asExtension(separated(names), "geoarrow.point"), values)).toEqual([text]);
		expect(textOf(asExtension(interleaved(names), "geoarrow.point"), values)).toEqual([text]);
	});

	it("three interleaved numbers without a name are XYZ", () => {
		const field = makeField({ kind: "fixed_size_list", size: 3 }, [named(double, "item")]);
		expect(textOf(asExtension(field, "geoarrow.point"), [[1, 2, 3]])).toEqual(["POINT Z (1 2 3)"]);
	});

	it("float32 coordinates widen", () => {
		const single = makeField({ kind: "float", bits: 32 }, [], "xy");
		const field = makeField({ kind: "fixed_size_list", size: 2 }, [single]);
		expect(textOf(asExtension(field, "geoarrow.point"), [[0.5, 2]])).toEqual(["POINT (0.5 2)"]);
	});

	it("a null inside a geometry is refused with its row", () => {
		const line = asExtension(listOf(separated("xy")), "geoarrow.linestring");
		const plan = geoPlan(line, allocateOnly)!;
		for (const values of [
			[[[1, 2]], [[1, 2], null]],
			[
				[[1, 2]],
				[
					[1, 2],
					[3, null],
				],
			],
		]) {
			expect(() => plan.convert(makeArray(line, values), place)).toThrow(
				expect.objectContaining({
					code: "invalid_arrow",
					place: expect.objectContaining({ row: 1, column: "g" }),
					message: expect.stringContaining("part 1 of the geometry is null"),
				}),
			);
		}
		const polygon = asExtension(listOf(listOf(interleaved("xy"))), "geoarrow.polygon");
		const rings = makeArray(polygon, [[null]]);
		expect(() => geoPlan(polygon, allocateOnly)!.convert(rings, place)).toThrow("part 0");
	});

	it("boxes become polygons, wrapped ones two, empty ones empty", () => {
		const bounds = ["xmin", "ymin", "xmax", "ymax"].map((name) => named(double, name));
		const box = makeField({ kind: "struct" }, bounds, "g", "geoarrow.box");
		const values = [
			[1, 2, 3, 4],
			null,
			[Infinity, Infinity, -Infinity, -Infinity],
			[170, 0, -170, 1],
		];
		expect(textOf(box, values)).toEqual([
			"POLYGON ((1 2, 3 2, 3 4, 1 4, 1 2))",
			null,
			"POLYGON EMPTY",
			"MULTIPOLYGON (((170 0, 180 0, 180 1, 170 1, 170 0)), ((-180 0, -170 0, -170 1, -180 1, -180 0)))",
		]);
		expect(() => textOf(box, [[1, 5, 3, 4]])).toThrow("ymin 5 is above ymax 4");
		expect(() => textOf(box, [[500, 1, 300, 4]])).toThrow("no degrees");
		const names = ["xmin", "ymin", "zmin", "xmax", "ymax", "zmax"];
		const solid = names.map((name) => named(double, name));
		const plan = geoPlan(makeField({ kind: "struct" }, solid, "g", "geoarrow.box"), allocateOnly)!;
		expect(plan.warnings).toEqual([expect.objectContaining({ code: "lossy_cast", column: "g" })]);
	});

	it("a union of geometries becomes each of its kinds, a null in a child a null", () => {
		const union = makeField(
			{ kind: "union", mode: "dense", typeIds: [1, 2, 11, 23] },
			[
				separated("xy"),
				listOf(interleaved("xy")),
				interleaved("xyz"),
				listOf(listOf(makeField({ kind: "fixed_size_list", size: 3 }, [double]))),
			],
			"g",
			"geoarrow.geometry",
		);
		const plan = geoPlan(union, allocateOnly)!;
		const array = makeArray(union, [
			{ id: 1, value: [1, 2] },
			{
				id: 2,
				value: [
					[1, 2],
					[3, 4],
				],
			},
			{ id: 1, value: null },
			{ id: 11, value: [1, 2, 3] },
			{ id: 23, value: [[[1, 2, 3]]] },
			{ id: 1, value: [5, 6] },
		]);
		const converted = plan.convert(array, place);
		expect(converted.nullCount).toBe(1);
		expect(readBinary(converted, "large_binary").map((wkb) => wkb && wktOf(wkb))).toEqual([
			"POINT (1 2)",
			"LINESTRING (1 2, 3 4)",
			null,
			"POINT Z (1 2 3)",
			"POLYGON M ((1 2 3))",
			"POINT (5 6)",
		]);
	});

	it("a collection is a list of such unions", () => {
		const union = makeField({ kind: "union", mode: "dense", typeIds: [1, 2, 11] }, [
			separated("xy"),
			listOf(separated("xy")),
			separated("xyz"),
		]);
		const field = asExtension(listOf(union), "geoarrow.geometrycollection");
		const point = { id: 1, value: [1, 2] };
		const pointZ = { id: 11, value: [1, 2, 3] };
		expect(textOf(field, [[point, { id: 2, value: [[1, 2]] }], null, [], [pointZ]])).toEqual([
			"GEOMETRYCOLLECTION (POINT (1 2), LINESTRING (1 2))",
			null,
			"GEOMETRYCOLLECTION EMPTY",
			"GEOMETRYCOLLECTION Z (POINT Z (1 2 3))",
		]);
		expect(() => textOf(field, [[point, pointZ]])).toThrow("part 1 of an XY collection is XYZ");
		expect(() => textOf(field, [[{ id: 1, value: null }]])).toThrow(
			"part 0 of the geometry is null",
		);
	});
});

describe("serialized encodings", () => {
	const point = Uint8Array.from([1, 1, 0, 0, 0, ...new Uint8Array(16)]);
	const emptyLine = Uint8Array.from([1, 2, 0, 0, 0, 0, 0, 0, 0]);

	it.each(["binary", "large_binary", "binary_view"] as const)(
		"WKB of %s passes as it is",
		(kind) => {
			for (const name of ["geoarrow.wkb", "ogc.wkb", "WKB"]) {
				const field = makeField({ kind }, [], "g", name);
				const plan = geoPlan(field, allocateOnly)!;
				const array = makeArray(field, [point, null, emptyLine]);
				expect(plan.convert(array, place)).toBe(array);
				expect(plan.field.type).toEqual({ kind });
				const bad = makeArray(field, [point, emptyLine.slice(0, 8)]);
				expect(() => plan.convert(bad, place)).toThrow(
					expect.objectContaining({ place: expect.objectContaining({ row: 1 }) }),
				);
			}
		},
	);

	it.each(["binary", "large_binary", "binary_view"] as const)(
		"what stands under a null of %s is emptied, for DuckDB would parse it",
		(kind) => {
			const field = makeField({ kind }, [], "g", "geoarrow.wkb");
			const junk = new Uint8Array(20).fill(0xee);
			const array = makeArray(field, [point, junk, emptyLine, junk]);
			array.buffers[0] = Uint8Array.of(0b0101);
			array.nullCount = 2;
			const converted = geoPlan(field, allocateOnly)!.convert(array, place);
			expect(converted.nullCount).toBe(2);
			const cursor = createValueCursor({ kind }, converted);
			const found = [0, 1, 2, 3].map((row) => {
				cursor.seek(row);
				return [cursor.isNull(row), cursor.bytes.slice(cursor.start, cursor.end)];
			});
			const nothing = new Uint8Array(0);
			expect(found).toEqual([
				[false, point],
				[true, nothing],
				[false, emptyLine],
				[true, nothing],
			]);
		},
	);

	it.each(["utf8", "large_utf8", "utf8_view"] as const)("WKT of %s becomes WKB", (kind) => {
		const field = makeField({ kind }, [], "g", "geoarrow.wkt");
		const values = ["POINT (1 2)", null, "MULTILINESTRING EMPTY"];
		expect(textOf(field, values)).toEqual(values);
		expect(() => textOf(field, ["POINT (1 2)", null, "POINT"])).toThrow(
			expect.objectContaining({ place: expect.objectContaining({ row: 2 }) }),
		);
	});

	it("an SRID in the values is warned of once", () => {
		const field = makeField({ kind: "utf8" }, [], "g", "geoarrow.wkt");
		const plan = geoPlan(field, allocateOnly, "s.g")!;
		const texts = ["SRID=3857;POINT (1 2)", "SRID=3857;POINT (1 3)", "SRID=0;POINT (1 2)"];
		plan.convert(makeArray(field, texts), place);
		expect(plan.warnings).toEqual([
			{ code: "crs_dropped", column: "s.g", detail: expect.stringContaining("3857") },
		]);
	});
});

describe("a plan", () => {
	const engineMetadata = (field: Field) =>
		[...geoPlan(field, allocateOnly)!.field.metadata].map(([key, value]) => [
			key,
			new TextDecoder().decode(value),
		]);

	it("writes the CRS that DuckDB keeps and leaves other metadata alone", () => {
		const field = makeField({ kind: "binary" }, [], "g", "ogc.wkb", '{"crs":"OGC:CRS84","x":1}');
		(field.metadata as Map<string, Uint8Array>).set("k", new Uint8Array([0x76]));
		expect(engineMetadata(field)).toEqual([
			["k", "v"],
			["ARROW:extension:name", "geoarrow.wkb"],
			["ARROW:extension:metadata", '{"crs":"OGC:CRS84"}'],
		]);
		expect(geoPlan(field, allocateOnly)!.warnings).toEqual([]);
	});

	it("warns of a CRS and of edges that DuckDB doesn't keep", () => {
		const metadata = '{"crs":"EPSG:4326","edges":"spherical"}';
		const field = makeField({ kind: "binary" }, [], "g", "geoarrow.wkb", metadata);
		const details = geoPlan(field, allocateOnly)!.warnings.map(({ code, detail }) => [
			code,
			detail,
		]);
		expect(details).toEqual([
			["crs_dropped", expect.stringContaining("EPSG:4326")],
			["crs_dropped", expect.stringContaining("spherical")],
		]);
	});

	it("reads the binary metadata of older writers, also of children", () => {
		const entry = (text: string) => {
			const bytes = new TextEncoder().encode(text);
			return [bytes.length, 0, 0, 0, ...bytes];
		};
		const crs = Uint8Array.from([1, 0, 0, 0, ...entry("crs"), ...entry("EPSG:9999")]);
		const none = new Uint8Array(4);
		const inner = asExtension(interleaved("xy"), "geoarrow.point", crs);
		const field = asExtension(listOf(inner), "geoarrow.linestring", none);
		const plan = geoPlan(field, allocateOnly)!;
		expect(plan.warnings).toEqual([
			{ code: "crs_dropped", column: "g", detail: expect.stringContaining("EPSG:9999") },
		]);
		expect(plan.field.children).toEqual([]);
	});

	it("warns of metadata that nobody can read", () => {
		for (const junk of [
			"junk",
			"[1]",
			new Uint8Array([255, 0, 0, 0]),
			new Uint8Array([9, 0, 0, 0]),
		]) {
			const field = makeField({ kind: "binary" }, [], "g", "geoarrow.wkb", junk);
			expect(geoPlan(field, allocateOnly)!.warnings).toEqual([
				expect.objectContaining({ code: "crs_dropped" }),
			]);
			expect(engineMetadata(field)).toContainEqual(["ARROW:extension:metadata", "{}"]);
		}
	});

	it.each([
		["geoarrow.wkb", makeField({ kind: "utf8" })],
		["geoarrow.wkb", makeField({ kind: "fixed_size_binary", byteWidth: 21 })],
		["geoarrow.wkt", makeField({ kind: "binary" })],
		["geoarrow.point", makeField({ kind: "binary" })],
		["geoarrow.point", separated("xq")],
		["geoarrow.point", interleaved("xyzmn")],
		["geoarrow.linestring", interleaved("xy")],
		["geoarrow.polygon", listOf(interleaved("xy"))],
		["geoarrow.box", separated("xy")],
		[
			"geoarrow.geometry",
			makeField({ kind: "union", mode: "dense", typeIds: [8] }, [separated("xy")]),
		],
		["geoarrow.geometrycollection", listOf(separated("xy"))],
	])("%s on storage that isn't its own is refused", (name, storage) => {
		expect(() => geoPlan(asExtension(storage, name), allocateOnly, "t.g")).toThrow(
			expect.objectContaining({
				code: "invalid_arrow",
				place: expect.objectContaining({ column: "t.g" }),
			}),
		);
	});

	it("leaves fields that are no geometry alone", () => {
		expect(geoPlan(makeField({ kind: "binary" }), allocateOnly)).toBeNull();
		const other = makeField({ kind: "binary" }, [], "g", "geoarrow.raster");
		expect(geoPlan(other, allocateOnly)).toBeNull();
	});
});
