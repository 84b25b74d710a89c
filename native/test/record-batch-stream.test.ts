import { type DuckDBConnection, DuckDBInstance } from "@duckdb/node-api";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { type BatchDescription, type FieldDescription, RecordBatchStream } from "../index.js";
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

let instance: DuckDBInstance;
let connection: DuckDBConnection;
let view = "";
let views = 0;

beforeAll(async () => {
	instance = await DuckDBInstance.create(":memory:");
	connection = await instance.connect();
});
beforeEach(() => {
	views += 1;
	view = `incoming_${views}`;
});
afterAll(() => {
	connection.closeSync();
	instance.closeSync();
});

/** Loads the batches into a new table and gives back its rows as text. */
async function load(
	fields: FieldDescription[],
	batches: BatchDescription[],
	copy: boolean,
): Promise<unknown[][]> {
	const stream = new RecordBatchStream(fields, { copy });
	stream.scan(connection, view);
	const rows = connection.runAndReadAll(`SELECT * FROM ${view}`);
	for (const each of batches) expect(await stream.push(each)).toBe(true);
	stream.end();
	const reader = await rows;
	await connection.run(`DROP VIEW ${view}`);
	stream.close();
	return reader.getRowsJson();
}

const kinds: Record<
	string,
	{ fields: FieldDescription[]; batches: BatchDescription[]; rows: unknown[][] }
> = {
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
};

describe.each(Object.keys(kinds))("%s", (name) => {
	const kind = kinds[name] as (typeof kinds)[string];
	test.each([
		["pinned", false],
		["copied", true],
	])("arrive as they were sent when %s", async (_how, copy) => {
		expect(await load(kind.fields, kind.batches, copy)).toEqual(kind.rows);
	});
});
