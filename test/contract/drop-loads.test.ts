/** Files that appear under `drop/`: from the bucket's message to rows, with the real sink. */
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { Receipt } from "../../src/flow.ts";
import { dropRuleKey } from "../../src/stage/drop-key.ts";
import { manifestKey } from "../../src/stage/object-keys.ts";
import type { ObjectInfo } from "../../src/stage/object-store.ts";
import { requestReplay } from "../../src/stage/request-replay.ts";
import { createMemoryStore } from "../../src/stage/stores/memory-store.ts";
import type { DropDeps } from "../../src/trigger/stage-drop.ts";
import { sweep } from "../../src/trigger/sweep.ts";
import { takeNotices } from "../../src/trigger/take-notices.ts";
import { arrowNumbers, arrowStream } from "./arrow-bytes.ts";
import { ReplayWorld } from "./replay-world.ts";

const bucket = "inbox";
const places = { store: { bucket: "lake", prefix: "" }, drop: { bucket, prefix: "" } };
let world: ReplayWorld;
const files = { store: createMemoryStore() };
let deps: DropDeps;
let sequence = 0;

beforeEach(async () => {
	world = new ReplayWorld();
	files.store = createMemoryStore();
	deps = {
		...world.complete,
		dropStore: files.store,
		receipts: world.receipts,
		send: (job) => world.queue.send(job),
	};
	await allow(["*.*"], ["append", "create", "replace"]);
	world.start({}, { dropStore: files.store });
});
afterEach(async () => {
	await world.stop();
	await world.fixture.remove();
});

const allow = (tables: string[], modes: string[]) =>
	files.store.put(dropRuleKey("acme"), new TextEncoder().encode(JSON.stringify({ tables, modes })));

/** What S3 says of an object that was just put. */
function eventOf(info: ObjectInfo, more: Record<string, unknown> = {}): string {
	sequence++;
	const key = info.key.split("/").map(encodeURIComponent).join("/").replaceAll("%20", "+");
	const object = {
		key,
		size: info.size,
		eTag: info.etag,
		sequencer: sequence.toString(16),
		...more,
	};
	const record = { eventName: "ObjectCreated:Put", s3: { bucket: { name: bucket }, object } };
	return JSON.stringify({ Records: [record] });
}

async function drop(key: string, bytes: Uint8Array): Promise<string> {
	return eventOf((await files.store.put(key, bytes))!);
}

const take = (message: string) => takeNotices(deps, places, message);

/** Every receipt there is, oldest first, once nothing runs any more. */
async function receipts(count: number): Promise<Receipt[]> {
	for (let round = 0; round < 400; round++) {
		const { receipts } = await world.receipts.history("acme", { limit: 2_000 });
		const over = receipts.filter(({ status }) => status === "committed" || status === "failed");
		if (over.length >= count && over.length === receipts.length) return receipts.reverse();
		await new Promise((wake) => setTimeout(wake, 25));
	}
	throw new Error(`no ${count} receipts`);
}

async function rows(sql: string): Promise<unknown[][]> {
	await world.stop();
	return world.fixture.sql(sql);
}

