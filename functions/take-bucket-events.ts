/** What a configuration's buckets announce, up to the jobs: files of `drop/` are staged on the way. */
import type { Clock } from "../src/clock.ts";
import type { Config, StoreConfig } from "../src/config.ts";
import type { ReplayJob } from "../src/flow.ts";
import { createIdMaker } from "../src/stage/new-id.ts";
import type { S3Places } from "../src/trigger/s3-event.ts";
import type { DropDeps } from "../src/trigger/stage-drop.ts";
import { takeNotices } from "../src/trigger/take-notices.ts";

/** One message in, the loads to run out; see `takeNotices`. */
export function takeBucketEvents(
	config: Pick<Config, "store" | "dropStore" | "limits">,
	deps: Pick<DropDeps, "store" | "dropStore" | "receipts" | "log"> & { clock: Clock },
): (body: string) => Promise<ReplayJob[]> {
	const drops: DropDeps = {
		...deps,
		limits: config.limits,
		newId: createIdMaker(deps.clock),
		// Its manifest's own event brings the load.
		send: async () => {},
	};
	const places: S3Places = {
		store: placeOf(config.store),
		drop: placeOf(config.dropStore ?? config.store),
	};
	return (body) => takeNotices(drops, places, body);
}

/** A store that is no bucket sends no events. */
function placeOf(store: StoreConfig): S3Places["store"] {
	if (store.kind !== "s3") return { bucket: "", prefix: "" };
	return { bucket: store.bucket, prefix: store.prefix === "" ? "" : `${store.prefix}/` };
}
