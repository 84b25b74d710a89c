import { describe, expect, test } from "vitest";
import type { Field } from "../../../../src/arrow/types.ts";
import { describeField } from "../../../../src/insert/duckdb/native-stream.ts";

const int32: Field["type"] = { kind: "int", bits: 32, signed: true };

function field(name: string, type: Field["type"], more: Partial<Field> = {}): Field {
	return {
		name,
		nullable: true,
		type,
		children: [],
		dictionary: null,
		metadata: new Map(),
		...more,
	};
}

describe("a field is described", () => {
	test("with its format, nullability and metadata", () => {
		const metadata = new Map([["k", Uint8Array.of(0xff)]]);
		const { metadata: encoded, ...rest } = describeField(
			field("n", int32, { nullable: false, metadata }),
		);
		expect(rest).toEqual({ name: "n", format: "i", flags: 0, children: [], dictionary: null });
		expect([...(encoded ?? [])]).toEqual([1, 0, 0, 0, 1, 0, 0, 0, 0x6b, 1, 0, 0, 0, 0xff]);
	});

	test("by its indices with the values inside, where it is dictionary-encoded", () => {
		const item = field("item", { kind: "utf8" });
		const dictionary = {
			id: 7n,
			indexType: { kind: "int", bits: 16, signed: false } as const,
			ordered: true,
		};
		expect(describeField(field("d", { kind: "list" }, { children: [item], dictionary }))).toEqual({
			name: "d",
			format: "S",
			flags: 3,
			metadata: null,
			children: [],
			dictionary: {
				name: "",
				format: "+l",
				flags: 2,
				metadata: null,
				children: [describeField(item)],
				dictionary: null,
			},
		});
	});
});
