/**
 * The upload side on AWS Lambda, behind a function URL or API Gateway (payload 2.0).
 *
 * Bodies come whole, in base64, and not over 6 MB: small loads go through
 * `/v1/ingest`, larger ones in parts straight to the bucket, by URLs that we sign.
 * The bucket's events tell the loader.
 */
import { createHash } from "node:crypto";
import { join } from "node:path";
import process from "node:process";
import { handle } from "hono/aws-lambda";
import { earlyBytes, refuseEarly } from "../src/arrow/refuse-early.ts";
import { systemClock } from "../src/clock.ts";
import { readConfig } from "../src/config.ts";
import { createLog } from "../src/log.ts";
import { createStoreReceiptBook } from "../src/receipt/store-receipt-book.ts";
import { createIdMaker } from "../src/stage/new-id.ts";
import { createKeyStore } from "../src/tenant/key-store.ts";
import { limitsOfTenants } from "../src/tenant/limits-of-tenants.ts";
import { createApp } from "../src/upload/create-app.ts";
import { assetPages } from "./asset-pages.node.ts";
import { openSqsQueue } from "./open-sqs-queue.node.ts";
import { openStores } from "./open-stores.node.ts";

/** 6 MB of base64 and the envelope around it: https://docs.aws.amazon.com/lambda/latest/dg/gettingstarted-limits.html */
const defaultMaxRequestBytes = 4_400_000;

const clock = systemClock;
const config = readConfig(process.env);
const log = createLog(config.logLevel, (line) => console.log(line));
const { store, dropStore, keysStore } = await openStores(config);
const queue =
	config.sqsQueueUrl === null
		? // The sweep finds what is to run again.
			{ send: async () => {} }
		: openSqsQueue(config.sqsQueueUrl, { log, take: async () => [] });

const app = createApp({
	store,
	dropStore,
	keyStore: createKeyStore({ store: keysStore, clock, log, singleTenant: config.singleTenant }),
	receipts: createStoreReceiptBook({ store, clock, pollMs: { first: 250, last: 2_000 } }),
	queue,
	clock,
	log,
	limits: config.limits,
	newId: createIdMaker(clock),
	createSha256() {
		const hash = createHash("sha256");
		return {
			update: (bytes) => void hash.update(bytes),
			digestHex: () => hash.digest("hex"),
		};
	},
	refuseEarly: {
		bytes: earlyBytes,
		look: (head, complete) => refuseEarly(head, complete, config.limits),
	},
	canWait: false,
	defaultWaitMs: 25_000,
	maxRequestBytes: config.maxRequestBytes ?? defaultMaxRequestBytes,
	directParts: true,
	// Put beside the bundle by `infra/bundle.ts`.
	pages: assetPages(join(import.meta.dirname, "assets")),
	...limitsOfTenants(config, store, clock),
	metrics: null,
	corsOrigins: config.corsOrigins,
});

export const handler = handle(app);
