import { describe, expect, it } from "vitest";
import { createByteBuilder } from "../../../../src/arrow/geo/byte-builder.ts";
import { createWktReader } from "../../../../src/arrow/geo/wkt-to-wkb.ts";
import { wktOf } from "../support/geo-arrays.ts";

const toWkb = (text: string, srids: number[] = []) => {
	const out = createByteBuilder(0);
	const bytes = new TextEncoder().encode(`##${text}##`);
	createWktReader(out).convert(bytes, 2, bytes.length - 2, (srid) => srids.push(srid));
	return out.bytes();
};
const roundTrip = (text: string) => wktOf(toWkb(text));

describe("WKT", () => {
	it.each([
		"POINT (30 10)",
		"POINT Z (30 10 40)",
		"POINT M (30 10 300)",
		"POINT ZM (30 10 40 300)",
		"POINT EMPTY",
		"POINT ZM EMPTY",
		"LINESTRING (30 10, 10 30, 40 40)",
		"POLYGON ((35 10, 45 45, 15 40, 10 20, 35 10), (20 30, 35 35, 30 20, 20 30))",
		"POLYGON (EMPTY, (0 0, 1 0, 1 1, 0 0))",
		"MULTIPOINT (10 40, EMPTY, 20 20)",
		"MULTILINESTRING M ((1 2 3, 4 5 6), EMPTY)",
		"MULTIPOLYGON Z (((0 0 1, 1 0 1, 1 1 1, 0 0 1)), EMPTY)",
		"GEOMETRYCOLLECTION (POINT (1 2), GEOMETRYCOLLECTION (LINESTRING (1 2, 3 4)), POLYGON EMPTY)",
		"GEOMETRYCOLLECTION EMPTY",
	])("%s comes back as it went in", (text) => {
		expect(roundTrip(text)).toBe(text);
	});

	it.each([
		["point(1 2)", "POINT (1 2)"],
		["  PoInT\n( 1\t2 )  ", "POINT (1 2)"],
		["POINTZ(1 2 3)", "POINT Z (1 2 3)"],
		["POINT zm(1 2 3 4)", "POINT ZM (1 2 3 4)"],
		["POINT (1 2 3)", "POINT Z (1 2 3)"],
		["POINT (1 2 3 4)", "POINT ZM (1 2 3 4)"],
		["MULTIPOINT ((1 2), (3 4))", "MULTIPOINT (1 2, 3 4)"],
		["LINEARRING (0 0, 1 0, 0 0)", "LINESTRING (0 0, 1 0, 0 0)"],
		["GEOMETRYCOLLECTION (POINT Z (1 2 3))", "GEOMETRYCOLLECTION Z (POINT Z (1 2 3))"],
		["GEOMETRYCOLLECTION Z (POINT (1 2 3))", "GEOMETRYCOLLECTION Z (POINT Z (1 2 3))"],
		[
			"GEOMETRYCOLLECTION (POINT EMPTY, POINT M (1 2 3))",
			"GEOMETRYCOLLECTION M (POINT M EMPTY, POINT M (1 2 3))",
		],
		["POINT (nan NaN)", "POINT EMPTY"],
		["POINT (-inf +Infinity)", "POINT (-Infinity Infinity)"],
		["LINESTRING (nan nan 1, 1 2 3)", "LINESTRING Z (NaN NaN 1, 1 2 3)"],
		["SRID=4326;POINT (1 2)", "POINT (1 2)"],
	])("%j is read as %s", (text, expected) => {
		expect(roundTrip(text)).toBe(expected);
	});

	it("numbers are the nearest doubles, however they are written", () => {
		const numbers = [
			"0.1",
			"-0",
			"+.5",
			"5.",
			"1e5",
			"1E-7",
			"-73.98765432101234567",
			"123456789012345678901234567890",
			"9007199254740993",
			"0.000000000000000000000000000001",
			"1.7976931348623157e308",
			"4.9e-324",
			"1e999",
		];
		for (const number of numbers) {
			const wkb = toWkb(`POINT(${number} 0)`);
			const view = new DataView(wkb.buffer, wkb.byteOffset);
			expect(Object.is(view.getFloat64(5, true), Number(number)), number).toBe(true);
		}
	});

	it("tells the SRID of EWKT", () => {
		const srids: number[] = [];
		toWkb("srid=3857; POINT (1 2)", srids);
		expect(srids).toEqual([3857]);
	});

	it.each([
		["", "expected a type of geometry at byte 0"],
		["POINT", 'expected "(" at byte 5'],
		["POINT (1)", "1 numbers, where XY has 2, at byte 8"],
		["POINT (1 2) x", "more text after the geometry at byte 12"],
		["POINT (1,2)", "1 numbers"],
		["POINT (1 2", 'expected "," or ")"'],
		["POINT (0x10 2)", "at byte 8"],
		["POINT (1e 2)", "exponent at byte 9"],
		["LINESTRING (1 2, 3 4 5)", "after 2 numbers of XY"],
		["LINESTRING ((1 2, 3 4))", "expected a number at byte 12"],
		["POINT Z (1 2)", "2 numbers, where XYZ has 3"],
		["GEOMETRYCOLLECTION Z (POINT M (1 2 3))", "XYM inside XYZ"],
		["CIRCLE (1 2)", "unknown type CIRCLE at byte 0"],
		["POINT (1 2) POINT (1 2)", "more text"],
		["SRID=x;POINT (1 2)", "expected a number"],
		["AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA", "no type of geometry"],
		["POINT (é 1)", "expected a number at byte 7"],
	])("%j is refused: %s", (text, detail) => {
		expect(() => toWkb(text)).toThrow(
			expect.objectContaining({ code: "invalid_arrow", message: expect.stringContaining(detail) }),
		);
	});

	it("curves and too deep collections are types that GEOMETRY doesn't have", () => {
		expect(() => toWkb("CURVEPOLYGON Z EMPTY")).toThrow("no CURVEPOLYGON");
		expect(() => toWkb("TINZ EMPTY")).toThrow("no TIN");
		const nested = (levels: number) =>
			`${"GEOMETRYCOLLECTION (".repeat(levels)}POINT (1 2)${")".repeat(levels)}`;
		expect(roundTrip(nested(15))).toBe(nested(15));
		expect(() => toWkb(nested(16))).toThrow("nested deeper than 16");
	});
});
