/** Batches of every layout, and the rows that DuckDB shall make of them, as its JSON. */
import type { BatchDescription, FieldDescription } from "../index.js";
import {
	array,
	batch,
	dictionary,
	field,
	int32s,
	lists,
	utf8s,
	utf8Views,
	validity,
} from "./arrays.ts";

export interface Kind {
	fields: FieldDescription[];
	batches: BatchDescription[];
	rows: unknown[][];
}

export const kinds: Record<string, Kind> = {
	"integers with nulls": {
		fields: [field("i", "i")],
		batches: [batch(int32s([1, null, -3])), batch(int32s([])), batch(int32s([4]))],
		rows: [[1], [null], [-3], [4]],
	},
	"texts, short and long": {
		fields: [field("s", "u")],
		batches: [batch(utf8s(["a", null, "", "a text of more than twelve bytes", "ü€😀"]))],
		rows: [["a"], [null], [""], ["a text of more than twelve bytes"], ["ü€😀"]],
	},
	"views with and without a data buffer": {
		fields: [field("s", "vu")],
		batches: [
			batch(utf8Views(["in place", null, "a text of more than twelve bytes"])),
			batch({ ...utf8Views(["short"]), buffers: utf8Views(["short"]).buffers.slice(0, 2) }),
		],
		rows: [["in place"], [null], ["a text of more than twelve bytes"], ["short"]],
	},
	"lists with nulls inside and out": {
		fields: [field("l", "+l", { children: [field("item", "i")] })],
		batches: [batch(lists([[1, 2], null, [], [null, 5]])), batch(lists([]))],
		rows: [[[1, 2]], [null], [[]], [[null, 5]]],
	},
	"structs with a null of their own": {
		fields: [field("p", "+s", { children: [field("x", "i"), field("y", "u")] })],
		batches: [
			batch(
				array(3, [validity([1, null, 1]).bitmap], {
					nullCount: 1,
					children: [int32s([1, 2, null]), utf8s(["a", "b", "c"])],
				}),
			),
		],
		rows: [[{ x: 1, y: "a" }], [null], [{ x: null, y: "c" }]],
	},
	"a dictionary that changes from batch to batch": {
		fields: [field("d", "c", { dictionary: field("", "u") })],
		batches: [
			batch(dictionary([0, 1, null], utf8s(["red", "green"]))),
			batch(dictionary([1, 0], utf8s(["blue", null]))),
			batch(dictionary([0], utf8s(["a text of more than twelve bytes"]))),
		],
		rows: [["red"], ["green"], [null], [null], ["blue"], ["a text of more than twelve bytes"]],
	},
	"bits and floats": {
		fields: [field("b", "b"), field("f", "f"), field("g", "g")],
		batches: [
			batch(
				array(3, [null, Uint8Array.of(0b101)]),
				array(3, [null, Float32Array.of(0.5, -0.25, 3)]),
				array(3, [null, Float64Array.of(1e300, -0.1, 7)]),
			),
		],
		rows: [
			[true, 0.5, 1e300],
			[false, -0.25, -0.1],
			[true, 3, 7],
		],
	},
	"decimals of 128 bits, dates, times, timestamps and intervals": {
		fields: [
			field("d", "d:38,10"),
			field("day", "tdD"),
			field("at", "ttu"),
			field("ts", "tsu:"),
			field("gap", "tin"),
		],
		batches: [
			batch(
				array(2, [null, BigInt64Array.of(12345678901234n, 0n, -5n, -1n)]),
				array(2, [null, Int32Array.of(0, 20_000)]),
				array(2, [null, BigInt64Array.of(0n, 86_399_999_999n)]),
				array(2, [null, BigInt64Array.of(0n, 1_700_000_000_123_456n)]),
				array(2, [null, Int32Array.of(1, 2, 3000, 0, 0, 0, 0, 0)]),
			),
		],
		rows: [
			[
				"1234.5678901234",
				"1970-01-01",
				"00:00:00",
				"1970-01-01 00:00:00",
				{ months: 1, days: 2, micros: "3" },
			],
			[
				"-0.0000000005",
				"2024-10-04",
				"23:59:59.999999",
				"2023-11-14 22:13:20.123456",
				{ months: 0, days: 0, micros: "0" },
			],
		],
	},
	"binary, large and of fixed size": {
		fields: [field("z", "z"), field("U", "U"), field("w", "w:3")],
		batches: [
			batch(
				array(2, [null, Int32Array.of(0, 2, 2), Uint8Array.of(0x61, 0)]),
				array(2, [null, BigInt64Array.of(0n, 0n, 3n), Uint8Array.of(0xe2, 0x82, 0xac)]),
				array(2, [null, Uint8Array.of(0x61, 0x62, 0x63, 0x64, 0x65, 0x66)]),
			),
		],
		rows: [
			["a\\x00", "", "abc"],
			["", "€", "def"],
		],
	},
	"lists of fixed size": {
		fields: [field("p", "+w:2", { children: [field("item", "i")] })],
		batches: [batch(array(2, [null], { children: [int32s([1, 2, 3, null])] }))],
		rows: [[[1, 2]], [[3, null]]],
	},
	maps: {
		fields: [
			field("m", "+m", {
				children: [
					field("entries", "+s", {
						flags: 0,
						children: [field("key", "u", { flags: 0 }), field("value", "i")],
					}),
				],
			}),
		],
		batches: [
			batch(
				array(2, [null, Int32Array.of(0, 2, 2)], {
					children: [array(2, [null], { children: [utf8s(["a", "b"]), int32s([1, null])] })],
				}),
			),
		],
		rows: [
			[
				[
					{ key: "a", value: 1 },
					{ key: "b", value: null },
				],
			],
			[[]],
		],
	},
	"sparse unions": {
		fields: [field("u", "+us:0,1", { children: [field("n", "i"), field("s", "u")] })],
		batches: [
			batch(array(2, [Uint8Array.of(0, 1)], { children: [int32s([7, 0]), utf8s(["", "seven"])] })),
		],
		rows: [[{ tag: "n", value: 7 }], [{ tag: "s", value: "seven" }]],
	},
	runs: {
		fields: [
			field("r", "+r", { children: [field("run_ends", "i", { flags: 0 }), field("values", "u")] }),
		],
		batches: [batch(array(4, [], { children: [int32s([3, 4]), utf8s(["x", "y"])] }))],
		rows: [["x"], ["x"], ["x"], ["y"]],
	},
	"views of lists": {
		fields: [field("v", "+vl", { children: [field("item", "i")] })],
		batches: [
			batch(
				array(3, [null, Int32Array.of(1, 0, 0), Int32Array.of(2, 1, 0)], {
					children: [int32s([1, 2, 3])],
				}),
			),
		],
		rows: [[[2, 3]], [[1]], [[]]],
	},
	"columns of nulls, without a buffer": {
		fields: [field("n", "n"), field("i", "i")],
		batches: [batch(array(2, [], { nullCount: 2 }), int32s([1, 2]))],
		rows: [
			[null, 1],
			[null, 2],
		],
	},
};
