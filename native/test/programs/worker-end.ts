/** A worker loads, or is terminated in the middle of a statement; the main thread goes on. Argument: which. */
import process from "node:process";
import { isMainThread, parentPort, Worker, workerData } from "node:worker_threads";
import { connect, open, rowsOf, sleep } from "./shared.ts";

const how = (isMainThread ? process.argv[2] : workerData) as string;

async function loadOnce(rounds: number): Promise<number> {
	const connection = await connect();
	const stream = open(connection, "incoming", { capacityBatches: 2 });
	const inserted = connection
		.run("INSERT INTO target SELECT * FROM incoming")
		.finally(() => stream.close());
	for (let i = 0; i < rounds; i++) await stream.push(rowsOf(5000, i * 5000));
	stream.end();
	return (await inserted).rowsChanged;
}

if (isMainThread) {
	const workers = how === "several" ? 3 : 1;
	// The main thread's own environment beside the workers', before and after them.
	if (how !== "alone") console.log(`main: ${await loadOnce(10)}`);
	for (let round = 0; round < 2; round++) {
		const results = await Promise.all(
			Array.from({ length: workers }, async () => {
				const worker = new Worker(new URL(import.meta.url), { workerData: how });
				const exited = new Promise((resolve) => worker.once("exit", resolve));
				const message = await new Promise((resolve, reject) => {
					worker.once("message", resolve);
					worker.once("error", reject);
				});
				if (how === "idle" || how.startsWith("terminated")) await worker.terminate();
				await exited;
				return message;
			}),
		);
		console.log(`workers: ${results.join(", ")}`);
	}
	if (how !== "alone") console.log(`main: ${await loadOnce(10)}`);
} else if (how.endsWith("-plain")) {
	const connection = await connect();
	connection.run("SELECT count(*) FROM range(200000000) t(i) WHERE i % 7 = 3").catch(() => {});
	await sleep(50);
	end("in the middle");
} else if (how === "idle") {
	const connection = await connect();
	const stream = open(connection, "incoming");
	await stream.push(rowsOf(5000));
	parentPort?.postMessage("queued");
	await sleep(60_000);
	stream.close();
} else if (how === "terminated" || how === "exit") {
	const connection = await connect();
	const stream = open(connection, "incoming");
	connection.run("INSERT INTO target SELECT * FROM incoming").catch(() => {});
	await stream.push(rowsOf(5000));
	await sleep(50);
	end("in the middle");
} else {
	parentPort?.postMessage(await loadOnce(20));
}

/** The main thread terminates this worker on the message, or it exits by itself. */
function end(message: string): void {
	parentPort?.postMessage(message);
	if (how.startsWith("exit")) setTimeout(() => process.exit(0), 30);
}
