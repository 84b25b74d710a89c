/** The object store that a configuration names. */
import type { StoreConfig } from "../src/config.ts";
import type { ObjectStore } from "../src/stage/object-store.ts";
import { createFsStore } from "../src/stage/stores/fs-store.ts";

export async function openStore(
	config: StoreConfig,
	{ fsync }: { fsync: boolean },
): Promise<ObjectStore> {
	if (config.kind === "file") return createFsStore({ folder: config.path, fsync });
	throw new Error(`there is no driver for ${config.kind} yet`);
}
