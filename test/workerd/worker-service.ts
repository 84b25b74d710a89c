/**
 * The edge as it runs on Cloudflare, on this machine: both Workers in workerd, R2
 * and the Queue of its local runtime, and a real loader that the queue's consumer
 * calls with signed requests. The loader reads the bucket through R2's binding.
 */
import { mkdtemp, rm } from "node:fs/promises";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { createAdaptorServer } from "@hono/node-server";
import { createTestHarness } from "wrangler";
import { systemClock as clock } from "../../src/clock.ts";
import { createDuckdbSink } from "../../src/insert/duckdb/duckdb-sink.ts";
import { defaultLimits } from "../../src/limits.ts";
import { type Log, silentLog } from "../../src/log.ts";
import { createStoreReceiptBook } from "../../src/receipt/store-receipt-book.ts";
import { createLoaderHttp } from "../../src/replay/loader-http.ts";
import { nodeCodecs } from "../../src/replay/node-codecs.ts";
import { createStagedReader } from "../../src/replay/open-reader.ts";
import { runReplayLoop } from "../../src/replay/replay-loop.ts";
import { createIdMaker } from "../../src/stage/new-id.ts";
import type { ObjectStore } from "../../src/stage/object-store.ts";
import { createR2Store, type R2Bucket } from "../../src/stage/stores/r2-store.ts";
import { createKey } from "../../src/tenant/keys.ts";
import { createMemoryQueue } from "../../src/trigger/queues/memory-queue.ts";
import type { HttpService } from "../contract/http-service.ts";

process.env.CLOUDFLARE_CF_FETCH_ENABLED = "false";
process.env.WRANGLER_SEND_METRICS = "false";
process.env.CI = "1";

const root = new URL("../..", import.meta.url);
const loaderSecret = "a secret for tests, long enough for all";

export interface WorkerService extends HttpService {
	store: ObjectStore;
	/** Where the loader's DuckDB files lie. */
	folder: string;
	logs(): string;
	/** Where the queue's consumer calls the loader. */
	loaderUrl: string;
	/** Messages to the queue's consumer, past the queue. */
	deliver(bodies: unknown[]): Promise<QueueResult>;
}

interface QueueResult {
	explicitAcks: string[];
	retryMessages: unknown[];
}

export async function startWorkerService(
	options: { vars?: Record<string, string>; log?: Log; directParts?: boolean } = {},
): Promise<WorkerService> {
	const log = options.log ?? silentLog;
	const folder = await mkdtemp(join(tmpdir(), "duckdock-edge-"));
	const limits = {
		...defaultLimits,
		partBytes: 64 * 1024,
		maxPartBytes: 256 * 1024,
		maxParts: 20,
		maxUploadBytes: 1024 * 1024,
	};
	// The loader's address has to be known before the Workers start, its store comes after.
	let fetch = async (_request: Request) => new Response(null, { status: 503 });
	const loaderServer = createAdaptorServer({ fetch: (request) => fetch(request) });
	await new Promise<void>((resolve) => loaderServer.listen(0, "127.0.0.1", resolve));
	const { port } = loaderServer.address() as AddressInfo;

	const workers = (direct: { vars: Record<string, string>; secrets: Record<string, string> }) => ({
		root: root.pathname,
		workers: [
			{
				configPath: "wrangler.toml",
				secrets: direct.secrets,
				vars: {
					...direct.vars,
					DUCKDOCK_PART_BYTES: String(limits.partBytes),
					DUCKDOCK_MAX_PART_BYTES: String(limits.maxPartBytes),
					DUCKDOCK_MAX_PARTS: String(limits.maxParts),
					DUCKDOCK_MAX_UPLOAD_BYTES: String(limits.maxUploadBytes),
					DUCKDOCK_CORS_ORIGINS: "https://app.example.com",
					...options.vars,
				},
			},
			{
				configPath: "infra/wrangler.trigger.toml",
				vars: { LOADER_URL: `http://127.0.0.1:${port}` },
				secrets: { LOADER_SECRET: loaderSecret },
			},
		],
	});
	const server = createTestHarness(workers({ vars: {}, secrets: {} }));
	const { url } = await server.listen();
	if (options.directParts) {
		// The bucket's S3 API lies at an address that is known only now.
		await server.update(
			workers({
				vars: {
					DUCKDOCK_DIRECT_PARTS: "1",
					DUCKDOCK_STORE: "s3://duckdock-objects-dev",
					DUCKDOCK_S3_ENDPOINT: `${url.origin}/cdn-cgi/local/r2/s3`,
				},
				secrets: { AWS_ACCESS_KEY_ID: "local", AWS_SECRET_ACCESS_KEY: "local-secret" },
			}),
		);
	}
	const { OBJECTS } = await server.getWorker<{ OBJECTS: R2Bucket }>("duckdock-upload").getEnv();
	const store = createR2Store({ bucket: OBJECTS, fixedLength: unsizedHere });

	const stopping = new AbortController();
	const queue = createMemoryQueue({ clock, capacity: 100 });
	const receipts = createStoreReceiptBook({ store, clock, pollMs: { first: 50, last: 500 } });
	const sink = createDuckdbSink({
		target: `${folder}/{tenant}.duckdb`,
		singleTenant: null,
		copyArrow: false,
		clock,
		log,
	});
	const looping = runReplayLoop(
		{
			store,
			sink,
			clock,
			log,
			receipts,
			newId: createIdMaker(clock),
			createSha256: nodeCodecs.createSha256,
			...createStagedReader(limits),
		},
		queue,
		stopping.signal,
	);
	fetch = createLoaderHttp({
		secret: loaderSecret,
		clock,
		log,
		receipts,
		queue,
		isReady: () => true,
		patienceMs: 60_000,
		draining: stopping.signal,
	});

	return {
		url: url.origin,
		folder,
		store,
		makeKey: async (wanted) => (await createKey(store, clock, wanted)).key,
		limits,
		canWait: false,
		refusesEarly: true,
		informs: false,
		hasMetrics: false,
		openMetrics: false,
		corsOrigin: "https://app.example.com",
		loaderUrl: `http://127.0.0.1:${port}`,
		async deliver(bodies) {
			const consumer = await server.getWorker("duckdock-trigger").getExport();
			const messages = bodies.map((body, at) => ({
				id: `m${at}`,
				timestamp: new Date(),
				attempts: 1,
				body,
			}));
			// biome-ignore lint/suspicious/noExplicitAny: the harness types what it does not know as any
			return (consumer as any).queue("duckdock-loads-dev", messages) as Promise<QueueResult>;
		},
		logs: () => JSON.stringify(server.getLogs()),
		async stop() {
			stopping.abort();
			await looping;
			await sink.close();
			await server.close();
			await new Promise<void>((resolve) => loaderServer.close(() => resolve()));
			await rm(folder, { recursive: true, force: true });
		},
	};
}

/** This side only writes small objects and receipts. */
function unsizedHere(): never {
	throw new Error("the tests' own store takes whole objects");
}
