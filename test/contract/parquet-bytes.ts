/** Parquet files as DuckDB writes them: an independent writer is in test/clients. */
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DuckDBInstance } from "@duckdb/node-api";

/** The rows of a query; `options` are those of COPY. Statements before it run first. */
export async function parquetOf(
	query: string,
	options = "",
	...before: string[]
): Promise<Uint8Array> {
	const folder = mkdtempSync(join(tmpdir(), "duckdock-parquet-"));
	const path = join(folder, "file.parquet");
	const instance = await DuckDBInstance.create(":memory:");
	const connection = await instance.connect();
	try {
		await connection.run("SET TimeZone = 'UTC'");
		for (const statement of before) await connection.run(statement);
		await connection.run(`COPY (${query}) TO '${path}' (FORMAT parquet${options})`);
		return new Uint8Array(readFileSync(path));
	} finally {
		connection.closeSync();
		instance.closeSync();
		rmSync(folder, { recursive: true });
	}
}

/** Every type that DuckDB writes to Parquet and reads back as it was, with nulls between. */
export const everyType = `
	SELECT
		(i % 2 = 0)::BOOLEAN AS bool,
		(i - 128)::TINYINT AS i8, (i * 100)::SMALLINT AS i16, (i * 70000)::INTEGER AS i32, i * 5000000000 AS i64,
		i::UTINYINT AS u8, (i * 250)::USMALLINT AS u16, (i * 16000000)::UINTEGER AS u32,
		(18446744073709551615 - i)::UBIGINT AS u64,
		(i / 3)::FLOAT AS f32, (i / 7)::DOUBLE AS f64,
		(i / 100)::DECIMAL(4, 2) AS d4, (i / 1000)::DECIMAL(9, 3) AS d9, (i * 1000003)::DECIMAL(18, 6) AS d18,
		('123456789012345678901234567890' || i || '.25')::DECIMAL(38, 4) AS d38,
		'text ' || i AS text, ('\\x00\\xFF' || i)::BLOB AS bytes,
		DATE '1969-12-01' + i::INTEGER AS day, TIME '00:00:00.000001' + INTERVAL (i) MINUTE AS time,
		('08:00:' || lpad((i % 60)::VARCHAR, 2, '0') || '+00')::TIMETZ AS time_utc,
		TIMESTAMP '1969-12-31 23:59:59.999999' + INTERVAL (i) HOUR AS at,
		TIMESTAMPTZ '2026-11-30 12:00:00+02' + INTERVAL (i) SECOND AS at_utc,
		make_timestamp_ns(1764504000123456789 + i) AS at_ns,
		INTERVAL (i) MONTH + INTERVAL (i) DAY + INTERVAL (i) SECOND AS span,
		('00000000-0000-4000-8000-' || lpad(i::VARCHAR, 12, '0'))::UUID AS uuid,
		('{"i": ' || i || '}')::JSON AS json,
		[i, NULL, i + 1] AS list, [['a', NULL], NULL, []] AS lists,
		{'x': i, 'inner': {'y': 'y' || i, 'z': [DATE '2026-01-01' + i::INTEGER]}} AS struct,
		MAP {'k' || i: i, 'other': NULL} AS map,
		CASE WHEN i % 3 = 0 THEN NULL ELSE i END AS holes,
		NULL::VARCHAR AS nothing
	FROM range(256) AS t(i)`;
