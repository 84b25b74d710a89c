import { type DuckDBConnection, DuckDBInstance } from "@duckdb/node-api";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { type BatchDescription, type FieldDescription, RecordBatchStream } from "../index.js";
import { kinds } from "./kinds.ts";

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

describe.each(Object.keys(kinds))("%s", (name) => {
	const kind = kinds[name] as (typeof kinds)[string];
	test.each([
		["pinned", false],
		["copied", true],
	])("arrive as they were sent when %s", async (_how, copy) => {
		expect(await load(kind.fields, kind.batches, copy)).toEqual(kind.rows);
	});
});
