/**
 * The app on a real socket with everything in memory: real keys, staging, receipts
 * and limits; the loader alone is a small one that reads the bytes with
 * apache-arrow and counts rows. The suites that need tables use the whole service.
 */

import { createHash } from "node:crypto";
import type { AddressInfo } from "node:net";
import { createAdaptorServer } from "@hono/node-server";
import { tableFromIPC } from "apache-arrow";
import { servicePages } from "../../functions/service-pages.node.ts";
import { systemClock } from "../../src/clock.ts";
import { asIngestError, IngestError } from "../../src/errors.ts";
import type { Manifest, Receipt } from "../../src/flow.ts";
import { defaultLimits } from "../../src/limits.ts";
import { type Log, silentLog } from "../../src/log.ts";
import { createStoreReceiptBook } from "../../src/receipt/store-receipt-book.ts";
import { getJson, putJson } from "../../src/stage/json-object.ts";
import { createIdMaker } from "../../src/stage/new-id.ts";
import { manifestKey, tableKey } from "../../src/stage/object-keys.ts";
import type { ObjectStore } from "../../src/stage/object-store.ts";
import { createMemoryStore } from "../../src/stage/stores/memory-store.ts";
import { formatTableName } from "../../src/table-name.ts";
import { createKeyStore } from "../../src/tenant/key-store.ts";
import { createKey } from "../../src/tenant/keys.ts";
import type { AppDeps } from "../../src/upload/app-deps.ts";
import { createApp } from "../../src/upload/create-app.ts";
import { createMetrics } from "../../src/upload/metrics.ts";
import { informNode, rawHeadersOf, serverOptions } from "../../src/upload/node-server-options.ts";
import { problemOf } from "../../src/upload/problem-json.ts";
import { createRunningAppends } from "../../src/upload/running-appends.ts";
import type { HttpService } from "./http-service.ts";

export const memoryLimits = {
	...defaultLimits,
	partBytes: 64 * 1024,
	maxPartBytes: 256 * 1024,
	maxParts: 20,
	maxUploadBytes: 1024 * 1024,
};

export interface MemoryService extends HttpService {
	store: ObjectStore;
	deps: AppDeps;
	/** Milliseconds that a load takes from now on. */
	setLoadMs(ms: number): void;
	/** Loads fail with this until it is null again. */
	setFault(fault: IngestError | null): void;
}

export async function startMemoryService(
	options: { log?: Log; deps?: Partial<AppDeps> } = {},
): Promise<MemoryService> {
	const store = createMemoryStore();
	const clock = systemClock;
	const log = options.log ?? silentLog;
	let loadMs = 0;
	let fault: IngestError | null = null;
	const receipts = createStoreReceiptBook({ store, clock });
	const load = async (tenant: string, id: string) => {
		await new Promise((resolve) => setTimeout(resolve, loadMs));
		await receipts.write(await loadOnce(store, tenant, id, fault));
	};
	const deps: AppDeps = {
		store,
		clock,
		log,
		receipts,
		queue: { send: async ({ tenant, upload_id }) => void load(tenant, upload_id) },
		keyStore: createKeyStore({ store, clock, log }),
		limits: memoryLimits,
		newId: createIdMaker(clock),
		createSha256() {
			const hash = createHash("sha256");
			return { update: (bytes) => void hash.update(bytes), digestHex: () => hash.digest("hex") };
		},
		canWait: true,
		defaultWaitMs: 25_000,
		metrics: createMetrics(),
		isLoopbackPeer: () => false,
		rawHeaders: rawHeadersOf,
		inform: informNode,
		runningAppends: createRunningAppends(),
		pages: servicePages,
		corsOrigins: ["https://app.example.com"],
		...options.deps,
	};
	const app = createApp(deps);
	const server = createAdaptorServer({ fetch: app.fetch, serverOptions });
	await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
	const { port } = server.address() as AddressInfo;
	return {
		url: `http://127.0.0.1:${port}`,
		makeKey: async (wanted) => (await createKey(store, clock, wanted)).key,
		limits: deps.limits,
		canWait: deps.canWait,
		refusesEarly: false,
		informs: true,
		hasMetrics: true,
		openMetrics: false,
		corsOrigin: "https://app.example.com",
		store,
		deps,
		setLoadMs: (ms) => {
			loadMs = ms;
		},
		setFault: (next) => {
			fault = next;
		},
		stop: () =>
			new Promise((resolve) => {
				server.close(() => resolve());
				if ("closeAllConnections" in server) server.closeAllConnections();
			}),
	};
}

async function loadOnce(
	store: ObjectStore,
	tenant: string,
	id: string,
	fault: IngestError | null,
): Promise<Receipt> {
	const manifest = (await getJson<Manifest>(store, manifestKey(tenant, id)))!.value;
	const receipt = emptyReceipt(manifest);
	try {
		if (fault) throw fault;
		const bytes = await readParts(store, manifest);
		if (bytes.length === 0) throw new IngestError("not_arrow", "there are no bytes");
		const table = readTable(bytes);
		const digest = createHash("sha256").update(bytes).digest("base64");
		await putJson(store, await tableKey(tenant, manifest.table), {
			...manifest.table,
			columns: table.schema.fields.map(({ name }) => ({ name, type: "INTEGER", nullable: true })),
			rows: table.numRows,
		});
		return {
			...receipt,
			status: manifest.dry_run ? "dry_run" : "committed",
			rows_streamed: table.numRows,
			rows_inserted: table.numRows,
			bytes: bytes.length,
			repr_digest: `sha-256=:${digest}:`,
			committed_at: new Date().toISOString(),
		};
	} catch (error) {
		return { ...receipt, status: "failed", error: problemOf(asIngestError(error)) };
	}
}

function readTable(bytes: Uint8Array) {
	try {
		return tableFromIPC(bytes);
	} catch (cause) {
		throw new IngestError("not_arrow", "apache-arrow does not read it", { cause });
	}
}

async function readParts(store: ObjectStore, manifest: Manifest): Promise<Uint8Array> {
	const chunks: Uint8Array[] = [];
	for (const { key } of manifest.parts) {
		const { body } = (await store.get(key))!;
		for await (const chunk of body as unknown as AsyncIterable<Uint8Array>) chunks.push(chunk);
	}
	return Buffer.concat(chunks);
}

function emptyReceipt(manifest: Manifest): Receipt {
	return {
		load_id: manifest.upload_id,
		status: "staged",
		tenant: manifest.tenant,
		table: formatTableName(manifest.table),
		mode: manifest.mode,
		rows_streamed: 0,
		rows_inserted: 0,
		batches: 1,
		parts: manifest.parts.length,
		bytes: 0,
		repr_digest: "",
		created_table: false,
		columns: [],
		columns_defaulted: [],
		columns_added: [],
		warnings: [],
		source: manifest.source,
		attempts: 1,
		started_at: new Date().toISOString(),
		committed_at: null,
		duration_ms: 0,
		engine: "none",
	};
}
