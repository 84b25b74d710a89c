/**
 * The service on one machine: HTTP, staging, queue and sweep in this process, the
 * loader in a child process.
 *
 *   startService(config, { log }) > { url, close() }
 *
 * `close` drains: no new connection, who waits gets a 202, the loader ends what
 * it runs. Whatever is not done then is durable and found at the next start.
 */
import { fork } from "node:child_process";
import { readFileSync } from "node:fs";
import { createServer as createHttpServer } from "node:http";
import { createServer as createHttpsServer } from "node:https";
import type { AddressInfo } from "node:net";
import { availableParallelism } from "node:os";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { type ServerType, serve } from "@hono/node-server";
import { systemClock } from "../src/clock.ts";
import { type Config, ConfigError } from "../src/config.ts";
import type { Log } from "../src/log.ts";
import { createStoreReceiptBook } from "../src/receipt/store-receipt-book.ts";
import { nodeCodecs } from "../src/replay/node-codecs.ts";
import { superviseLoader } from "../src/replay/supervise-loader.ts";
import { createIdMaker } from "../src/stage/new-id.ts";
import type { ObjectStore } from "../src/stage/object-store.ts";
import { patientStore } from "../src/stage/patient-store.ts";
import { sendJob } from "../src/stage/request-replay.ts";
import { createKeyStore } from "../src/tenant/key-store.ts";
import { hasQuotas, limitsOfTenants } from "../src/tenant/limits-of-tenants.ts";
import { createMemoryQueue } from "../src/trigger/queues/memory-queue.ts";
import { createApp } from "../src/upload/create-app.ts";
import { createIncomingBodies } from "../src/upload/incoming-body.ts";
import { createMetrics } from "../src/upload/metrics.ts";
import {
	informNode,
	isLoopbackPeer,
	maxHeadersCount,
	rawHeadersOf,
	serverOptions,
} from "../src/upload/node-server-options.ts";
import { createRunningAppends } from "../src/upload/running-appends.ts";
import { openStores } from "./open-stores.node.ts";
import { refuseUnparsed } from "./refuse-unparsed.node.ts";
import type { LoaderConfig } from "./run-loader.node.ts";
import { servicePages } from "./service-pages.node.ts";
import { sweepForEver } from "./sweep-for-ever.ts";

export interface ServiceOptions {
	log: Log;
	/** Small loads that wait together share a transaction, unless DUCKDOCK_SHARE=off. */
	share?: boolean;
	/** Loads that may wait before `busy`. */
	queueCapacity?: number;
	/** The loader's module; tests hand in one that dies at will. */
	loaderModule?: string;
	/** The store as opened, or something around it. */
	aroundStore?: (store: ObjectStore) => ObjectStore;
	/** Durable bytes from which on an upload is loaded while it arrives. */
	earlyFromBytes?: number;
	/** Between two sweeps, at least. */
	sweepEveryMs?: number;
	keepCommittedMs?: number;
}

export interface Service {
	url: string;
	/** Process id of the present loader. */
	loaderPid(): number | undefined;
	close(): Promise<void>;
}

const clock = systemClock;
const defaultSweepEveryMs = 60_000;
/** Requests that still stage a body when the service is told to stop. */
const closeWaitMs = 10_000;

export async function startService(config: Config, options: ServiceOptions): Promise<Service> {
	const { log } = options;
	const { aroundStore = (store) => store } = options;
	const { store, dropStore, keysStore } = await openStores(config, (opened) =>
		patientStore(aroundStore(opened), clock),
	);
	const newId = createIdMaker(clock);
	const queue = createMemoryQueue({ clock, capacity: options.queueCapacity ?? 2_000 });
	// Acknowledgements of the loader wake who waits; looking is but a net below.
	const receipts = createStoreReceiptBook({ store, clock, pollMs: { first: 1_000, last: 5_000 } });
	const stopping = new AbortController();
	const metrics = createMetrics();

	const loader = superviseLoader({
		queue,
		store,
		receipts,
		clock,
		log: log.with({ part: "supervisor" }),
		fork: () => forkLoader(config, options),
		earlyFromBytes: options.earlyFromBytes,
	});
	metrics.addSource(() => {
		const { waiting, open } = queue.counts();
		return [
			"# TYPE duckdock_queue_waiting gauge",
			`duckdock_queue_waiting ${waiting}`,
			"# TYPE duckdock_queue_open gauge",
			`duckdock_queue_open ${open}`,
			"# TYPE duckdock_loader_deaths_total counter",
			`duckdock_loader_deaths_total ${loader.deaths()}`,
			"# TYPE duckdock_early_loads_open gauge",
			`duckdock_early_loads_open ${loader.early.active()}`,
			"# TYPE duckdock_early_loads_total counter",
			...Object.entries(loader.early.counts()).map(
				([outcome, count]) => `duckdock_early_loads_total{outcome="${outcome}"} ${count}`,
			),
		].join("\n");
	});
	const sweeping = sweepForEver(
		{
			store,
			receipts,
			clock,
			log,
			limits: config.limits,
			sendNow: async () => (job) => sendJob({ queue, log }, job),
			everyMs: options.sweepEveryMs ?? defaultSweepEveryMs,
			alone: true,
			...(options.keepCommittedMs === undefined
				? {}
				: { keepCommittedMs: options.keepCommittedMs }),
		},
		stopping.signal,
	);

	const openIncoming = createIncomingBodies(setImmediate);
	const app = createApp({
		store,
		dropStore,
		clock,
		log,
		limits: config.limits,
		newId,
		createSha256: nodeCodecs.createSha256,
		notices: loader.early,
		queue,
		receipts,
		keyStore: createKeyStore({
			store: keysStore,
			clock,
			log,
			singleTenant: config.singleTenant,
			createSha256: nodeCodecs.createSha256,
		}),
		canWait: true,
		defaultWaitMs: 25_000,
		maxRequestBytes: config.maxRequestBytes,
		directParts: config.directParts,
		metrics,
		isLoopbackPeer: config.behindProxy ? () => false : isLoopbackPeer,
		rawHeaders: rawHeadersOf,
		inform: informNode,
		bodyOf: (request, env) => openIncoming(env) ?? request.body,
		runningAppends: createRunningAppends(),
		corsOrigins: config.corsOrigins,
		...limitsOfTenants(config, store, clock),
		async checkReady() {
			if (!loader.isReady()) throw new Error("the loader is not ready");
			await store.head("uploads/ready");
		},
		pages: servicePages,
		stopping: stopping.signal,
	});
	const server = await listen(config, app.fetch).catch(async (error) => {
		stopping.abort();
		await loader.stop();
		await sweeping;
		throw error;
	});
	const { port } = server.address() as AddressInfo;
	const { host } = config.listen;
	const scheme = config.tls === null ? "http" : "https";
	const url = `${scheme}://${host.includes(":") ? `[${host}]` : host}:${port}`;
	log.info("listening", { url, store: store.description, target: config.target.template });

	let closed: Promise<void> | null = null;
	return {
		url,
		loaderPid: () => loader.pid(),
		close() {
			closed ??= (async () => {
				stopping.abort();
				await closeServer(server);
				await loader.stop();
				await sweeping;
				log.info("stopped");
			})();
			return closed;
		},
	};
}

