/**
 * Files of `drop/` that replace a table do so in the order of their versions: one that is
 * older than the last committed one of its key, or that is no longer the object of its
 * key, is `superseded`. Looked at before a byte is read and again before COMMIT, when
 * the table is already ours alone.
 */
import { IngestError } from "../errors.ts";
import type { Manifest } from "../flow.ts";
import type { SinkDatabase } from "../insert/batch-sink.ts";
import { isOlder } from "../stage/drop-source.ts";
import { type PartStores, partsStore } from "../stage/parts-store.ts";

export async function assertNewest(
	stores: PartStores,
	database: Pick<SinkDatabase, "findLastOfSource">,
	manifest: Manifest,
): Promise<void> {
	const { source, mode, upload_id: id, parts } = manifest;
	if (source.kind !== "drop" || mode !== "replace") return;
	const last = await database.findLastOfSource(source.bucket, source.key);
	if (last !== null && last.load_id !== id && last.source.kind === "drop") {
		if (isOlder(source, last.source)) {
			throw new IngestError(
				"superseded",
				`load ${last.load_id} has a newer version of ${source.key}, of ${last.source.last_modified}`,
				{ extra: { newer_load_id: last.load_id } },
			);
		}
	}
	const there = await partsStore(stores, manifest).head(source.key);
	if (there?.etag !== parts[0]?.etag) {
		throw new IngestError(
			"superseded",
			`${source.key} is no longer the object with ETag ${source.etag}`,
		);
	}
}
