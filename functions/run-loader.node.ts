/**
 * The loader's process: jobs in over IPC, rows into DuckDB, receipts into the store.
 *
 * SIGTERM and a `drain` let what runs end. When the parent is gone it leaves at
 * once: a transaction that is open then is rolled back, and its upload is found by
 * the next service's sweep.
 */
import { tmpdir } from "node:os";
import process from "node:process";
import { setImmediate } from "node:timers/promises";
import { systemClock } from "../src/clock.ts";
import type { StoreConfig } from "../src/config.ts";
import type { BatchSink } from "../src/insert/batch-sink.ts";
import { createDuckdbSink } from "../src/insert/duckdb/duckdb-sink.ts";
import type { Limits } from "../src/limits.ts";
import { createLog, type LogLevel } from "../src/log.ts";
import { createStoreReceiptBook } from "../src/receipt/store-receipt-book.ts";
import {
	aliveEveryMs,
	createLoaderSide,
	gather,
	type ToLoader,
} from "../src/replay/loader-link.ts";
import { nodeCodecs } from "../src/replay/node-codecs.ts";
import { createStagedReader } from "../src/replay/open-reader.ts";
import { createParquetCopies } from "../src/replay/parquet-copies.ts";
import { takeParquet } from "../src/replay/parquet-drops.ts";
import { runReplayLoop } from "../src/replay/replay-loop.ts";
import { thisProcess } from "../src/replay/this-process.ts";
import { createIdMaker } from "../src/stage/new-id.ts";
import type { ObjectStore } from "../src/stage/object-store.ts";
import { patientStore } from "../src/stage/patient-store.ts";
import { parseTarget } from "../src/target-template.ts";
import type { ReplayQueue } from "../src/trigger/replay-queue.ts";
import { engineOptions } from "./engine-options.node.ts";
import { openStore } from "./open-store.node.ts";

/** What the parent says at the start; secrets stay in the environment. */
export interface LoaderConfig {
	store: StoreConfig;
	/** Of files under `drop/`; null: in `store`. */
	dropStore?: StoreConfig | null;
	fsync: boolean;
	target: string;
	singleTenant: string | null;
	memoryLimit?: string;
	threads?: number;
	extensionFolder?: string | null;
	lakeData?: string | null;
	copyArrow: boolean;
	limits: Limits;
	logLevel: LogLevel;
	/** Small loads that wait together share a transaction. */
	share: boolean;
	/** Whether handlers need the tenants' usage. */
	countUsage: boolean;
}

const threadPoolSize = Number(process.env.UV_THREADPOOL_SIZE ?? 4);
/** Four loads, two that are early, and two threads for the bytes of all of them. */
const minPoolSize = 8;

/** The drivers as constructed here, or something around them. */
export interface LoaderDrivers {
	store: ObjectStore;
	sink: BatchSink;
	queue: ReplayQueue;
}

/**
 * Whether uploads are loaded while they arrive. Not into lakes, whose transactions exclude each other; and
 * each holds a thread of libuv's pool while it waits for bytes, of which the ordinary loads need theirs.
 */
function loadsEarly({ target }: LoaderConfig): boolean {
	return parseTarget(target).kind === "file" && threadPoolSize >= minPoolSize;
}

export async function runLoader(
	config: LoaderConfig,
	around: (drivers: LoaderDrivers) => LoaderDrivers = (drivers) => drivers,
): Promise<void> {
	const log = createLog(config.logLevel, (line) => process.stderr.write(`${line}\n`), {
		process: "loader",
	});
	const clock = systemClock;
	const stop = new AbortController();

	const say = gather((messages) => {
		if (process.connected) process.send?.(messages);
	});
	const jobs = createLoaderSide(say);
	process.on("message", (message: ToLoader) => {
		if (message.type === "drain") stop.abort();
		else jobs.take(message);
	});
	process.on("disconnect", () => {
		if (!stop.signal.aborted) process.exit(1);
	});
	// A terminal's Ctrl-C reaches us too; the parent says when to go.
	process.on("SIGINT", () => {});
	process.on("SIGTERM", () => stop.abort());

	const copies = createParquetCopies(tmpdir(), nodeCodecs.createSha256);
	const { store, sink, queue } = around({
		store: patientStore(await openStore(config.store, config), clock),
		sink: createDuckdbSink({
			target: config.target,
			singleTenant: config.singleTenant,
			...engineOptions({
				engine: {
					memoryLimit: config.memoryLimit ?? null,
					threads: config.threads ?? null,
					extensionFolder: config.extensionFolder ?? null,
					lakeData: config.lakeData ?? null,
				},
			}),
			copyArrow: config.copyArrow,
			parquetFolder: copies.folder,
			threadPoolSize,
			clock,
			log,
		}),
		queue: jobs,
	});
	const reader = createStagedReader(config.limits);
	say({ type: "ready" });
	setInterval(() => say({ type: "alive" }), aliveEveryMs).unref();
	await runReplayLoop(
		{
			store,
			...(config.dropStore ? { dropStore: await openStore(config.dropStore, config) } : {}),
			sink,
			clock,
			log,
			receipts: createStoreReceiptBook({ store, clock }),
			newId: createIdMaker(clock),
			createSha256: nodeCodecs.createSha256,
			process: thisProcess,
			...reader,
			...takeParquet(reader, { copies, sink, limits: config.limits }),
		},
		queue,
		stop.signal,
		{
			countUsage: config.countUsage,
			...(config.share ? {} : { maxShared: 1 }),
			...(loadsEarly(config) ? { early: jobs.early } : {}),
		},
	);
	await sink.close();
	// What was said last is sent at the end of this turn.
	await setImmediate();
	process.disconnect?.();
	process.exit(0);
}
