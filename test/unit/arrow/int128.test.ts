/** Integers of 128 bits, as polars writes them: `Int` of a width that the specification does not have. */
import { expect, it } from "vitest";
import { openArrow } from "../../../src/arrow/open-arrow.ts";
import type { ArrayData, ArrowType, CheckedBatch, Field } from "../../../src/arrow/types.ts";
import { defaultLimits } from "../../../src/limits.ts";
import { nodeCodecs } from "../../../src/replay/node-codecs.ts";
import { arrayOf, field } from "./support/arrays.ts";
import { throughDuckDB } from "./support/duckdb.ts";
import { errorOf, sourceOf } from "./support/read-ipc.ts";
import { type WriteOptions, writeStream } from "./support/write-ipc.ts";

const never = new AbortController().signal;
const open = (fields: Field[], columns: ArrayData[], options?: WriteOptions) =>
	openArrow([sourceOf(writeStream(fields, [columns], options))], {
		codecs: nodeCodecs,
		limits: defaultLimits,
		requireEos: true,
		signal: never,
	});

const wide = (signed: boolean): ArrowType => ({ kind: "int", bits: 128 as 64, signed });
const most = 2n ** 127n - 1n;
/** The column as bytes lie: low half first. */
function column(values: readonly (bigint | null)[]): ArrayData {
	const halves = values.map((value) => {
		if (value === null) return null;
		const bytes = new Uint8Array(16);
		const view = new DataView(bytes.buffer);
		view.setBigUint64(0, BigInt.asUintN(64, value), true);
		view.setBigUint64(8, BigInt.asUintN(64, value >> 64n), true);
		return bytes;
	});
	return arrayOf(field("v", { kind: "fixed_size_binary", byteWidth: 16 }), halves);
}

async function rowsOf(fields: Field[], columns: ArrayData[]) {
	const reader = await open(fields, columns);
	const batches: CheckedBatch[] = [];
	for await (const batch of reader.batches(never)) batches.push(batch);
	return await throughDuckDB(reader.engineFields, batches);
}

it("are HUGEINT and UHUGEINT, to the last digit", async () => {
	const signed = [0n, -1n, 10n ** 30n, most, -most, null];
	const unsigned = [0n, 1n, 10n ** 30n, 2n * most + 1n, most, null];
	const { types, rows } = await rowsOf(
		[field("s", wide(true)), field("u", wide(false))],
		[column(signed), column(unsigned)],
	);
	expect(types).toEqual(["HUGEINT", "UHUGEINT"]);
	expect(rows).toEqual(signed.map((value, i) => [text(value), text(unsigned[i]!)]));
});

it("are what they are in lists and structs", async () => {
	const item = field("item", wide(true));
	const list = field("l", { kind: "list" }, { children: [item] });
	const below = { ...item, type: { kind: "fixed_size_binary", byteWidth: 16 } } as Field;
	const values = arrayOf({ ...list, children: [below] }, [[bytesOfOne, bytesOfOne], [], null]);
	const { types, rows } = await rowsOf([list], [values]);
	expect(types).toEqual(["HUGEINT[]"]);
	expect(rows).toEqual([["[1, 1]"], ["[]"], [null]]);
});

it("are refused where their bytes lie the other way round", async () => {
	const { code, place } = await errorOf(
		open([field("v", wide(true))], [column([1n])], { bigEndian: true }),
	);
	expect({ code, column: place.column }).toEqual({ code: "unsupported_type", column: "v" });
});

const bytesOfOne = Uint8Array.of(1, ...new Array<number>(15).fill(0));
const text = (value: bigint | null) => (value === null ? null : String(value));
