/** Rows and one sum of a table, read by a process of its own: `check-table.ts DB TABLE SQL`. */
import process from "node:process";
import { DuckDBInstance } from "@duckdb/node-api";

const [path, table, checkSql] = process.argv.slice(2);
const instance = await DuckDBInstance.create(":memory:");
const connection = await instance.connect();
await connection.run(`ATTACH '${path}' AS target (READ_ONLY)`);
const result = await connection.runAndReadAll(
	`SELECT count(*)::VARCHAR, ${checkSql} FROM target.main.${table}`,
);
const [rows, check] = result.getRowsJson()[0]!;
console.log(JSON.stringify({ rows: Number(rows), check }));
connection.closeSync();
instance.closeSync();
