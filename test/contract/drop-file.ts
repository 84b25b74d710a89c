/** Files under `drop/` of a world's own store, announced as a bucket does it. */
import type { Receipt, ReplayJob } from "../../src/flow.ts";
import { dropRuleKey } from "../../src/stage/drop-key.ts";
import { takeNotices } from "../../src/trigger/take-notices.ts";
import type { ReplayWorld } from "./replay-world.ts";

const bucket = "lake";
const places = { store: { bucket, prefix: "" }, drop: { bucket, prefix: "" } };
let sequence = 0;

/** Every table, in every mode. */
export async function allowDrops({ store }: ReplayWorld): Promise<void> {
	const rule = { tables: ["*.*"], modes: ["append", "create", "replace"] };
	await store.put(dropRuleKey("acme"), new TextEncoder().encode(JSON.stringify(rule)));
}

/** The receipt of a file that was put under that name. */
export async function dropFile(
	world: ReplayWorld,
	name: string,
	bytes: Uint8Array,
): Promise<Receipt> {
	const info = (await world.store.put(`drop/acme/${name}`, bytes))!;
	return await announce(world, { key: info.key, size: info.size, eTag: info.etag });
}

/** What S3 says of an object, now or again; the receipt of its load. */
export async function announce(
	world: ReplayWorld,
	object: { key: string; size: number; eTag: string },
): Promise<Receipt> {
	sequence++;
	const key = object.key.split("/").map(encodeURIComponent).join("/");
	const s3 = {
		bucket: { name: bucket },
		object: { ...object, key, sequencer: sequence.toString(16) },
	};
	const message = JSON.stringify({ Records: [{ eventName: "ObjectCreated:Put", s3 }] });
	const sent: ReplayJob[] = [];
	const deps = {
		...world.complete,
		dropStore: world.store,
		receipts: world.receipts,
		async send(job: ReplayJob) {
			sent.push(job);
			await world.queue.send(job);
		},
	};
	await takeNotices(deps, places, message);
	if (sent.length > 0) return await world.receipt(sent[0]!.upload_id);
	const { receipts } = await world.receipts.history("acme", { limit: 1 });
	return receipts[0]!;
}
