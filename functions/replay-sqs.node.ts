/**
 * The loader for a container or a machine on AWS: the bucket's events come out of SQS,
 * rows go into DuckDB, receipts into the bucket.
 *
 *   DUCKDOCK_STORE=s3://… DUCKDOCK_SQS_QUEUE_URL=https://… node functions/replay-sqs.node.ts
 *
 * Health is asked for at `LOADER_LISTEN` (`/healthz`). SIGTERM drains: what runs ends,
 * what waits becomes visible again for the next loader.
 */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import process from "node:process";
import { systemClock } from "../src/clock.ts";
import { type Config, ConfigError, readConfig } from "../src/config.ts";
import { createLog, type Log } from "../src/log.ts";
import { createStoreReceiptBook } from "../src/receipt/store-receipt-book.ts";
import { superviseLoader } from "../src/replay/supervise-loader.ts";
import { createIdMaker } from "../src/stage/new-id.ts";
import type { DropDeps } from "../src/trigger/stage-drop.ts";
import { sweep } from "../src/trigger/sweep.ts";
import { takeNotices } from "../src/trigger/take-notices.ts";
import { forkLoader } from "./all.node.ts";
import { bucketPlaces } from "./bucket-places.ts";
import { openSqsQueue } from "./open-sqs-queue.node.ts";
import { openStore } from "./open-store.node.ts";

export interface SqsLoader {
	/** Of `/healthz`. */
	url: string;
	loaderPid(): number | undefined;
	close(): Promise<void>;
}

export interface SqsLoaderOptions {
	queueUrl: string;
	listen: { host: string; port: number };
	log: Log;
	/** The loader's module; tests hand in one that dies at will. */
	loaderModule?: string;
	sweepEveryMs?: number;
}

const defaultSweepEveryMs = 5 * 60_000;
const clock = systemClock;

export async function startSqsLoader(
	config: Config,
	options: SqsLoaderOptions,
): Promise<SqsLoader> {
	const { log, listen } = options;
	const store = await openStore(config.store, config);
	const dropStore = config.dropStore === null ? store : await openStore(config.dropStore, config);
	const receipts = createStoreReceiptBook({ store, clock, pollMs: { first: 250, last: 2_000 } });
	const drops: DropDeps = {
		store,
		dropStore,
		receipts,
		clock,
		log,
		limits: config.limits,
		newId: createIdMaker(clock),
		// Its manifest's own event brings the load.
		send: async () => {},
	};
	const places = bucketPlaces(config);
	const queue = openSqsQueue(options.queueUrl, {
		log,
		take: (body) => takeNotices(drops, places, body),
	});
	const stopping = new AbortController();
	const loader = superviseLoader({
		queue,
		store,
		receipts,
		clock,
		log: log.with({ part: "supervisor" }),
		fork: () =>
			forkLoader(
				config,
				options.loaderModule === undefined ? {} : { loaderModule: options.loaderModule },
			),
	});
	const sweeping = sweepForEver();
	const server = createServer((_request, response) => {
		response.writeHead(loader.isReady() && !stopping.signal.aborted ? 200 : 503).end("{}\n");
	});
	await new Promise<void>((resolve) => server.listen(listen.port, listen.host, resolve));
	const { port } = server.address() as AddressInfo;
	const url = `http://${listen.host}:${port}`;
	log.info("loader listens", { url, store: store.description, target: config.target.template });

	/** What the events lost is found here. */
	async function sweepForEver(): Promise<void> {
		const { signal } = stopping;
		const everyMs = options.sweepEveryMs ?? defaultSweepEveryMs;
		while (!signal.aborted) {
			await clock.sleep(everyMs, signal).catch(() => {});
			if (signal.aborted) return;
			const isIdle = (await queue.waiting().catch(() => 1)) === 0;
			await sweep(
				{
					store,
					receipts,
					clock,
					log,
					limits: config.limits,
					send: isIdle ? (job) => queue.send(job, { again: true }) : null,
					noticeMs: everyMs,
				},
				signal,
			).catch((error) => log.warn("a sweep failed", { error: String(error) }));
		}
	}

	return {
		url,
		loaderPid: () => loader.pid(),
		async close() {
			stopping.abort();
			await loader.stop();
			await sweeping;
			await new Promise((resolve) => server.close(resolve));
		},
	};
}

async function main(): Promise<void> {
	const config = readConfig(process.env);
	if (config.sqsQueueUrl === null) throw new ConfigError(["DUCKDOCK_SQS_QUEUE_URL is missing"]);
	const [, host = "127.0.0.1", port = "8788"] =
		/^(.+):(\d{1,5})$/.exec(process.env.LOADER_LISTEN ?? "") ?? [];
	const log = createLog(config.logLevel, (line) => process.stderr.write(`${line}\n`));
	const listen = { host, port: Number(port) };
	const loader = await startSqsLoader(config, { queueUrl: config.sqsQueueUrl, listen, log });
	for (const signal of ["SIGINT", "SIGTERM"] as const) {
		process.once(signal, () => loader.close().then(() => process.exit(0)));
	}
}

if (import.meta.main) {
	main().catch((error) => {
		process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
		process.exit(2);
	});
}
