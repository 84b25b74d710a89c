/**
 * The limit: DuckDB copies a table of one file into another.
 * `copy-table.ts SOURCE_DB DB TABLE`
 */
import process from "node:process";
import { DuckDBInstance } from "@duckdb/node-api";

const [source, target, table] = process.argv.slice(2);
const instance = await DuckDBInstance.create(":memory:");
const connection = await instance.connect();
await connection.run(`ATTACH '${source}' AS source (READ_ONLY)`);
const started = performance.now();
await connection.run(`ATTACH '${target}' AS target`);
await connection.run(`CREATE TABLE target.main.${table} AS FROM source.main.${table} LIMIT 0`);
await connection.run("BEGIN");
const result = await connection.run(`INSERT INTO target.main.${table} FROM source.main.${table}`);
await connection.run("COMMIT");
const seconds = (performance.now() - started) / 1000;
const rows = Number(result.rowsChanged);
await connection.run("DETACH target");
const closed = (performance.now() - started) / 1000;
const { user, system } = process.cpuUsage();
connection.closeSync();
instance.closeSync();
const extra = { "until closed s": closed, "CPU s": (user + system) / 1e6 };
console.log(JSON.stringify({ seconds, rows, extra }));
