/** All stores of a configuration; keys and dropped files lie in the store where nothing else is said. */
import type { Config } from "../src/config.ts";
import type { ObjectStore } from "../src/stage/object-store.ts";
import { openStore } from "./open-store.node.ts";

export interface Stores {
	store: ObjectStore;
	/** Of files under `drop/`. */
	dropStore: ObjectStore;
	keysStore: ObjectStore;
}

/** `around`: what is put around the store of uploads, and around the others where they are the same. */
export async function openStores(
	config: Pick<Config, "store" | "dropStore" | "keysStore" | "fsync">,
	around: (store: ObjectStore) => ObjectStore = (store) => store,
): Promise<Stores> {
	const store = around(await openStore(config.store, config));
	return {
		store,
		dropStore: config.dropStore === null ? store : await openStore(config.dropStore, config),
		keysStore: config.keysStore === null ? store : await openStore(config.keysStore, config),
	};
}
