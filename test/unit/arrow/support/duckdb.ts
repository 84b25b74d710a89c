/** Batches through DuckDB's own scan into a table of an in-memory database, and back as text. */

import { DuckDBInstance } from "@duckdb/node-api";
import type { CheckedBatch, Field } from "../../../../src/arrow/types.ts";
import { openBatchStream, runWithBatches } from "../../../../src/insert/duckdb/native-stream.ts";

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
	const stream = openBatchStream(fields, { copy: false });
	try {
		await connection.run("SET TimeZone = 'UTC'");
		stream.scan(connection, "sent");
		await runWithBatches(stream, each(batches), () =>
			connection.run("CREATE TABLE landed AS SELECT * FROM sent"),
		);
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
		stream.close();
		connection.closeSync();
		instance.closeSync();
	}
}

async function* each(batches: readonly CheckedBatch[]): AsyncGenerator<CheckedBatch> {
	yield* batches;
}
