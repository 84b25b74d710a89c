/**
 * Loads many times and prints resident memory, in MiB, after each tenth. Arguments: loads, "pinned" or "copy",
 * and "fail" to make each second load fail half-way.
 */
import process from "node:process";
import { collectGarbage, connect, open, rowsOf } from "./shared.ts";

const [, , loads, how, failing] = process.argv;
const connection = await connect();
const samples: number[] = [];
for (let load = 0; load < Number(loads); load++) {
	const view = `incoming_${load}`;
	const stream = open(connection, view, { copy: how === "copy", capacityBatches: 4 });
	const fails = failing === "fail" && load % 2 === 1;
	await connection.run("BEGIN");
	const read = connection
		.run(`INSERT INTO target SELECT * FROM ${view}`)
		.then(
			() => "read",
			() => "failed",
		)
		.finally(() => stream.close());
	for (let i = 0; i < 4; i++) await stream.push(rowsOf(20_000));
	if (fails) stream.fail("on purpose");
	else stream.end();
	const outcome = await read;
	if (outcome !== (fails ? "failed" : "read")) throw new Error(`load ${load}: ${outcome}`);
	// The table would grow otherwise.
	await connection.run("ROLLBACK");
	await connection.run(`DROP VIEW ${view}`);
	if (load % 10 === 9) {
		await collectGarbage();
		samples.push(Math.round((process.memoryUsage().rss / 1024 / 1024) * 10) / 10);
	}
}
console.log(JSON.stringify(samples));
