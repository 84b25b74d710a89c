import { type DuckDBConnection, DuckDBInstance } from "@duckdb/node-api";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { BatchMemory } from "../../../../src/arrow/batch-memory.ts";
import type { CheckedBatch, Field } from "../../../../src/arrow/types.ts";
import { IngestError } from "../../../../src/errors.ts";
import { openArrowScan } from "../../../../src/insert/duckdb/arrow-scan.ts";
import { runOver } from "../../../../src/insert/duckdb/row-scan.ts";
import { batchReaderOf } from "../../arrow/support/batch-reader.ts";

const int32: Field = {
	name: "i",
	nullable: true,
	type: { kind: "int", bits: 32, signed: true },
	children: [],
	dictionary: null,
	metadata: new Map(),
};

/** Integers from `from`, as check-batch would let them pass. */
function integers(from: number, length: number): CheckedBatch {
	const values = Int32Array.from({ length }, (_, i) => from + i);
	const buffers = [null, new Uint8Array(values.buffer)];
	const column = { length, nullCount: 0, buffers, children: [], dictionary: null };
	return { length, columns: [column] } as unknown as CheckedBatch;
}

let instance: DuckDBInstance;
let connection: DuckDBConnection;
beforeAll(async () => {
	instance = await DuckDBInstance.create(":memory:");
	connection = await instance.connect();
});
afterAll(() => {
	connection.closeSync();
	instance.closeSync();
});

/** A new table, and a scan of batches of its one column. */
async function intoNewTable(
	batches: (signal: AbortSignal) => AsyncIterable<CheckedBatch>,
	check = "true",
) {
	await connection.run(`CREATE OR REPLACE TABLE target (i INTEGER CHECK (${check}))`);
	const { signal } = new AbortController();
	const reader = batchReaderOf([int32], batches);
	const scan = await openArrowScan(connection, [reader], [0], { copy: false, signal });
	const insert = () => connection.run(`INSERT INTO target BY NAME SELECT * FROM ${scan.view}`);
	return { scan, insert };
}

async function count(): Promise<number> {
	const read = await connection.runAndReadAll("SELECT count(*)::INTEGER FROM target");
	return read.getRows()[0]?.[0] as number;
}

describe("a statement over a scan", () => {
	test("resolves as the statement does, with all rows", async () => {
		const { scan, insert } = await intoNewTable(async function* () {
			for (let i = 0; i < 20; i++) yield integers(i * 1000, 1000);
		});
		expect((await runOver(scan, insert)).rowsChanged).toBe(20_000);
		expect(scan.rowsHandedOver()).toBe(20_000);
		expect(await count()).toBe(20_000);
		await scan.close();
		await scan.close();
		const views = await connection.run("SELECT view_name FROM duckdb_views() WHERE NOT internal");
		expect(await views.getRowsJS()).toEqual([]);
	});

	test("lets go of each batch's memory once, when DuckDB has", async () => {
		const freed: number[] = [];
		const { scan, insert } = await intoNewTable(async function* () {
			for (let i = 0; i < 20; i++) {
				const memory = new BatchMemory(() => freed.push(i));
				yield { ...integers(i * 1000, 1000), memory };
			}
		});
		await runOver(scan, insert);
		await scan.close();
		while (freed.length < 20) await new Promise((resolve) => setTimeout(resolve, 1));
		expect(freed.toSorted((a, b) => a - b)).toEqual(Array.from({ length: 20 }, (_, i) => i));
	});

	test("throws the error of its batches, not the statement's that follows from it, and inserts nothing", async () => {
		const error = new IngestError("invalid_arrow", "batch 2 is wrong");
		const { scan, insert } = await intoNewTable(async function* () {
			yield integers(0, 1000);
			yield integers(1000, 1000);
			throw error;
		});
		await expect(runOver(scan, insert)).rejects.toBe(error);
		expect(await count()).toBe(0);
		await scan.close();
	});

	test("throws the statement's error and reads no further batch", async () => {
		let read = 0;
		const { scan, insert } = await intoNewTable(async function* () {
			for (; read < 100_000; read++) yield integers(read * 1000, 1000);
		}, "i < 5000");
		await expect(runOver(scan, insert)).rejects.toThrow("CHECK constraint");
		const atTheError = read;
		expect(atTheError).toBeLessThan(100_000);
		await new Promise((resolve) => setTimeout(resolve, 20));
		expect(read).toBeLessThanOrEqual(atTheError + 1);
		await scan.close();
	});

	test("ends batches that hang, by their signal, once the statement has failed", async () => {
		const { scan } = await intoNewTable(async function* (signal) {
			yield integers(0, 1);
			await new Promise((_, reject) => {
				signal.addEventListener("abort", () => reject(signal.reason), { once: true });
			});
		});
		const failing = runOver(scan, () => connection.run("SELECT error('early')"));
		await expect(failing).rejects.toThrow("early");
		await scan.close();
	});
});
