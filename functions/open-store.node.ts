/** The object store that a configuration names. */
import type { StoreConfig } from "../src/config.ts";
import type { ObjectStore } from "../src/stage/object-store.ts";
import { createFsStore } from "../src/stage/stores/fs-store.ts";

export async function openStore(
	config: StoreConfig,
	{ fsync }: { fsync: boolean },
): Promise<ObjectStore> {
	if (config.kind === "file") return createFsStore({ folder: config.path, fsync });
	// The AWS client takes a third of a second to load; who stages in files never pays for it.
	const { openS3Store } = await import("./open-s3-store.node.ts");
	return openS3Store(config);
}
