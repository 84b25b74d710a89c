import { describe, expect, it } from "vitest";
import { checkWkb } from "../../../../src/arrow/geo/wkb-check.ts";

const check = (bytes: Uint8Array, srids: number[] = []) => {
	// A frame of other bytes around the value, as in a data buffer.
	const framed = new Uint8Array(bytes.length + 10).fill(0xee);
	framed.set(bytes, 5);
	checkWkb(new DataView(framed.buffer), 5, 5 + bytes.length, (srid) => srids.push(srid));
	return srids;
};

/** Bytes of numbers: `u8`, `u32`, `f64` by name, in the byte order given. */
function pack(little: boolean, ...parts: (number | [number] | Uint8Array)[]): Uint8Array {
	const chunks = parts.map((part) => {
		if (part instanceof Uint8Array) return part;
		const bytes = new Uint8Array(typeof part === "number" ? 4 : 8);
		const view = new DataView(bytes.buffer);
		if (typeof part === "number") view.setUint32(0, part, little);
		else view.setFloat64(0, part[0], little);
		return bytes;
	});
	const order = new Uint8Array([little ? 1 : 0]);
	return Uint8Array.from([order, ...chunks].flatMap((chunk) => [...chunk]));
}

const point = pack(true, 1, [1], [2]);
const pointZ = pack(true, 1001, [1], [2], [3]);
const nested = (levels: number): Uint8Array =>
	levels === 0 ? point : pack(true, 7, 1, nested(levels - 1));

describe("WKB", () => {
	it.each([
		["a point", point],
		["a big-endian point", pack(false, 1, [1], [2])],
		["a point of four dimensions", pack(true, 3001, [1], [2], [3], [4])],
		["an EWKB point with Z and M", pack(true, 0xc0000001, [1], [2], [3], [4])],
		["an empty line", pack(true, 2, 0)],
		["a polygon with an empty ring", pack(true, 3, 1, 0)],
		["a multipoint with a big-endian point inside", pack(true, 4, 1, pack(false, 1, [1], [2]))],
		["15 collections around a point", nested(15)],
	])("%s is right", (_, bytes) => {
		expect(() => check(bytes)).not.toThrow();
	});

	it.each([
		["nothing", new Uint8Array(0), "0 bytes at byte 0"],
		["a third byte order", Uint8Array.from([2, ...point.slice(1)]), "byte order 2 at byte 0"],
		["type 0", pack(true, 0), "unknown geometry type 0"],
		["dimensions that no number means", pack(true, 4001, [1], [2]), "type 4001"],
		["an unknown bit of the type", pack(true, 0x10000001, [1], [2]), "type 268435457"],
		["a point cut short", point.slice(0, 20), "1 coordinates of 16 bytes"],
		["bytes after the geometry", Uint8Array.from([...point, 0]), "1 bytes before its value does"],
		["a count that the bytes can't hold", pack(true, 2, 0xffffffff, [1], [2]), "4294967295"],
		["a cut inside a count", pack(true, 2).slice(0, 5), "inside the count at byte 5"],
		["a cut inside an SRID", pack(true, 0x20000001), "inside the SRID at byte 5"],
		["a line in a multipoint", pack(true, 4, 1, pack(true, 2, 0)), "LINESTRING at byte 9"],
		["Z inside XY", pack(true, 7, 1, pointZ), "XYZ inside XY"],
		["XY inside Z", pack(true, 1007, 1, point), "XY inside XYZ"],
	])("%s is refused with its byte", (_, bytes, detail) => {
		expect(() => check(bytes)).toThrow(
			expect.objectContaining({ code: "invalid_arrow", message: expect.stringContaining(detail) }),
		);
	});

	it.each([
		["a curve", pack(true, 8, 0), "CIRCULARSTRING"],
		["a triangle with Z", pack(true, 1017, 0), "TRIANGLE"],
		["16 collections around a point", nested(16), "deeper than 16"],
	])("%s is a type that GEOMETRY doesn't have", (_, bytes, detail) => {
		expect(() => check(bytes)).toThrow(
			expect.objectContaining({
				code: "unsupported_type",
				message: expect.stringContaining(detail),
			}),
		);
	});

	it("tells the SRIDs of EWKB, also of inner geometries", () => {
		const inner = pack(true, 0x20000001, 4326, [1], [2]);
		expect(check(pack(false, 0x20000007, 3857, 1, inner))).toEqual([3857, 4326]);
	});

	it("100,000 nested collections are refused without using up the stack", () => {
		const header = pack(true, 7, 1);
		const bytes = new Uint8Array(100_000 * header.length);
		for (let at = 0; at < bytes.length; at += header.length) bytes.set(header, at);
		expect(() => check(bytes)).toThrow("nested deeper");
	});
});
