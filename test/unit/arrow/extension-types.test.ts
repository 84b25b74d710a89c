import { describe, expect, it } from "vitest";
import type { Place } from "../../../src/arrow/check/check-place.ts";
import {
	checkExtensionStorage,
	engineExtension,
	extensionCheck,
} from "../../../src/arrow/extension-types.ts";
import type { ArrowType, Field } from "../../../src/arrow/types.ts";
import { makeArray, makeField } from "./support/geo-arrays.ts";

const place: Place = { column: "t.x", arrowType: "x", batch: 3, rowOf: (index) => index + 100 };
const duckdb = (type_name: string) => JSON.stringify({ type_name, vendor_name: "DuckDB" });
const fixed = (byteWidth: number): ArrowType => ({ kind: "fixed_size_binary", byteWidth });
const int = (bits: 8 | 16, signed: boolean): ArrowType => ({ kind: "int", bits, signed });
const metadataOf = (field: Field) =>
	Object.fromEntries(
		[...field.metadata].map(([key, value]) => [key, new TextDecoder().decode(value)]),
	);

describe("storage of an extension", () => {
	it.each<[string, string, ArrowType]>([
		["arrow.uuid", "", fixed(16)],
		["arrow.bool8", "", int(8, true)],
		["arrow.json", "", { kind: "utf8" }],
		["arrow.json", "", { kind: "large_utf8" }],
		["arrow.json", "", { kind: "utf8_view" }],
		["arrow.opaque", duckdb("hugeint"), fixed(16)],
		["arrow.opaque", duckdb("uhugeint"), fixed(16)],
		["arrow.opaque", duckdb("time_tz"), fixed(8)],
		["arrow.opaque", duckdb("bit"), { kind: "binary_view" }],
		["arrow.opaque", duckdb("bignum"), { kind: "large_binary" }],
	])("%s %s on its own storage passes with its name", (name, metadata, type) => {
		const field = makeField(type, [], "x", name, metadata);
		expect(() => checkExtensionStorage(field)).not.toThrow();
		expect(metadataOf(engineExtension(field))).toEqual({
			"ARROW:extension:name": name,
			"ARROW:extension:metadata": metadata,
		});
	});

	it.each<[string, string, ArrowType]>([
		["arrow.uuid", "", fixed(8)],
		["arrow.uuid", "", { kind: "utf8" }],
		["arrow.bool8", "", int(16, true)],
		["arrow.bool8", "", int(8, false)],
		["arrow.bool8", "", { kind: "bool" }],
		["arrow.json", "", { kind: "binary" }],
		["arrow.opaque", duckdb("hugeint"), { kind: "binary" }],
		["arrow.opaque", duckdb("hugeint"), fixed(8)],
		["arrow.opaque", duckdb("uhugeint"), fixed(17)],
		["arrow.opaque", duckdb("time_tz"), fixed(16)],
		["arrow.opaque", duckdb("bit"), { kind: "utf8" }],
		["arrow.opaque", duckdb("bignum"), fixed(4)],
	])("%s %s on %o is refused with its column", (name, metadata, type) => {
		const field = makeField(type, [], "x", name, metadata);
		expect(() => checkExtensionStorage(field, "t.x")).toThrow(
			expect.objectContaining({
				code: "invalid_arrow",
				place: expect.objectContaining({ column: "t.x" }),
				message: expect.stringContaining(name),
			}),
		);
	});

	it("is that of the values where they are run-end encoded", () => {
		const ends = makeField({ kind: "int", bits: 32, signed: true }, [], "run_ends");
		const runs = (values: ArrowType) =>
			makeField({ kind: "run_end_encoded" }, [ends, makeField(values)], "x", "arrow.uuid");
		expect(() => checkExtensionStorage(runs(fixed(16)))).not.toThrow();
		expect(() => checkExtensionStorage(runs(fixed(4)))).toThrow("expected fixed_size_binary[16]");
	});

	it.each([
		["arrow.UUID", ""],
		["toString", ""],
		["arrow.opaque", "junk"],
		["arrow.opaque", "null"],
		["arrow.opaque", duckdb("toString")],
		["arrow.opaque", '{"type_name":"hugeint","vendor_name":"Other"}'],
		["arrow.fixed_shape_tensor", "{}"],
		["com.example", "\u0000\u0001"],
	])("%s %s is not one of DuckDB's: the name goes, other metadata stays", (name, metadata) => {
		const field = makeField(fixed(3), [], "x", name, metadata);
		(field.metadata as Map<string, Uint8Array>).set("unit", new TextEncoder().encode("m"));
		expect(() => checkExtensionStorage(field)).not.toThrow();
		expect(extensionCheck(field)).toBeNull();
		expect(metadataOf(engineExtension(field))).toEqual({ unit: "m" });
	});

	it("a name that is no UTF-8 goes too", () => {
		const field = makeField(fixed(16));
		(field.metadata as Map<string, Uint8Array>).set("ARROW:extension:name", new Uint8Array([0xff]));
		expect(metadataOf(engineExtension(field))).toEqual({});
	});

	it("metadata is written anew, so that the engine parses what was understood", () => {
		const odd =
			'{"type_name":"bit","vendor_name":"x","vendor_name":"DuckDB","type_name":"hugeint"}';
		const field = makeField(fixed(16), [], "x", "arrow.opaque", odd);
		expect(metadataOf(engineExtension(field))["ARROW:extension:metadata"]).toBe(duckdb("hugeint"));
		const old = makeField({ kind: "binary" }, [], "x", "arrow.opaque", duckdb("varint"));
		expect(metadataOf(engineExtension(old))["ARROW:extension:metadata"]).toBe(duckdb("bignum"));
	});
});

