/** The service with a death of its own: HTTP, staging, queue and sweep in a process that may be killed at any of its calls. */
import process from "node:process";
import { startService } from "../../functions/all.node.ts";
import { readConfig } from "../../src/config.ts";
import { createLog } from "../../src/log.ts";
import type { ObjectStore } from "../../src/stage/object-store.ts";
import { createKiller, type Killer } from "./killer.ts";
import { kindOf, mortalStore } from "./mortal-drivers.ts";

const folder = process.env.CRASH_FOLDER!;
const mortal = process.env.CRASH_HTTP === "1";
const config = readConfig(
	Object.fromEntries(Object.entries(process.env).filter(([name]) => name.startsWith("DUCKDOCK_"))),
);
const log = createLog(config.logLevel, (line) => process.stderr.write(`${line}\n`));

/** A load is open here from its request's first object to its receipt, which a client that waits reads. */
function counted(store: ObjectStore, killer: Killer): ObjectStore {
	const open = new Set<string>();
	const idOf = (key: string) => key.split(/[/.]/).find((part) => part.length === 26) ?? "";
	return {
		...store,
		async put(key, body, options) {
			if (kindOf(key) === "upload" && !open.has(idOf(key))) {
				open.add(idOf(key));
				killer.open(1);
			}
			return store.put(key, body, options);
		},
		async get(key, options) {
			const object = await store.get(key, options);
			if (object !== null && kindOf(key) === "receipt" && open.delete(idOf(key))) {
				setTimeout(() => killer.open(-1), 50);
			}
			return object;
		},
	};
}

const service = await startService(config, {
	log,
	loaderModule: process.env.CRASH_LOADER_MODULE!,
	sweepEveryMs: 2_000,
	// Of three parts the loader is at the first two when the third one comes.
	earlyFromBytes: 16 * 1024,
	...(mortal
		? {
				aroundStore: (store) => {
					const killer = createKiller(folder, "http");
					return counted(mortalStore(store, killer), killer);
				},
			}
		: {}),
});
process.on("SIGTERM", () => service.close().then(() => process.exit(0)));
process.stdout.write(`${JSON.stringify({ url: service.url })}\n`);
