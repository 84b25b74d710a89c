/** Streams that nobody keeps: never scanned, scanned and never read, read half-way, ended and being read. */
import process from "node:process";
import { RecordBatchStream } from "../../index.js";
import { collectGarbage, connect, fields, open, rowsOf, sleep } from "./shared.ts";

const connection = await connect();
const gone: Record<string, WeakRef<object>> = {};
function remember(name: string, stream: object): void {
	gone[name] = new WeakRef(stream);
}

await (async () => {
	const unscanned = new RecordBatchStream(fields);
	await unscanned.push(rowsOf(1000));
	remember("unscanned", unscanned);
	const unread = open(connection, "unread");
	await unread.push(rowsOf(1000));
	unread.end();
	remember("unread", unread);
})();
await (async () => {
	const halfway = open(connection, "halfway");
	await halfway.push(rowsOf(1000));
	remember("halfway", halfway);
	const body = rowsOf(1000).columns[0]?.buffers[1]?.buffer as ArrayBuffer;
	remember("body", body);
})();
const failing = connection.run("INSERT INTO target SELECT * FROM halfway").then(
	() => "inserted",
	(error: Error) => error.message,
);
await sleep(30);
await collectGarbage();
for (const [name, reference] of Object.entries(gone)) {
	if (reference.deref() !== undefined) throw new Error(`${name} is still reachable`);
}
console.log(`halfway: ${await failing}`);
for (const view of ["unread", "halfway"]) {
	const late = await connection.run(`SELECT * FROM ${view}`).then(
		(result) => `${result.rowCount} rows`,
		(error: Error) => error.message,
	);
	console.log(`${view}, read later: ${late}`);
}

// Ended, dropped, and read on: nothing is missing.
const slow = (async () => {
	const ended = open(connection, "ended", { capacityBatches: 1000 });
	const reading = connection.run("INSERT INTO target SELECT * FROM ended");
	for (let i = 0; i < 300; i++) await ended.push(rowsOf(20_000));
	ended.end();
	return reading;
})();
await sleep(10);
await collectGarbage();
console.log(`ended: ${(await slow).rowsChanged} rows`);
process.exitCode = 7;
