/** `query.ts DB SQL`: rows as JSON, from a process of its own; waits while another holds the file. */
import process from "node:process";
import { DuckDBInstance } from "@duckdb/node-api";

const [path, sql] = process.argv.slice(2);
const instance = await openWhenFree(path!, 30_000);
const connection = await instance.connect();
const result = await connection.runAndReadAll(sql!);
console.log(JSON.stringify(result.getRowsJson()));
connection.closeSync();
instance.closeSync();

async function openWhenFree(database: string, waitMs: number): Promise<DuckDBInstance> {
	for (const deadline = Date.now() + waitMs; ; ) {
		try {
			return await DuckDBInstance.create(database, { access_mode: "READ_ONLY" });
		} catch (error) {
			if (Date.now() > deadline || !/lock/i.test(String(error))) throw error;
			await new Promise((resolve) => setTimeout(resolve, 200));
		}
	}
}
