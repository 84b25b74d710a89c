/** The whole service on Node, in a folder of its own: files for objects, DuckDB files as targets. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startService } from "../../functions/all.node.ts";
import { systemClock } from "../../src/clock.ts";
import { type Environment, readConfig } from "../../src/config.ts";
import { type Log, silentLog } from "../../src/log.ts";
import type { ObjectStore } from "../../src/stage/object-store.ts";
import { createFsStore } from "../../src/stage/stores/fs-store.ts";
import { createKey } from "../../src/tenant/keys.ts";
import type { HttpService } from "./http-service.ts";

export interface NodeService extends HttpService {
	folder: string;
	store: ObjectStore;
	/** Stops this one and starts the next on the same files. */
	restart(): Promise<NodeService>;
}

export interface NodeServiceOptions {
	environment?: Environment;
	log?: Log;
}

export async function startNodeService(options: NodeServiceOptions = {}): Promise<NodeService> {
	return startIn(await mkdtemp(join(tmpdir(), "duckdock-http-")), options);
}

async function startIn(folder: string, options: NodeServiceOptions): Promise<NodeService> {
	const config = readConfig({
		DUCKDOCK_STORE: `file:${folder}/objects`,
		DUCKDOCK_TARGET: `${folder}/db/{tenant}.duckdb`,
		DUCKDOCK_LISTEN: "127.0.0.1:0",
		DUCKDOCK_FSYNC: "off",
		DUCKDOCK_PART_BYTES: "64KiB",
		DUCKDOCK_MAX_PART_BYTES: "256KiB",
		DUCKDOCK_MAX_PARTS: "20",
		DUCKDOCK_MAX_UPLOAD_BYTES: "1MiB",
		DUCKDOCK_CORS_ORIGINS: "https://app.example.com",
		DUCKDOCK_LOG: "error",
		...options.environment,
	});
	const service = await startService(config, { log: options.log ?? silentLog });
	const store = await createFsStore({ folder: `${folder}/objects`, fsync: false });
	while (!(await fetch(`${service.url}/readyz`)).ok) {
		await new Promise((resolve) => setTimeout(resolve, 50));
	}
	return {
		url: service.url,
		folder,
		store,
		makeKey: async (wanted) => (await createKey(store, systemClock, wanted)).key,
		limits: config.limits,
		canWait: true,
		refusesEarly: false,
		informs: true,
		hasMetrics: true,
		openMetrics: true,
		corsOrigin: "https://app.example.com",
		async restart() {
			await service.close();
			return startIn(folder, options);
		},
		async stop() {
			await service.close();
			await rm(folder, { recursive: true, force: true });
		},
	};
}