export function forkLoader(
	config: Config,
	options: Pick<ServiceOptions, "loaderModule" | "share">,
) {
	const { memoryLimit, threads, extensionFolder, lakeData } = config.engine;
	const loaderConfig: LoaderConfig = {
		store: config.store,
		dropStore: config.dropStore,
		fsync: config.fsync,
		target: config.target.template,
		singleTenant: config.singleTenant,
		...(memoryLimit === null ? {} : { memoryLimit }),
		...(threads === null ? {} : { threads }),
		extensionFolder,
		lakeData,
		copyArrow: process.env.DUCKDOCK_ARROW_COPY === "1",
		limits: config.limits,
		logLevel: config.logLevel,
		share: options.share ?? process.env.DUCKDOCK_SHARE !== "off",
		countUsage: hasQuotas(config.quotas),
	};
	const path = options.loaderModule ?? fileURLToPath(new URL("replay.child.ts", import.meta.url));
	// Statements that stream hold a thread of this pool each while they are fed.
	const poolSize =
		process.env.UV_THREADPOOL_SIZE ?? String(Math.max(8, 2 * availableParallelism()));
	// glibc gives each thread a heap of its own and gives what is freed back from their ends alone: of DuckDB's
	// threads 15 to 20 MiB more at the peak of a load, and no less processor time, than with two for all.
	const heaps = process.env.MALLOC_ARENA_MAX ?? "2";
	return fork(path, [JSON.stringify(loaderConfig)], {
		// Beside what `young-generation.node.ts` sets once modules are read, which this doesn't replace: it alone
		// spares full collections. Measured on top of it: 10 MiB less at the peak of a load of 1 GB, 30 of 4 GB.
		execArgv: [...process.execArgv, "--max-semi-space-size=4"],
		stdio: ["ignore", "ignore", "inherit", "ipc"],
		env: { ...process.env, UV_THREADPOOL_SIZE: poolSize, MALLOC_ARENA_MAX: heaps },
	});
}

function listen(
	config: Config,
	fetch: (request: Request, env: unknown) => Response | Promise<Response>,
): Promise<ServerType> {
	const { tls } = config;
	return new Promise<ServerType>((resolve, reject) => {
		const shared = {
			fetch,
			hostname: config.listen.host,
			port: config.listen.port,
			overrideGlobalObjects: false,
		};
		const server =
			tls === null
				? serve({ ...shared, createServer: createHttpServer, serverOptions }, () => resolve(server))
				: serve(
						{
							...shared,
							createServer: createHttpsServer,
							serverOptions: {
								...serverOptions,
								cert: readFileSync(tls.certPath),
								key: readFileSync(tls.keyPath),
							},
						},
						() => resolve(server),
					);
		if ("maxHeadersCount" in server) server.maxHeadersCount = maxHeadersCount;
		server.on("clientError", refuseUnparsed);
		server.once("error", reject);
	}).catch((error) => {
		throw new ConfigError([cannotListen(config, error)]);
	});
}

function cannotListen({ listen: { host, port }, tls }: Config, error: unknown): string {
	const { syscall, code, message } = error as NodeJS.ErrnoException;
	if (tls !== null && syscall !== "listen") {
		return `DUCKDOCK_TLS_CERT and DUCKDOCK_TLS_KEY are PEM files of a certificate and its key: ${message}`;
	}
	if (code === "EADDRINUSE") {
		return `DUCKDOCK_LISTEN is ${host}:${port}, which another program has`;
	}
	return `DUCKDOCK_LISTEN is ${host}:${port}, which can't be listened on: ${message}`;
}

async function closeServer(server: ServerType): Promise<void> {
	const ended = new Promise<void>((resolve) => server.close(() => resolve()));
	if ("closeIdleConnections" in server) server.closeIdleConnections();
	const timer = setTimeout(() => {
		if ("closeAllConnections" in server) server.closeAllConnections();
	}, closeWaitMs);
	await ended;
	clearTimeout(timer);
}
