/**
 * The loader on its own, for a container or a machine: signed names of jobs come in
 * over HTTP, rows go into DuckDB, receipts into the object store.
 *
 *   LOADER_SECRET=… LOADER_LISTEN=127.0.0.1:8788 node functions/replay.node.ts
 *
 * One loader a database file: it holds the file while it loads, and a second one
 * would wait. SIGTERM drains: what runs ends, what waits is for the next loader.
 */
import type { AddressInfo } from "node:net";
import process from "node:process";
import { serve } from "@hono/node-server";
import { systemClock } from "../src/clock.ts";
import { type Config, ConfigError, isLoopback } from "../src/config.ts";
import type { Log } from "../src/log.ts";
import { createStoreReceiptBook } from "../src/receipt/store-receipt-book.ts";
import { createLoaderHttp } from "../src/replay/loader-http.ts";
import { superviseLoader } from "../src/replay/supervise-loader.ts";
import { sendJob } from "../src/stage/request-replay.ts";
import { createMemoryQueue } from "../src/trigger/queues/memory-queue.ts";
import { minSecretChars } from "../src/trigger/signed-request.ts";
import { serverOptions } from "../src/upload/node-server-options.ts";
import { forkLoader } from "./all.node.ts";
import { openStores } from "./open-stores.node.ts";
import { runUntilStopped } from "./run-until-stopped.node.ts";
import { sweepForEver } from "./sweep-for-ever.ts";

export interface LoaderService {
	url: string;
	close(): Promise<void>;
}

/** A queue's consumer has 15 minutes; we answer before it gives up. */
const patienceMs = 10 * 60_000;
const sweepEveryMs = 60_000;
const clock = systemClock;

export async function startLoader(
	config: Config,
	options: { secret: string; listen: { host: string; port: number }; log: Log },
): Promise<LoaderService> {
	const { log, listen } = options;
	const { store } = await openStores(config);
	const queue = createMemoryQueue({ clock, capacity: 2_000 });
	const receipts = createStoreReceiptBook({ store, clock, pollMs: { first: 250, last: 2_000 } });
	const draining = new AbortController();
	const loader = superviseLoader({
		queue,
		store,
		receipts,
		clock,
		log: log.with({ part: "supervisor" }),
		fork: () => forkLoader(config, {}),
	});
	const fetch = createLoaderHttp({
		secret: options.secret,
		clock,
		log,
		receipts,
		queue,
		isReady: () => loader.isReady(),
		patienceMs,
		draining: draining.signal,
	});
	const server = await new Promise<ReturnType<typeof serve>>((resolve) => {
		const started = serve({ fetch, hostname: listen.host, port: listen.port, serverOptions }, () =>
			resolve(started),
		);
	});
	const { port } = server.address() as AddressInfo;
	const url = `http://${listen.host}:${port}`;
	log.info("loader listens", { url, store: store.description, target: config.target.template });
	const sweeping = sweepForEver(
		{
			store,
			receipts,
			clock,
			log,
			limits: config.limits,
			sendNow: async () => (job) => sendJob({ queue, log }, job),
			everyMs: sweepEveryMs,
			alone: false,
		},
		draining.signal,
	);

	return {
		url,
		async close() {
			draining.abort();
			await new Promise<void>((resolve) => {
				server.close(() => resolve());
				if ("closeIdleConnections" in server) server.closeIdleConnections();
			});
			await loader.stop();
			await sweeping;
		},
	};
}

/** The address from `LOADER_LISTEN`, the secret from `LOADER_SECRET`; all problems at once. */
function readLoaderEnvironment(environment: NodeJS.ProcessEnv) {
	const problems: string[] = [];
	const secret = environment.LOADER_SECRET ?? "";
	if (secret.length < minSecretChars) {
		problems.push(
			`LOADER_SECRET has ${secret.length} characters, at least ${minSecretChars} are needed`,
		);
	}
	const [, host = "", port = ""] =
		/^(.+):(\d{1,5})$/.exec(environment.LOADER_LISTEN ?? "127.0.0.1:8788") ?? [];
	if (host === "") problems.push("LOADER_LISTEN is HOST:PORT");
	if (host !== "" && !isLoopback(host) && environment.DUCKDOCK_BEHIND_PROXY !== "1") {
		problems.push(
			"LOADER_LISTEN is beyond loopback: set DUCKDOCK_BEHIND_PROXY=1 where a proxy ends TLS",
		);
	}
	if (problems.length > 0) throw new ConfigError(problems);
	return { secret, listen: { host, port: Number(port) } };
}

if (import.meta.main) {
	await runUntilStopped(async (config, log) =>
		startLoader(config, { ...readLoaderEnvironment(process.env), log }),
	);
}
