/**
 * The upload side on Cloudflare Workers: the same app, R2 for objects, a Queue to
 * tell the loader. No DuckDB, no native code, no Node.
 */
import { earlyBytes, refuseEarly } from "../src/arrow/refuse-early.ts";
import { systemClock } from "../src/clock.ts";
import { type Config, ConfigError, readConfig } from "../src/config.ts";
import { createLog } from "../src/log.ts";
import { createStoreReceiptBook } from "../src/receipt/store-receipt-book.ts";
import { createIdMaker } from "../src/stage/new-id.ts";
import type { StreamingSha256 } from "../src/stage/stage-upload.ts";
import { createPresignPut, type PresignPut } from "../src/stage/stores/presign-put.ts";
import { createR2Store, type R2Bucket } from "../src/stage/stores/r2-store.ts";
import { createBindingRate, type RateLimitBinding } from "../src/tenant/binding-rate.ts";
import { createKeyStore } from "../src/tenant/key-store.ts";
import { limitsOfTenants } from "../src/tenant/limits-of-tenants.ts";
import {
	createCloudflareQueue,
	type QueueBinding,
} from "../src/trigger/queues/cloudflare-queue.ts";
import { createApp } from "../src/upload/create-app.ts";
import { pageFile, pageHeaders } from "../src/upload/page-headers.ts";

/** Bindings of `wrangler.toml`; the variables are those of the environment table. */
interface Env {
	OBJECTS: R2Bucket;
	/** Where keys lie in a bucket of their own. */
	KEYS?: R2Bucket;
	LOADS: QueueBinding;
	/** Requests of a key, counted for all isolates of a location; `[[ratelimits]]` with a period of 60. */
	RATE?: RateLimitBinding;
	/** An API token of the bucket, where parts go straight to it: `wrangler secret put`. */
	AWS_ACCESS_KEY_ID?: string;
	AWS_SECRET_ACCESS_KEY?: string;
	/** `/docs` and `/console`, as `functions/build-assets.node.ts` writes them. */
	ASSETS?: Assets;
	[name: string]: unknown;
}

interface Assets {
	fetch(request: Request): Promise<Response>;
}

interface ExecutionContext {
	waitUntil(work: Promise<unknown>): void;
}

/** workerd's own classes, not in the web's types. */
declare const FixedLengthStream: new (size: number) => TransformStream<Uint8Array, Uint8Array>;
type DigestStream = WritableStream<Uint8Array> & { readonly digest: Promise<ArrayBuffer> };
type WorkerCrypto = Crypto & { DigestStream: new (algorithm: string) => DigestStream };

/** What Cloudflare's Free and Pro zones take in one request. */
const defaultMaxRequestBytes = 100_000_000;
/** How long a request waits for its receipt that didn't say; each look is one read of R2. */
const defaultWaitMs = 25_000;

type App = ReturnType<typeof createApp>;
/** One app an isolate: the caches of keys live in it. */
const apps = new WeakMap<object, App>();
let context: ExecutionContext | null = null;

export default {
	fetch(
		request: Request,
		env: Env,
		executionContext: ExecutionContext,
	): Response | Promise<Response> {
		context = executionContext;
		const app = apps.get(env.OBJECTS) ?? createAppOf(env);
		apps.set(env.OBJECTS, app);
		return app.fetch(request, env);
	},
};

