import { expect, it } from "vitest";
import { typeName } from "../../../src/arrow/type-name.ts";
import type { Field } from "../../../src/arrow/types.ts";
import { extension, field, int } from "./support/arrays.ts";

const item = field("item", { kind: "utf8" });

const names: [Field, string][] = [
	[field("a", int(64)), "int64"],
	[field("a", int(8, false)), "uint8"],
	[field("a", { kind: "float", bits: 16 }), "halffloat"],
	[field("a", { kind: "float", bits: 64 }), "double"],
	[item, "string"],
	[field("a", { kind: "large_utf8" }), "large_string"],
	[field("a", { kind: "timestamp", unit: "us", zone: "UTC" }), "timestamp[us, tz=UTC]"],
	[field("a", { kind: "timestamp", unit: "ns", zone: null }), "timestamp[ns]"],
	[field("a", { kind: "decimal", bits: 128, precision: 15, scale: 2 }), "decimal128(15, 2)"],
	[field("a", { kind: "date", unit: "day" }), "date32[day]"],
	[field("a", { kind: "time", bits: 32, unit: "ms" }), "time32[ms]"],
	[field("a", { kind: "duration", unit: "s" }), "duration[s]"],
	[field("a", { kind: "interval", unit: "month_day_nano" }), "month_day_nano_interval"],
	[field("a", { kind: "fixed_size_binary", byteWidth: 16 }), "fixed_size_binary[16]"],
	[field("a", { kind: "list" }, { children: [item] }), "list<item: string>"],
	[
		field("a", { kind: "fixed_size_list", size: 3 }, { children: [item] }),
		"fixed_size_list<item: string>[3]",
	],
	[
		field("a", { kind: "struct" }, { children: [field("x", int(32), { nullable: false }), item] }),
		"struct<x: int32 not null, item: string>",
	],
	[
		field(
			"a",
			{ kind: "map", keysSorted: false },
			{
				children: [
					field("entries", { kind: "struct" }, { children: [item, field("value", int(8))] }),
				],
			},
		),
		"map<string, int8>",
	],
	[
		field("a", { kind: "union", mode: "dense", typeIds: [5] }, { children: [item] }),
		"dense_union<item: string=5>",
	],
	[
		field("a", { kind: "run_end_encoded" }, { children: [field("run_ends", int(32)), item] }),
		"run_end_encoded<run_ends: int32, values: string>",
	],
	[
		field("a", { kind: "utf8" }, { dictionary: { id: 1n, indexType: int(32), ordered: false } }),
		"dictionary<values=string, indices=int32>",
	],
	[
		field("a", { kind: "utf8" }, { metadata: extension("arrow.json") }),
		"extension<arrow.json, storage=string>",
	],
];

it.each(names.map(([of, name]) => [name, of] as const))(
	"a field of %s is called so",
	(name, of) => {
		expect(typeName(of)).toBe(name);
	},
);