describe("values of an extension", () => {
	const bytes = (...numbers: number[]) => Uint8Array.from(numbers);
	const timeTz = (micros: bigint, offset: bigint) => {
		const value = new Uint8Array(8);
		new DataView(value.buffer).setBigUint64(0, (micros << 24n) | (57_599n - offset), true);
		return value;
	};
	const binary = { kind: "binary" } as const;

	it.each<[string, string, ArrowType, unknown[]]>([
		["arrow.json", "", { kind: "utf8" }, ['{"a":1}', null, "[]", "1e999"]],
		["arrow.json", "", { kind: "utf8_view" }, ["1", '{"a":"a long enough value"}']],
		["arrow.opaque", duckdb("bit"), binary, [bytes(0, 5), null, bytes(5, 0xfd), bytes(7, 0xfe, 0)]],
		["arrow.opaque", duckdb("bignum"), binary, [bytes(0x80, 0, 1, 0), bytes(0x7f, 255, 254, 0xfa)]],
	])("%s %s of the right form pass", (name, metadata, type, values) => {
		const field = makeField(type, [], "x", name, metadata);
		expect(() => extensionCheck(field)!(makeArray(field, values), place)).not.toThrow();
	});

	it.each<[string, string, ArrowType, unknown, string]>([
		["arrow.json", "", { kind: "utf8" }, '{"a"', "not valid JSON at byte 4 of 4"],
		["arrow.json", "", { kind: "large_utf8" }, "", "not valid JSON at byte 0 of 0"],
		["arrow.json", "", { kind: "utf8_view" }, "[1,2,3,4,5,6,7,8,9,", "at byte 19 of 19"],
		["arrow.opaque", duckdb("bit"), binary, bytes(), "0 bytes"],
		["arrow.opaque", duckdb("bit"), binary, bytes(5), "1 bytes"],
		["arrow.opaque", duckdb("bit"), binary, bytes(8, 255), "8 bits of padding"],
		["arrow.opaque", duckdb("bit"), binary, bytes(5, 5), "padding is not set"],
		["arrow.opaque", duckdb("bignum"), binary, bytes(0x80, 0, 0), "3 bytes"],
		["arrow.opaque", duckdb("bignum"), binary, bytes(0x80, 0, 5, 1), "declares 5 bytes and has 1"],
		["arrow.opaque", duckdb("bignum"), binary, bytes(0x80, 0, 2, 0, 1), "leading zero"],
		["arrow.opaque", duckdb("bignum"), binary, bytes(0x7f, 255, 254, 255), "negative zero"],
	])("%s %s: a bad value is refused with its row", (name, metadata, type, value, detail) => {
		const field = makeField(type, [], "x", name, metadata);
		const check = extensionCheck(field)!;
		expect(() => check(makeArray(field, [null, value]), place)).toThrow(
			expect.objectContaining({
				code: "invalid_arrow",
				place: expect.objectContaining({ column: "t.x", batch: 3, row: 101 }),
				message: expect.stringContaining(detail),
			}),
		);
	});

	it("times with zone are within a day and 15:59:59 of UTC", () => {
		const field = makeField(fixed(8), [], "x", "arrow.opaque", duckdb("time_tz"));
		const check = (value: Uint8Array) =>
			extensionCheck(field)!(
				{ length: 1, nullCount: 0, buffers: [null, value], children: [], dictionary: null },
				place,
			);
		expect(() => check(timeTz(0n, 57_599n))).not.toThrow();
		expect(() => check(timeTz(86_400_000_000n, -57_599n))).not.toThrow();
		expect(() => check(timeTz(86_400_000_001n, 0n))).toThrow("over 24 hours");
		expect(() => check(timeTz(0n, -57_600n))).toThrow("beyond 15:59:59");
	});

	it("a value that no row shows is let be", () => {
		const field = makeField({ kind: "utf8" }, [], "x", "arrow.json");
		const hidden = { ...place, rowOf: () => -1 };
		expect(() => extensionCheck(field)!(makeArray(field, ["{"]), hidden)).not.toThrow();
	});
});
