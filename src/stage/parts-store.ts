/** Where the objects of a manifest lie: files of `drop/` may be in a bucket of their own. */
import type { Manifest } from "../flow.ts";
import type { ObjectStore } from "./object-store.ts";

export interface PartStores {
	store: ObjectStore;
	/** Of `drop/`; absent: `store`. */
	dropStore?: ObjectStore;
}

export function partsStore(
	{ store, dropStore = store }: PartStores,
	{ source }: Pick<Manifest, "source">,
): ObjectStore {
	return source.kind === "drop" ? dropStore : store;
}
