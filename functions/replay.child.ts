/**
 * The loader: a child process of the service that owns DuckDB and may die.
 *
 * It is started by `all.node.ts` with its configuration as the one argument (JSON)
 * and an IPC channel over which names of jobs come in. SIGTERM and a `drain` let
 * what runs end. When the parent is gone it leaves at once: a transaction that is
 * open then is rolled back, and its upload is found by the next service's sweep.
 */
import process from "node:process";
import { systemClock } from "../src/clock.ts";
import { createDuckdbSink } from "../src/insert/duckdb/duckdb-sink.ts";
import { createLog } from "../src/log.ts";
import { createStoreReceiptBook } from "../src/receipt/store-receipt-book.ts";
import { createLoaderSide, type FromLoader, type ToLoader } from "../src/replay/loader-link.ts";
import { nodeCodecs } from "../src/replay/node-codecs.ts";
import { createStagedReader } from "../src/replay/open-reader.ts";
import { runReplayLoop } from "../src/replay/replay-loop.ts";
import { createIdMaker } from "../src/stage/new-id.ts";
import type { LoaderConfig } from "./all.node.ts";
import { openStore } from "./open-store.node.ts";

const config = JSON.parse(process.argv[2] ?? "null") as LoaderConfig;
const log = createLog(config.logLevel, (line) => process.stderr.write(`${line}\n`), {
	process: "loader",
});
const clock = systemClock;
const stop = new AbortController();

const queue = createLoaderSide((message: FromLoader) => {
	if (process.connected) process.send?.(message);
});
process.on("message", (message: ToLoader) => {
	if (message.type === "load") queue.take(message);
	else stop.abort();
});
process.on("disconnect", () => {
	if (!stop.signal.aborted) process.exit(1);
});
// A terminal's Ctrl-C reaches us too; the parent says when to go.
process.on("SIGINT", () => {});
process.on("SIGTERM", () => stop.abort());

const store = await openStore(config.store, config);
const sink = createDuckdbSink({
	target: config.target,
	singleTenant: config.singleTenant,
	memoryLimit: config.memoryLimit,
	threads: config.threads,
	copyArrow: config.copyArrow,
	threadPoolSize: Number(process.env.UV_THREADPOOL_SIZE ?? 4),
	clock,
	log,
});
process.send?.({ type: "ready" } satisfies FromLoader);
await runReplayLoop(
	{
		store,
		sink,
		clock,
		log,
		receipts: createStoreReceiptBook({ store, clock }),
		newId: createIdMaker(clock),
		createSha256: nodeCodecs.createSha256,
		...createStagedReader(config.limits),
	},
	queue,
	stop.signal,
	config.share ? {} : { maxShared: 1 },
);
await sink.close();
process.disconnect?.();
process.exit(0);