describe("a file under drop/", () => {
	it("becomes rows by its event, stays where it is and is named by its receipt", async () => {
		const key = "drop/acme/raw/events/day=1/a b+c.arrow";
		await take(await drop(key, arrowStream(3)));
		const [receipt] = await receipts(1);
		expect(receipt).toMatchObject({
			status: "committed",
			table: "raw.events",
			mode: "create_append",
			rows_inserted: 3,
			created_table: true,
			source: { kind: "drop", bucket, key, version: null },
		});
		expect(await files.store.head(key)).not.toBeNull();
		expect(await rows("SELECT count(*)::INT FROM raw.events")).toEqual([[3]]);
	});

	it("loads once however often its event comes: 1,000 times, some at once (case 27)", async () => {
		const event = await drop("drop/acme/main/t/x.arrow", arrowStream(2));
		for (let round = 0; round < 50; round++) {
			await Promise.all(Array.from({ length: 20 }, () => take(event)));
		}
		expect(await receipts(1)).toHaveLength(1);
		expect(await rows("SELECT count(*)::INT FROM t")).toEqual([[2]]);
	});

	it("loads each version once, and the same bytes again under the same key not at all", async () => {
		const key = "drop/acme/main/t/x.arrow";
		await take(await drop(key, arrowNumbers(2)));
		await receipts(1);
		const info = (await files.store.put(key, arrowNumbers(1)))!;
		await take(eventOf(info));
		await receipts(2);
		// Put once more, the same bytes have the same ETag.
		await take(eventOf(info));
		await take(await drop("drop/acme/main/t/other.arrow", arrowNumbers(1)));
		expect(await receipts(3)).toHaveLength(3);
		expect(await rows("SELECT count(*)::INT FROM t")).toEqual([[4]]);
	});

	it("is superseded when its object is another by now or gone (case 27)", async () => {
		const key = "drop/acme/main/t/x.arrow";
		const first = await drop(key, arrowNumbers(1));
		const second = await drop(key, arrowNumbers(2));
		await take(second);
		await take(first);
		const gone = await drop("drop/acme/main/t/gone.arrow", arrowNumbers(9));
		await files.store.delete("drop/acme/main/t/gone.arrow");
		await take(gone);
		const all = await receipts(3);
		expect(all.map(({ status, error }) => error?.code ?? status).sort()).toEqual([
			"committed",
			"superseded",
			"superseded",
		]);
		expect(await rows("SELECT count(*)::INT FROM t")).toEqual([[2]]);
	});

	it("replaces in the order of versions: an older one that was read in time ends as superseded (case 27)", async () => {
		await world.stop();
		const key = "drop/acme/main/t/mode=replace/x.arrow";
		const info = (await files.store.put(key, arrowNumbers(1)))!;
		// Two versions that are both still readable, as a bucket with versions has them; the newer comes first.
		await take(eventOf(info, { versionId: "v2", sequencer: "ff" }));
		await take(eventOf(info, { versionId: "v1", sequencer: "0e" }));
		world.start({ maxRunning: 1 }, { dropStore: files.store });
		const all = await receipts(2);
		expect(all.map(({ status, error }) => error?.code ?? status)).toEqual([
			"committed",
			"superseded",
		]);
		expect(await rows("SELECT count(*)::INT FROM t")).toEqual([[1]]);
	});

	it("replaces the table when its place says so", async () => {
		await take(await drop("drop/acme/main/t/a.arrow", arrowNumbers(3)));
		await receipts(1);
		await take(await drop("drop/acme/main/t/mode=replace/b.arrow", arrowNumbers(1, 7)));
		const [, second] = await receipts(2);
		expect(second).toMatchObject({ status: "committed", mode: "replace" });
		expect(await rows("SELECT count(*)::INT FROM t")).toEqual([[1]]);
	});

	it("is off without drop.json, and loads once there is one", async () => {
		await files.store.delete(dropRuleKey("acme"));
		const event = await drop("drop/acme/main/t/x.arrow", arrowStream(2));
		expect(await take(event)).toEqual([]);
		expect(await world.keys("")).toEqual([]);
		await allow(["t"], ["append", "create"]);
		await take(event);
		expect((await receipts(1))[0]).toMatchObject({ status: "committed" });
	});

	it("is refused with a receipt where the rule, the place or the name says no", async () => {
		await allow(["t", "_duckdock.*"], ["append"]);
		const refused = {
			"drop/acme/main/other/x": "forbidden_table",
			"drop/acme/_duckdock/loads/x": "forbidden_table",
			"drop/acme/main/t/mode=replace/x": "forbidden_mode",
			"drop/acme/main/t/mode=upsert/x": "forbidden_mode",
			"drop/acme/main/50%/x": "bad_request",
			// The table is missing and the rule makes none.
			"drop/acme/main/t/x": "table_not_found",
		};
		for (const key of Object.keys(refused)) await take(await drop(key, arrowStream(1)));
		const all = await receipts(6);
		for (const { source, error } of all) {
			const { key } = source as { key: keyof typeof refused };
			expect([key, error?.code]).toEqual([
				key,
				key.includes("upsert") ? "bad_request" : refused[key],
			]);
		}
		expect(await rows("SELECT count(*)::INT FROM duckdb_tables() WHERE table_name = 't'")).toEqual([
			[0],
		]);
	});

	it("fails once and never again by itself, and loads when it is mended or replayed (case 28)", async () => {
		const key = "drop/acme/main/t/x.arrow";
		const broken = await drop(key, new TextEncoder().encode("no Arrow at all"));
		for (let round = 0; round < 5; round++) await take(broken);
		const [failed] = await receipts(1);
		expect(failed).toMatchObject({ status: "failed", attempts: 1, error: { code: "not_arrow" } });
		await take(broken);
		await take(await drop(key, arrowNumbers(1)));
		const [, mended] = await receipts(2);
		expect(mended).toMatchObject({ status: "committed" });

		await allow(["*.*"], ["append"]);
		await take(await drop("drop/acme/main/later/y.arrow", arrowNumbers(2)));
		const [, , missing] = await receipts(3);
		expect(missing).toMatchObject({ error: { code: "table_not_found" } });
		await take(await drop("drop/acme/main/t/z.arrow", arrowNumbers(4)));
		await receipts(4);
		await rows("CREATE TABLE later AS SELECT * FROM t WHERE false");
		world.start({}, { dropStore: files.store });
		const replay = { ...world.complete, dropStore: files.store };
		expect(await requestReplay(replay, "acme", missing!.load_id)).toBeNull();
		expect(await world.receipt(missing!.load_id)).toMatchObject({ status: "committed" });
		expect(await rows("SELECT count(*)::INT FROM later")).toEqual([[2]]);
	});

	it("is loaded no second time when what was staged for it is cleaned up, or can't be (case 29)", async () => {
		const key = "drop/acme/main/t/x.arrow";
		const event = await drop(key, arrowNumbers(2));
		await take(event);
		const [receipt] = await receipts(1);
		const limits = { ...world.complete.limits, uploadTtlMs: 0 };
		const clean = { ...world.complete, limits, send: null, keepCommittedMs: 0 };
		const denied = {
			...clean,
			store: { ...world.store, delete: () => Promise.reject(new Error("access denied")) },
		};
		await sweep(denied, new AbortController().signal);
		await take(event);
		await sweep(clean, new AbortController().signal);
		expect(await world.store.head(manifestKey("acme", receipt!.load_id))).toBeNull();
		await take(event);
		expect(await receipts(1)).toHaveLength(1);
		expect(await files.store.head(key)).not.toBeNull();
		expect(await rows("SELECT count(*)::INT FROM t")).toEqual([[2]]);
	});
});
