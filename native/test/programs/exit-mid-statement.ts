/** Ends by process.exit while a statement waits for a batch and DuckDB holds others. Argument: how to end. */
import process from "node:process";
import { connect, open, rowsOf, sleep } from "./shared.ts";

const how = process.argv[2];
const connection = await connect();
const stream = open(connection, "incoming", { copy: process.argv[3] === "copy" });
const inserted = connection.run("INSERT INTO target SELECT * FROM incoming");
inserted.catch(() => {});
for (let i = 0; i < 20; i++) await stream.push(rowsOf(50_000, i * 50_000));
if (how === "while-waiting") await sleep(50);
console.log(
	`exiting with ${stream.counts.rowsHandedOver > 0 ? "rows handed over" : "nothing read"}`,
);
if (how === "uncaught") {
	setTimeout(() => {
		throw new Error("uncaught on purpose");
	});
} else {
	process.exit(7);
}
