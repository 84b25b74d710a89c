import { describe, expect, it } from "vitest";
import { cDataFlags, cDataFormat, encodeMetadata } from "../../../src/arrow/c-data-format.ts";
import type { ArrowType } from "../../../src/arrow/types.ts";
import { field, int } from "./support/arrays.ts";

describe("format strings", () => {
	// The examples of the specification, and what it says of the types without one.
	it.each([
		[{ kind: "null" }, "n"],
		[{ kind: "bool" }, "b"],
		[int(8), "c"],
		[int(8, false), "C"],
		[int(16), "s"],
		[int(16, false), "S"],
		[int(32), "i"],
		[int(32, false), "I"],
		[int(64), "l"],
		[int(64, false), "L"],
		[{ kind: "float", bits: 16 }, "e"],
		[{ kind: "float", bits: 32 }, "f"],
		[{ kind: "float", bits: 64 }, "g"],
		[{ kind: "decimal", bits: 128, precision: 19, scale: 10 }, "d:19,10"],
		[{ kind: "decimal", bits: 32, precision: 9, scale: 2 }, "d:9,2,32"],
		[{ kind: "decimal", bits: 256, precision: 76, scale: -3 }, "d:76,-3,256"],
		[{ kind: "fixed_size_binary", byteWidth: 42 }, "w:42"],
		[{ kind: "date", unit: "day" }, "tdD"],
		[{ kind: "date", unit: "ms" }, "tdm"],
		[{ kind: "time", bits: 32, unit: "s" }, "tts"],
		[{ kind: "time", bits: 32, unit: "ms" }, "ttm"],
		[{ kind: "time", bits: 64, unit: "us" }, "ttu"],
		[{ kind: "time", bits: 64, unit: "ns" }, "ttn"],
		[{ kind: "timestamp", unit: "s", zone: null }, "tss:"],
		[{ kind: "timestamp", unit: "us", zone: "Europe/Paris" }, "tsu:Europe/Paris"],
		[{ kind: "duration", unit: "ms" }, "tDm"],
		[{ kind: "interval", unit: "month" }, "tiM"],
		[{ kind: "interval", unit: "day_time" }, "tiD"],
		[{ kind: "interval", unit: "month_day_nano" }, "tin"],
		[{ kind: "utf8_view" }, "vu"],
		[{ kind: "binary_view" }, "vz"],
		[{ kind: "large_utf8" }, "U"],
		[{ kind: "large_binary" }, "Z"],
		[{ kind: "list" }, "+l"],
		[{ kind: "large_list" }, "+L"],
		[{ kind: "list_view" }, "+vl"],
		[{ kind: "large_list_view" }, "+vL"],
		[{ kind: "fixed_size_list", size: 123 }, "+w:123"],
		[{ kind: "struct" }, "+s"],
		[{ kind: "map", keysSorted: true }, "+m"],
		[{ kind: "union", mode: "dense", typeIds: [4, 8] }, "+ud:4,8"],
		[{ kind: "union", mode: "sparse", typeIds: [0] }, "+us:0"],
		[{ kind: "run_end_encoded" }, "+r"],
	] as [ArrowType, string][])("of %j is %s", (type, format) => {
		expect(cDataFormat(type)).toBe(format);
	});
});

it("flags add up: ordered 1, nullable 2, sorted keys 4", () => {
	const dictionary = { id: 0n, indexType: int(8), ordered: true };
	expect(cDataFlags(field("a", int(8), { nullable: false }))).toBe(0);
	expect(cDataFlags(field("a", { kind: "utf8" }, { dictionary }))).toBe(3);
	expect(cDataFlags(field("a", { kind: "map", keysSorted: true }))).toBe(6);
});

it("metadata is counts, lengths and bytes in this machine's order; none is null", () => {
	expect(encodeMetadata(new Map())).toBeNull();
	const encoded = encodeMetadata(
		new Map([
			["ké", Uint8Array.of(0xff, 0)],
			["", new Uint8Array(0)],
		]),
	)!;
	const int32 = (value: number) => [...new Uint8Array(Int32Array.of(value).buffer)];
	expect([...encoded]).toEqual([
		...int32(2),
		...int32(3),
		...new TextEncoder().encode("ké"),
		...int32(2),
		0xff,
		0,
		...int32(0),
		...int32(0),
	]);
});
