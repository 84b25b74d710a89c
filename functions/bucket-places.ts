/** Where a configuration's buckets keep what their events are about. */
import type { Config, StoreConfig } from "../src/config.ts";
import type { S3Places } from "../src/trigger/s3-event.ts";

/** A store that is no bucket sends no events. */
export function bucketPlaces(config: Pick<Config, "store" | "dropStore">): S3Places {
	const place = (store: StoreConfig) => {
		if (store.kind !== "s3") return { bucket: "", prefix: "" };
		return { bucket: store.bucket, prefix: store.prefix === "" ? "" : `${store.prefix}/` };
	};
	return { store: place(config.store), drop: place(config.dropStore ?? config.store) };
}
