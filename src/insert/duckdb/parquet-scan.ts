/**
 * A Parquet file as a view that one statement reads, by DuckDB's own reader.
 *
 * In: a reader that `open-parquet.ts` made, and which of its columns to scan. Unlike Arrow
 * batches the file can be read again: the next attempt makes a new view of the same file.
 */

import { randomBytes } from "node:crypto";
import type { DuckDBConnection } from "@duckdb/node-api";
import { IngestError } from "../../errors.ts";
import type { ParquetReader } from "../batch-sink.ts";
import { parquetRelation } from "./open-parquet.ts";
import type { RowScan } from "./row-scan.ts";
import { quoteIdentifier } from "./sql-names.ts";
import { columnTypes, rows } from "./target-table.ts";

/** `internal` where DuckDB sees other columns than it did before. */
export async function openParquetScan(
	connection: DuckDBConnection,
	reader: ParquetReader,
	positions: readonly number[],
): Promise<RowScan> {
	const fields = positions.map((at) => reader.sentFields[at]!);
	const view = `memory.main.${quoteIdentifier(`parquet_${randomBytes(12).toString("hex")}`)}`;
	const list = fields.map(({ name }) => quoteIdentifier(name)).join(", ");
	await connection.run(
		`CREATE VIEW ${view} AS SELECT ${list} FROM ${parquetRelation(reader.path)}`,
	);
	const close = async () => void (await connection.run(`DROP VIEW IF EXISTS ${view}`));
	try {
		const texts = (await rows(connection, `DESCRIBE SELECT * FROM ${view}`)).map(
			([, typeText]) => typeText as string,
		);
		const types = await columnTypes(connection, `SELECT * FROM ${view}`, texts);
		if (types.length !== fields.length) {
			throw new IngestError(
				"internal",
				`the Parquet file has ${fields.length} columns to scan, DuckDB binds ${types.length}`,
			);
		}
		return {
			view,
			columns: fields.map((field, at) => ({ field, type: types[at]!, typeText: texts[at]! })),
			// They were counted when the file was read through; a statement that skips one inserts less.
			rowsHandedOver: () => reader.counts().rows_streamed,
			primed: Promise.resolve(),
			pumped: Promise.resolve(),
			// The connection's interrupt ends a statement that reads it.
			stop() {},
			close,
		};
	} catch (error) {
		await close().catch(() => {});
		throw error;
	}
}
