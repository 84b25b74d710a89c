import { describe, expect, it } from "vitest";
import { IngestError } from "../../../src/errors.ts";
import { ThriftCompact, thrift } from "../../../src/parquet/thrift-compact.ts";
import { binary, bool, i32, i64, list, struct, structBytes, varint } from "./footer-writer.ts";

const reader = (bytes: readonly number[]) => new ThriftCompact(Uint8Array.from(bytes));
const skipAll = (bytes: readonly number[]) => reader(bytes).readStruct(() => false);

describe("Thrift's compact protocol", () => {
	it("reads what is asked for and skips the rest, whatever type it has", () => {
		const bytes = structBytes({
			1: i32(-5),
			2: bool(true),
			3: binary("né"),
			4: list("struct", [struct({ 1: i64(1) }), struct({ 9: bool(false), 30: i32(3) })]),
			5: list("bool", [bool(true), bool(false)]),
			6: struct({ 1: struct({ 1: binary("deep") }) }),
			200: i64(2 ** 52 - 1),
			201: i64(-(2 ** 52)),
		});
		// Before its end: a double, a byte, a map and a UUID.
		bytes.pop();
		bytes.push(0x17, 1, 2, 3, 4, 5, 6, 7, 8, 0x13, 9, 0x1b, 1, 0x85, 1, 65, 4, 0x1b, 0);
		bytes.push(0x1d, ...new Array(16).fill(7), 0);
		const found: unknown[] = [];
		const thriftReader = reader(bytes);
		thriftReader.readStruct((id, type) => {
			if (type === thrift.i32 || type === thrift.i64) found.push([id, thriftReader.integer()]);
			else if (type === thrift.binary) found.push([id, thriftReader.text()]);
			else return false;
			return true;
		});
		expect(found).toEqual([
			[1, -5],
			[3, "né"],
			[200, 2 ** 52 - 1],
			[201, -(2 ** 52)],
		]);
	});

	it("refuses what has no end, is too long, too large or too deep", () => {
		const broken: Record<string, number[]> = {
			"a field without its value": [0x15],
			"a number without an end": [0x16, ...new Array(20).fill(0xff), 0],
			"a binary longer than the bytes": [0x18, 100, 1, 2],
			"a list longer than the bytes": [0x19, 0xfc, ...varint(2n ** 40n), 0],
			"a map longer than the bytes": [0x1b, ...varint(2n ** 50n), 0x55, 0],
			"an unknown type": [0x1e, 0],
			"structs in structs": new Array(1_000).fill(0x1c),
			"lists in lists": [0x19, ...new Array(1_000).fill(0x19)],
			"no stop": [0x15, 2],
		};
		for (const [name, bytes] of Object.entries(broken)) {
			expect(() => skipAll(bytes), name).toThrow(IngestError);
		}
		const large = reader(varint(2n ** 63n));
		expect(() => large.integer()).toThrow("more than 53 bits");
		expect(() => reader([1, 0xff]).text()).toThrow("not UTF-8");
		expect(() => reader([0x15]).readList(thrift.struct, () => {})).toThrow("type 5, not 12");
	});
});
