/**
 * The way without Arrow: node-api's Appender, cell by cell.
 * `append-cells.ts FILE DB TABLE`
 */
import { readFileSync } from "node:fs";
import process from "node:process";
import { DuckDBDateValue, DuckDBDecimalValue, DuckDBInstance } from "@duckdb/node-api";
import { DataType, RecordBatchReader } from "apache-arrow";

const [source, target, table] = process.argv.slice(2);
const started = performance.now();
const instance = await DuckDBInstance.create(target!);
const connection = await instance.connect();
const reader = RecordBatchReader.from(readFileSync(source!)).open();
const columns = reader.schema.fields.map((field) => {
	const { type } = field;
	const sql = DataType.isInt(type)
		? type.bitWidth === 64
			? "BIGINT"
			: "INTEGER"
		: DataType.isDecimal(type)
			? `DECIMAL(${type.precision}, ${type.scale})`
			: DataType.isDate(type)
				? "DATE"
				: DataType.isFloat(type)
					? "DOUBLE"
					: "VARCHAR";
	return { name: field.name, sql };
});
await connection.run(
	`CREATE TABLE ${table} (${columns.map((one) => `"${one.name}" ${one.sql}`).join(", ")})`,
);
const appender = await connection.createAppender(table!);
let rows = 0;
for (const batch of reader) {
	const vectors = columns.map((_, at) => batch.getChildAt(at)!);
	for (let row = 0; row < batch.numRows; row++) {
		for (const [at, { sql }] of columns.entries()) {
			const vector = vectors[at]!;
			if (sql === "BIGINT") appender.appendBigInt(vector.get(row));
			else if (sql === "INTEGER") appender.appendInteger(vector.get(row));
			else if (sql === "DOUBLE") appender.appendDouble(vector.get(row));
			else if (sql === "VARCHAR") appender.appendVarchar(vector.get(row));
			else if (sql === "DATE")
				appender.appendDate(new DuckDBDateValue(Number(vector.get(row)) / 86_400_000));
			else appender.appendDecimal(new DuckDBDecimalValue(BigInt(vector.get(row)[0]), 15, 2));
		}
		appender.endRow();
		rows += 1;
	}
}
appender.closeSync();
const seconds = (performance.now() - started) / 1000;
connection.closeSync();
instance.closeSync();
console.log(JSON.stringify({ seconds, rows }));