function createAppOf(env: Env): App {
	const text = Object.entries(env).filter((entry): entry is [string, string] => {
		return typeof entry[1] === "string";
	});
	const config = readConfig(Object.fromEntries(text));
	const clock = systemClock;
	const log = createLog(config.logLevel, (line) => console.log(line));
	const fixedLength = (size: number) => new FixedLengthStream(size);
	const store = createR2Store({
		bucket: env.OBJECTS,
		fixedLength,
		prefix: config.store.kind === "s3" && config.store.prefix ? `${config.store.prefix}/` : "",
		presignPut: config.directParts ? presignOf(config, env) : undefined,
	});
	const keys = env.KEYS ? createR2Store({ bucket: env.KEYS, fixedLength }) : store;
	const { ASSETS: assets } = env;
	return createApp({
		store,
		keyStore: createKeyStore({
			store: keys,
			clock,
			log,
			singleTenant: config.singleTenant,
			inBackground: (work) => context?.waitUntil(work),
		}),
		receipts: createStoreReceiptBook({ store, clock, pollMs: { first: 250, last: 2_000 } }),
		queue: createCloudflareQueue(env.LOADS),
		clock,
		log,
		limits: config.limits,
		newId: createIdMaker(clock),
		createSha256,
		refuseEarly: {
			bytes: earlyBytes,
			look: (head, complete) => refuseEarly(head, complete, config.limits),
		},
		bodyOf: (request) => (request.body === null ? null : inLargeChunks(request.body)),
		inBackground: (work) => context?.waitUntil(work),
		canWait: false,
		defaultWaitMs,
		maxRequestBytes: config.maxRequestBytes ?? defaultMaxRequestBytes,
		directParts: config.directParts,
		...limitsOfTenants(config, store, clock),
		...(env.RATE ? { rate: createBindingRate(env.RATE, 60) } : {}),
		metrics: null,
		corsOrigins: config.corsOrigins,
		...(assets ? { pages: (path) => pageOf(assets, path) } : {}),
	});
}

/** A file of `dist/assets`, with our headers: theirs are guessed from its name. */
async function pageOf(assets: Assets, path: string): Promise<Response | null> {
	const found = await assets.fetch(new Request(`https://assets${pageFile(path)}`));
	if (found.ok) return new Response(found.body, { headers: pageHeaders(path) });
	await found.body?.cancel();
	return null;
}

/**
 * The bucket of the binding by its S3 API, under the names that the loader reads it by.
 * https://developers.cloudflare.com/r2/api/s3/presigned-urls/
 */
function presignOf({ store }: Config, env: Env): PresignPut {
	const { AWS_ACCESS_KEY_ID: accessKeyId, AWS_SECRET_ACCESS_KEY: secretAccessKey } = env;
	if (store.kind !== "s3" || store.endpoint === null || !accessKeyId || !secretAccessKey) {
		throw new ConfigError([
			"DUCKDOCK_DIRECT_PARTS=1 needs DUCKDOCK_STORE=s3://BUCKET, DUCKDOCK_S3_ENDPOINT, " +
				"AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY of the bucket of OBJECTS",
		]);
	}
	return createPresignPut({
		credentials: async () => ({ accessKeyId, secretAccessKey }),
		region: "auto",
		bucketUrl: `${store.endpoint.replace(/\/+$/, "")}/${store.bucket}`,
	});
}

/** https://developers.cloudflare.com/workers/runtime-apis/streams/readablestreambyobreader/ */
interface ByobReader {
	readAtLeast(
		bytes: number,
		into: Uint8Array,
	): Promise<{ done: boolean; value: Uint8Array | undefined }>;
	cancel(reason: unknown): Promise<void>;
}

/** By itself a body comes in pieces of 4 KiB, and each costs a turn of every stream it passes. */
const chunkBytes = 256 * 1024;

function inLargeChunks(body: ReadableStream<Uint8Array>): ReadableStream<Uint8Array> {
	const reader = body.getReader({ mode: "byob" }) as unknown as ByobReader;
	return new ReadableStream<Uint8Array>(
		{
			async pull(controller) {
				const { done, value } = await reader.readAtLeast(chunkBytes, new Uint8Array(chunkBytes));
				if (value !== undefined && value.length > 0) controller.enqueue(value);
				if (done) controller.close();
			},
			cancel: (reason) => reader.cancel(reason),
		},
		{ highWaterMark: 0 },
	);
}

/** https://developers.cloudflare.com/workers/runtime-apis/web-crypto/#constructors */
function createSha256(): StreamingSha256 {
	const stream = new (crypto as WorkerCrypto).DigestStream("SHA-256");
	const writer = stream.getWriter();
	return {
		update: (bytes) => writer.write(bytes),
		async digestHex() {
			await writer.close();
			const digest = new Uint8Array(await stream.digest);
			return Array.from(digest, (byte) => byte.toString(16).padStart(2, "0")).join("");
		},
	};
}
