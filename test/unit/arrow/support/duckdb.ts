/** Batches through DuckDB's own scan into a table of an in-memory database, and back as text. */

import { DuckDBInstance } from "@duckdb/node-api";
import type { CheckedBatch, Field } from "../../../../src/arrow/types.ts";
import { openArrowScan } from "../../../../src/insert/duckdb/arrow-scan.ts";
import { runOver } from "../../../../src/insert/duckdb/row-scan.ts";
import { batchReaderOf } from "./batch-reader.ts";

export interface Loaded {
	/** DuckDB's type per column. */
	types: string[];
	/** Rows as DuckDB prints them, null for NULL. */
	rows: (string | null)[][];
}

export async function throughDuckDB(
	fields: readonly Field[],
	batches: readonly CheckedBatch[],
	limit = 1_000_000,
): Promise<Loaded> {
	const instance = await DuckDBInstance.create(":memory:");
	const connection = await instance.connect();
	try {
		await connection.run("SET TimeZone = 'UTC'");
		const positions = fields.map((_, at) => at);
		const signal = new AbortController().signal;
		const reader = batchReaderOf(fields, async function* () {
			yield* batches;
		});
		const scan = await openArrowScan(connection, [reader], positions, { copy: false, signal });
		try {
			await runOver(scan, () =>
				connection.run(`CREATE TABLE landed AS SELECT * FROM ${scan.view}`),
			);
		} finally {
			await scan.close();
		}
		const described = await connection.runAndReadAll("DESCRIBE landed");
		const names = described
			.getRows()
			.map((row) => `"${String(row[0]).replaceAll('"', '""')}"::VARCHAR`);
		const read = await connection.runAndReadAll(
			`SELECT ${names.join(", ")} FROM landed LIMIT ${limit}`,
		);
		return {
			types: described.getRows().map((row) => String(row[1])),
			rows: read.getRows() as (string | null)[][],
		};
	} finally {
		connection.closeSync();
		instance.closeSync();
	}
}
