/** `hold-database.ts DB`: another program that has the file open; says "held" once it has, until it is killed. */
import process from "node:process";
import { DuckDBInstance } from "@duckdb/node-api";

for (;;) {
	try {
		const instance = await DuckDBInstance.create(process.argv[2]!);
		console.log("held");
		setInterval(() => instance, 1_000);
		break;
	} catch (error) {
		if (!/lock/i.test(String(error))) throw error;
		await new Promise((resolve) => setTimeout(resolve, 100));
	}
}
