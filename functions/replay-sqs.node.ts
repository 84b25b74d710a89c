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
import { type Config, ConfigError } from "../src/config.ts";
import type { Log } from "../src/log.ts";
import { createStoreReceiptBook } from "../src/receipt/store-receipt-book.ts";
import { superviseLoader } from "../src/replay/supervise-loader.ts";
import { forkLoader } from "./all.node.ts";
import { openSqsQueue } from "./open-sqs-queue.node.ts";
import { openStores } from "./open-stores.node.ts";
import { runUntilStopped } from "./run-until-stopped.node.ts";
import { sweepForEver } from "./sweep-for-ever.ts";
import { takeBucketEvents } from "./take-bucket-events.ts";

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
	const { store, dropStore } = await openStores(config);
	const receipts = createStoreReceiptBook({ store, clock, pollMs: { first: 250, last: 2_000 } });
	const take = takeBucketEvents(config, { store, dropStore, receipts, clock, log });
	const queue = openSqsQueue(options.queueUrl, { log, take });
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
	const sweeping = sweepForEver(
		{
			store,
			receipts,
			clock,
			log,
			limits: config.limits,
			// What waits in the queue is on its way and not lost.
			sendNow: async () =>
				(await queue.waiting()) === 0 ? (job) => queue.send(job, { again: true }) : null,
			everyMs: options.sweepEveryMs ?? defaultSweepEveryMs,
			alone: false,
		},
		stopping.signal,
	);
	const server = createServer((_request, response) => {
		response.writeHead(loader.isReady() && !stopping.signal.aborted ? 200 : 503).end("{}\n");
	});
	await new Promise<void>((resolve) => server.listen(listen.port, listen.host, resolve));
	const { port } = server.address() as AddressInfo;
	const url = `http://${listen.host}:${port}`;
	log.info("loader listens", { url, store: store.description, target: config.target.template });

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

if (import.meta.main) {
	await runUntilStopped(async (config, log) => {
		const { sqsQueueUrl: queueUrl } = config;
		if (queueUrl === null) throw new ConfigError(["DUCKDOCK_SQS_QUEUE_URL is missing"]);
		const [, host = "127.0.0.1", port = "8788"] =
			/^(.+):(\d{1,5})$/.exec(process.env.LOADER_LISTEN ?? "") ?? [];
		return await startSqsLoader(config, { queueUrl, listen: { host, port: Number(port) }, log });
	});
}
