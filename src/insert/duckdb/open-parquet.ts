/**
 * In: a Parquet file whose footer was checked. Out: its columns, and the certainty that
 * DuckDB's reader gets through it: every page is unpacked, every value decoded, what would
 * poison a table looked for.
 *
 * That happens in an instance of its own that reaches this one file and nothing else. An
 * error there is the file's fault and nobody else's, even one that DuckDB doesn't recover
 * from; the tenant's instance only ever reads files that were read through before. The
 * optimizer is off: it would take the file's word for its values, and skip columns.
 *
 * Errors: `invalid_arrow` with the column and row where a value is at fault,
 * `unsupported_type`, `target_unavailable` where there is no memory for it.
 */

import type { DuckDBConnection, DuckDBType } from "@duckdb/node-api";
import { DuckDBInstance, DuckDBTypeId as Id } from "@duckdb/node-api";
import type { Field } from "../../arrow/types.ts";
import { IngestError } from "../../errors.ts";
import type { Warning } from "../../flow.ts";
import { invalidParquet } from "../../parquet/invalid-parquet.ts";
import type { ParquetFooter } from "../../parquet/parquet-footer.ts";
import { sameName } from "../../table-name.ts";
import type { ParquetFile, ParquetReader } from "../batch-sink.ts";
import { arrowFieldOf } from "./arrow-field.ts";
import { errorClass, withoutClass } from "./engine-errors.ts";
import { type EngineOptions, parquetLockStatements } from "./lockdown.ts";
import { poisonOf } from "./poisoned-values.ts";
import { quoteIdentifier, quoteText } from "./sql-names.ts";
import { columnTypes, rows } from "./target-table.ts";

/** Its path says nothing about its columns. */
export function parquetRelation(path: string): string {
	return `read_parquet(${quoteText(path)}, hive_partitioning = false)`;
}

export async function openParquet(
	file: ParquetFile,
	options: EngineOptions,
	signal: AbortSignal,
): Promise<ParquetReader> {
	const { path, footer } = file;
	const instance = await DuckDBInstance.create(":memory:");
	const connection = await instance.connect();
	const interrupt = () => connection.interrupt();
	signal.addEventListener("abort", interrupt);
	try {
		signal.throwIfAborted();
		for (const statement of parquetLockStatements(path, options)) await connection.run(statement);
		const types = await describe(connection, path, footer);
		const fields = footer.columns.map(({ name, nullable }, at) =>
			arrowFieldOf(name, nullable, types[at]!),
		);
		await readThrough(connection, path, footer, types);
		return readerOf(file, fields);
	} catch (error) {
		if (signal.aborted) throw signal.reason;
		const { message } = error as Error;
		const isFit = /^(?:Invalid Input|Conversion|Out of Range|IO|Invalid) Error: /.test(message);
		const column = isFit ? await faultyColumn(instance, path, footer) : undefined;
		throw faultOf(error, path, column);
	} finally {
		signal.removeEventListener("abort", interrupt);
		connection.closeSync();
		instance.closeSync();
	}
}

/** DuckDB's types, column by column; it renames what it can't tell apart, so names are the footer's. */
async function describe(
	connection: DuckDBConnection,
	path: string,
	{ columns }: ParquetFooter,
): Promise<DuckDBType[]> {
	const query = `SELECT * FROM ${parquetRelation(path)}`;
	const described = await rows(connection, `DESCRIBE ${query}`);
	if (described.length !== columns.length) {
		throw invalidParquet(
			`its schema has ${columns.length} columns, DuckDB reads ${described.length}`,
		);
	}
	return await columnTypes(
		connection,
		query,
		described.map(([, typeText]) => typeText as string),
	);
}

/** A value of these is right for Parquet, and outside of what DuckDB can hold. */
const dates = new Set([Id.DATE, Id.TIMESTAMP, Id.TIMESTAMP_NS, Id.TIMESTAMP_TZ]);

async function readThrough(
	connection: DuckDBConnection,
	path: string,
	{ rows: expected, columns }: ParquetFooter,
	types: readonly DuckDBType[],
): Promise<void> {
	// Columns by position: their names may be any.
	const names = types.map((_, at) => `c${at}`);
	const checks = types.flatMap((type, at) => {
		const poison = poisonOf(names[at]!, type);
		return poison === null ? [] : [{ at, type, poison }];
	});
	// DuckDB's own count of rows, unless a column of the file has its name.
	const counter = "file_row_number";
	const isCounted = !columns.some(({ name }) => sameName(name, counter));
	const row = "row";
	const lists = checks.map(({ poison }) => `min(CASE WHEN ${poison} THEN ${row} END)`);
	const [found] = await rows(
		connection,
		`SELECT ${["count(*)", ...lists].join(", ")}
		 FROM (SELECT *, ${isCounted ? counter : "0"} FROM ${parquetRelation(path)}) AS file(${[...names, row].join(", ")})`,
	);
	for (const [n, { at, type }] of checks.entries()) {
		const first = found![n + 1];
		if (first === null) continue;
		const column = columns[at]!.name;
		const where = isCounted ? ` in row ${first}` : "";
		const detail = `column ${JSON.stringify(column)} has a value${where} that DuckDB's ${type} can't hold`;
		const place = {
			column,
			...(isCounted ? { row: Number(first) } : {}),
			target_type: String(type),
		};
		throw dates.has(type.typeId)
			? new IngestError("cast_failed", detail, place)
			: invalidParquet(detail, place);
	}
	if (Number(found![0]) !== expected) {
		throw invalidParquet(`its footer says ${expected} rows, ${found![0]} can be read`);
	}
}

function readerOf(
	{ path, footer, counts, remove }: ParquetFile,
	fields: readonly Field[],
): ParquetReader {
	return {
		path,
		sentFields: fields,
		engineFields: fields,
		counts: () => ({ rows_streamed: footer.rows, batches: footer.rowGroups, ...counts }),
		warnings: () => lossesOf(footer),
		close: remove,
	};
}

function lossesOf({ leaves }: ParquetFooter): Warning[] {
	return leaves.flatMap(({ path, loses }): Warning[] => {
		if (loses === null) return [];
		return loses === "nanoseconds of UTC"
			? [
					{
						code: "timestamp_ns_tz_truncated",
						column: path,
						detail: "DuckDB's TIMESTAMP WITH TIME ZONE has microseconds",
					},
				]
			: [
					{
						code: "lossy_cast",
						column: path,
						detail:
							"DuckDB's Parquet reader keeps microseconds of it, 3 digits of the second are cut",
					},
				];
	});
}

/** In this instance nothing but the file can be at fault, or the memory. */
function faultOf(error: unknown, path: string, column: string | undefined): unknown {
	if (error instanceof IngestError) return error;
	const message = error instanceof Error ? error.message : String(error);
	const kind = errorClass(message);
	const text = withoutClass(message)
		.split(/\n\s*(?:LINE \d+:|Stack Trace)/)[0]!
		.replaceAll(` '${path}'`, "")
		.replaceAll(` "${path}"`, "")
		.replaceAll(path, "the file")
		.trim()
		.replace(/\s*\n\s*/g, " ");
	const options = { cause: error, ...(column === undefined ? {} : { column }) };
	const where = column === undefined ? "" : `column ${JSON.stringify(column)}: `;
	if (kind === "Out of Memory") {
		return new IngestError(
			"target_unavailable",
			`there is no memory to read the Parquet file: ${text}`,
			options,
		);
	}
	if (kind === "Conversion" || kind === "Out of Range") {
		return new IngestError("cast_failed", `${where}${text}`, options);
	}
	return invalidParquet(`${where}${text}`, options);
}

/** Columns beyond are not tried one by one. */
const mostSuspects = 256;

/** The first column that alone can't be read, where DuckDB is still fit to tell. */
async function faultyColumn(
	instance: DuckDBInstance,
	path: string,
	{ columns }: ParquetFooter,
): Promise<string | undefined> {
	// With its optimizer, which is why one column is read alone.
	const connection = await instance.connect();
	try {
		for (const { name } of columns.slice(0, mostSuspects)) {
			const column = quoteIdentifier(name);
			const reading = rows(connection, `SELECT max(hash(${column})) FROM ${parquetRelation(path)}`);
			if (
				await reading.then(
					() => false,
					() => true,
				)
			)
				return name;
		}
		return undefined;
	} finally {
		connection.closeSync();
	}
}
