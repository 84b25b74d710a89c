/** Uploads that are loaded while they arrive, with the real sink: what comes of them is what would have come without. */
import { createHash } from "node:crypto";
import { mkdtemp, readdir, readlink, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { tableFromArrays, tableToIPC } from "apache-arrow";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { type Clock, systemClock } from "../../src/clock.ts";
import type { ManifestPart } from "../../src/flow.ts";
import { createEarlyUploads, type EarlyUploads } from "../../src/replay/early-uploads.ts";
import { createLoaderSide } from "../../src/replay/loader-link.ts";
import { appendBody, readAppended } from "../../src/stage/append-body.ts";
import { completeStaged, completeUpload } from "../../src/stage/complete-upload.ts";
import { putPart } from "../../src/stage/put-part.ts";
import { stageBody } from "../../src/stage/stage-body.ts";
import { abortUpload, createUpload, type NewUpload } from "../../src/stage/stage-upload.ts";
import { createFsStore } from "../../src/stage/stores/fs-store.ts";
import { uploadOf } from "../unit/stage/stage-world.ts";
import { arrowNumbers } from "./arrow-bytes.ts";
import { ReplayWorld } from "./replay-world.ts";

const partBytes = 4_096;
const rows = 20_000;
/** Twenty parts of one stream. */
const stream = arrowNumbers(rows);
const cut = (bytes: Uint8Array) =>
	Array.from({ length: Math.ceil(bytes.length / partBytes) }, (_, at) =>
		bytes.subarray(at * partBytes, (at + 1) * partBytes),
	);
const parts = cut(stream);

const clockOf = (speed: number): Clock => {
	const start = systemClock.now();
	return {
		now: () => start + (systemClock.now() - start) * speed,
		sleep: (ms, signal) => systemClock.sleep(ms / speed, signal),
	};
};
/** Nobody waits five seconds for an upload that is silent. */
const fastClock = clockOf(20);
/** No upload is given up for its silence. */
const slowClock = clockOf(0.05);

let world: ReplayWorld;
let early: EarlyUploads;
/** Keys in the order in which they were read. */
let reads: string[];

function start(deps: { clock?: Clock } = {}): void {
	const link = createLoaderSide((message) => {
		if (message.type === "early-ended") early.ended(message.job, message.outcome);
	});
	early = createEarlyUploads({
		send(message) {
			if (message.type !== "drain") link.take(message);
			return true;
		},
		fromBytes: partBytes,
	});
	world.complete.notices = early;
	world.start({ early: link.early }, deps);
}

beforeEach(() => {
	reads = [];
	world = new ReplayWorld((store) => ({
		...store,
		get(key, options) {
			reads.push(key);
			return store.get(key, options);
		},
	}));
});
afterEach(async () => {
	await world.stop();
	await world.fixture.remove();
});

const bodyOf = (bytes: Uint8Array) => new Response(bytes as Uint8Array<ArrayBuffer>).body!;
const open = async (fields: Partial<NewUpload> = {}) => {
	const upload = uploadOf({ mode: "create_append", ...fields });
	return (await createUpload(world.complete, upload)).upload_id;
};
const put = (id: string, n: number, bytes: Uint8Array) =>
	putPart(world.complete, "acme", id, n, bodyOf(bytes));
const complete = (id: string, n: number, more = {}) =>
	completeUpload(world.complete, "acme", id, { parts: n, ...more });
const readsOfParts = (id: string) =>
	reads.filter((key) => key.startsWith(`uploads/acme/${id}/parts/`));
const ended = () => Object.values(early.counts()).reduce((sum, count) => sum + count, 0);

async function until(holds: () => boolean, what: string): Promise<void> {
	for (const deadline = Date.now() + 20_000; !holds(); ) {
		if (Date.now() > deadline) throw new Error(`not in time: ${what}`);
		await new Promise((next) => setTimeout(next, 5));
	}
}
/** The first `n` parts are there, and most of them are read. */
async function putAndRead(id: string, n: number): Promise<void> {
	for (let at = 0; at < n; at++) await put(id, at + 1, parts[at]!);
	await until(() => readsOfParts(id).length >= n, "the parts are read");
}

async function tables(): Promise<unknown[][]> {
	await world.stop();
	return world.fixture.sql(
		"SELECT table_name FROM duckdb_tables() WHERE schema_name <> '_duckdock' UNION ALL SELECT view_name FROM duckdb_views() WHERE NOT internal",
	);
}
async function count(table = "events"): Promise<unknown> {
	await world.stop();
	return (await world.fixture.sql(`SELECT count(*)::INT FROM main."${table}"`))[0]![0];
}
const loadsInLedger = async () =>
	(await world.fixture.sql("SELECT load_id FROM _duckdock.loads ORDER BY ALL")).flat();

describe("an upload that is loaded while it arrives", () => {
	it("is read before it is complete, and its receipt is that of any other load", async () => {
		start();
		const id = await open();
		await putAndRead(id, parts.length);
		expect(reads.some((key) => key.endsWith("manifest.json") && key.includes(id))).toBe(true);
		expect(early.counts().committed).toBe(0);
		await complete(id, parts.length, { rows });
		expect(await world.receipt(id)).toMatchObject({
			load_id: id,
			status: "committed",
			rows_streamed: rows,
			rows_inserted: rows,
			parts: parts.length,
			batches: 1,
			bytes: stream.length,
			repr_digest: `sha-256=:${createHash("sha256").update(stream).digest("base64")}:`,
			attempts: 1,
			created_table: true,
		});
		expect(early.counts()).toMatchObject({ committed: 1, "given up": 0 });
		// Each part once, and the head of the first one.
		expect(readsOfParts(id)).toHaveLength(parts.length + 1);
		expect(await count()).toBe(rows);
		expect(await loadsInLedger()).toEqual([id]);
		expect(await world.keys(`uploads/acme/${id}/lease/`)).toEqual([]);
	});

	it("may come in one request, in any coding", async () => {
		start();
		// Of a body, 256 KiB are read ahead: to tell that it is a small one.
		const many = 200_000;
		const long = arrowNumbers(many);
		const packed = new Uint8Array(gzipSync(long, { level: 0 }));
		for (const [bytes, content_encoding] of [
			[long, "identity"],
			[packed, "gzip"],
		] as const) {
			let at = 0;
			const gate = Promise.withResolvers<void>();
			const body = new ReadableStream<Uint8Array>(
				{
					async pull(controller) {
						if (at >= bytes.length / 2) await gate.promise;
						if (at >= bytes.length) return controller.close();
						controller.enqueue(bytes.slice(at, at + 1_000));
						at += 1_000;
					},
				},
				{ highWaterMark: 0 },
			);
			const upload = uploadOf({ mode: "create_append", content_encoding });
			const staging = stageBody(world.complete, upload, body);
			await until(() => reads.filter((key) => key.includes("/parts/")).length > 5, "it is read");
			reads.length = 0;
			gate.resolve();
			const completion = await completeStaged(world.complete, await staging);
			const id = completion.kind === "started" ? completion.loadId : "";
			expect(await world.receipt(id)).toMatchObject({ rows_inserted: many });
		}
		expect(early.counts()).toMatchObject({ committed: 2, "given up": 0 });
		expect(await count()).toBe(2 * many);
	});

	it("takes its parts in any order", async () => {
		start();
		const id = await open();
		const order = parts.map((_, at) => at + 1).sort((a, b) => (a % 4) - (b % 4) || a - b);
		for (const n of order) await put(id, n, parts[n - 1]!);
		await complete(id, parts.length);
		expect(await world.receipt(id)).toMatchObject({ rows_inserted: rows, attempts: 1 });
		expect(early.counts().committed).toBe(1);
		expect(await count()).toBe(rows);
	});

	it("shows nobody a row before it is complete, and leaves nothing when the loader stops", async () => {
		start();
		const id = await open();
		await putAndRead(id, parts.length - 1);
		expect(await tables()).toEqual([]);
		expect(early.counts()["given up"]).toBe(1);
		start();
		await put(id, parts.length, parts.at(-1)!);
		await complete(id, parts.length);
		expect(await world.receipt(id)).toMatchObject({ rows_inserted: rows, attempts: 1 });
		expect(await count()).toBe(rows);
	});

	it("is given up when it is silent, and loaded as any other once it is complete", async () => {
		start({ clock: fastClock });
		const id = await open();
		await putAndRead(id, 5);
		await until(() => early.counts()["given up"] === 1, "it is given up");
		expect(readsOfParts(id).length).toBeLessThan(parts.length);
		// It doesn't begin again.
		for (let at = 5; at < parts.length; at++) await put(id, at + 1, parts[at]!);
		await complete(id, parts.length);
		expect(await world.receipt(id)).toMatchObject({ rows_inserted: rows, attempts: 1 });
		expect(ended()).toBe(1);
		expect(await count()).toBe(rows);
	});

	it("of which a part is sent again after it was read is loaded from what it is in the end", async () => {
		start();
		const id = await open();
		const first = arrowNumbers(rows);
		const other = cut(arrowNumbers(rows, 1_000_000));
		for (let n = 1; n < parts.length; n++) await put(id, n, cut(first)[n - 1]!);
		await until(() => readsOfParts(id).length >= 5, "parts are read");
		await put(id, 3, other[2]!);
		await put(id, parts.length, parts.at(-1)!);
		await complete(id, parts.length);
		expect(await world.receipt(id)).toMatchObject({ rows_inserted: rows });
		expect(early.counts()).toMatchObject({ committed: 0, "given up": 1 });
		await world.stop();
		const [[large]] = (await world.fixture.sql(
			"SELECT count(*) FILTER (WHERE id >= 1000000)::INT FROM events",
		)) as [[number]];
		expect(large).toBeGreaterThan(1_000);
	});

	it("that is deleted leaves no row, no table and no view", async () => {
		start();
		const id = await open();
		await putAndRead(id, parts.length - 1);
		await abortUpload(world.complete, "acme", id);
		await until(() => ended() === 1, "it has ended");
		expect(early.counts()["given up"]).toBe(1);
		expect(await tables()).toEqual([]);
	});

	it.each([
		["bytes that are no Arrow", new Uint8Array(partBytes).fill(7)],
		["bytes of another stream", arrowNumbers(1_000).subarray(0, partBytes)],
	])("whose second part has %s gets its verdict when it is complete", async (_, bad) => {
		const ordinary = await world.upload([parts[0]!, bad, parts[2]!]);
		start();
		const without = (await world.receipt(ordinary)).error;
		const id = await open();
		await put(id, 1, parts[0]!);
		await put(id, 2, bad);
		await put(id, 3, parts[2]!);
		await new Promise((next) => setTimeout(next, 100));
		expect(await world.receipts.read("acme", id)).toBeNull();
		await complete(id, 3);
		const { status, error } = await world.receipt(id);
		expect(status).toBe("failed");
		expect(error).toMatchObject({ code: without!.code, detail: without!.detail });
		expect(early.counts()).toMatchObject({ committed: 0, "given up": 1 });
		expect(await tables()).toEqual([]);
	});

	it.each([
		["repr_digest", { repr_digest: `sha-256=:${"A".repeat(43)}=:` }, "digest_mismatch"],
		["rows", { rows: rows + 1 }, "row_count_mismatch"],
	])("that is not what its caller says at the end (%s) is refused", async (_, said, code) => {
		start();
		const id = await open();
		await putAndRead(id, parts.length);
		await complete(id, parts.length, said);
		const receipt = await world.receipt(id);
		expect(receipt).toMatchObject({ status: "failed", error: { code } });
		expect(early.counts()).toMatchObject({ committed: 0, "given up": 1 });
		expect(await tables()).toEqual([]);
	});

	it("goes on where a complete with too few parts was refused", async () => {
		start();
		const id = await open();
		await putAndRead(id, parts.length);
		await expect(complete(id, 3)).rejects.toMatchObject({ code: "bad_request" });
		await expect(complete(id, parts.length + 1)).rejects.toMatchObject({ code: "missing_parts" });
		await complete(id, parts.length);
		expect(await world.receipt(id)).toMatchObject({ rows_inserted: rows });
		expect(early.counts().committed).toBe(1);
		expect(await count()).toBe(rows);
	});

	it("whose staged bytes are others by the time they are read is refused", async () => {
		start();
		const id = await open();
		await putAndRead(id, 3);
		const n = parts.length;
		for (let at = 3; at < n - 1; at++) await put(id, at + 1, parts[at]!);
		await until(() => readsOfParts(id).length >= n - 1, "the parts are read");
		// The last one is turned over between its answer and its reading.
		const { part } = early;
		early.part = () => {};
		await put(id, n, parts[n - 1]!);
		early.part = part;
		const [key] = (await world.keys(`uploads/acme/${id}/parts/`)).slice(-1);
		const bad = parts[n - 1]!.slice();
		bad[5]! ^= 1;
		await world.store.put(key!, bad);
		await expect(complete(id, n)).resolves.toBeDefined();
		expect(await world.receipt(id)).toMatchObject({
			status: "failed",
			error: { code: "digest_mismatch" },
		});
		expect(await tables()).toEqual([]);
	});

	it("with a key whose load is there already inserts nothing", async () => {
		start();
		const keyed = { idempotency_key: "k" };
		const first = await world.upload(parts, keyed);
		await world.receipt(first);
		const id = await open(keyed);
		for (const [at, part] of parts.entries()) await put(id, at + 1, part);
		const answer = await complete(id, parts.length);
		const loadId = answer.kind === "started" ? answer.loadId : answer.receipt.load_id;
		await world.receipt(loadId);
		await until(() => ended() === 2, "both early loads have ended");
		expect(early.counts()).toMatchObject({ committed: 1, "given up": 1 });
		expect(await count()).toBe(rows);
		expect(await loadsInLedger()).toEqual([first]);
	});

	it("may be one that is appended to", async () => {
		start();
		const id = await open({ appends: { length: null, repr_digest: null } });
		for (let at = 0; at < stream.length; at += 10_000) {
			const upload = await readAppended(world.complete, "acme", id);
			await appendBody(world.complete, upload, bodyOf(stream.subarray(at, at + 10_000)));
		}
		await until(() => readsOfParts(id).length > parts.length, "its parts are read");
		const { parts: all } = await readAppended(world.complete, "acme", id);
		await complete(id, all.length);
		expect(await world.receipt(id)).toMatchObject({ rows_inserted: rows, parts: all.length });
		expect(early.counts()).toMatchObject({ committed: 1, "given up": 0 });
		expect(await count()).toBe(rows);
	});

	it("is no small upload, no dry run and no IPC file", async () => {
		start();
		const ids = Int32Array.from({ length: rows }, (_, at) => at);
		const file = new Uint8Array(tableToIPC(tableFromArrays({ id: ids }), "file"));
		const whole = await world.upload(cut(file));
		expect(await world.receipt(whole)).toMatchObject({ rows_inserted: rows });
		const small = await world.ingest(arrowNumbers(3));
		const dry = await world.upload(parts, { dry_run: true });
		expect(await world.receipt(small)).toMatchObject({ rows_inserted: 3 });
		expect(await world.receipt(dry)).toMatchObject({ rows_inserted: rows });
		expect(early.counts()).toMatchObject({ committed: 0, "given up": 2 });
	});
});

it("no file stays open, whatever becomes of a load", async () => {
	const folder = await mkdtemp(join(tmpdir(), "early-loads-"));
	const store = await createFsStore({ folder });
	await world.fixture.remove();
	world = new ReplayWorld(() => store);
	start();
	const openFiles = async () => {
		const fds = await readdir("/proc/self/fd").catch(() => []);
		const paths = fds.map((fd) => readlink(`/proc/self/fd/${fd}`).catch(() => ""));
		return (await Promise.all(paths)).filter((path) => path.startsWith(folder));
	};
	// Small files are read at once and closed.
	const long = arrowNumbers(1_000_000);
	const large = [0, 1, 2, 3].map((at) => long.subarray(at * 1_000_000, (at + 1) * 1_000_000));
	await world.receipt(await world.upload([...large, long.subarray(4_000_000)]));
	// Refused before a row is read: its parts stayed open until the collector found them.
	const refused = await world.upload(large, { mode: "create" });
	expect(await world.receipt(refused)).toMatchObject({ error: { code: "table_exists" } });
	const gone = await open();
	for (const [at, part] of large.entries()) await put(gone, at + 1, part);
	await abortUpload(world.complete, "acme", gone);
	await until(() => ended() === 3, "all have ended");
	await expect.poll(openFiles).toEqual([]);
	await rm(folder, { recursive: true });
});

describe("uploads that are loaded while they arrive", () => {
	it("two at once into one new table are both there", async () => {
		start();
		const ids = [await open(), await open()];
		for (let at = 0; at < parts.length; at++) {
			await Promise.all(ids.map((id) => put(id, at + 1, parts[at]!)));
		}
		await Promise.all(ids.map((id) => complete(id, parts.length)));
		for (const id of ids) expect(await world.receipt(id)).toMatchObject({ rows_inserted: rows });
		expect(await count()).toBe(2 * rows);
		expect(await loadsInLedger()).toEqual([...ids].sort());
	});

	it.each([
		["of the table that one of them makes", "events", "create_append"],
		["that replaces its table", "events", "replace"],
	] as const)("hold up no load %s", async (_, table, mode) => {
		start({ clock: slowClock });
		const id = await open();
		await putAndRead(id, parts.length - 1);
		const other = await world.ingest(arrowNumbers(3), { table: { schema: "main", table }, mode });
		// The first one is not complete, and may never be.
		expect(await world.receipt(other)).toMatchObject({ status: "committed", rows_inserted: 3 });
		expect(early.counts()["given up"]).toBe(1);
		await put(id, parts.length, parts.at(-1)!);
		await complete(id, parts.length);
		expect(await world.receipt(id)).toMatchObject({ rows_inserted: rows });
		expect(await count()).toBe(rows + 3);
	});

	it("hold up no other of them that is complete", async () => {
		start({ clock: slowClock });
		const slow = await open();
		await putAndRead(slow, parts.length - 1);
		// It waits for the table that the first one makes, without asking for it, until it is complete.
		const id = await open();
		for (const [at, part] of parts.entries()) await put(id, at + 1, part);
		await complete(id, parts.length);
		expect(await world.receipt(id)).toMatchObject({ rows_inserted: rows, attempts: 1 });
		expect(early.counts()).toMatchObject({ committed: 1, "given up": 1 });
		await put(slow, parts.length, parts.at(-1)!);
		await complete(slow, parts.length);
		expect(await world.receipt(slow)).toMatchObject({ rows_inserted: rows });
		expect(await count()).toBe(2 * rows);
	});

	it("go on beside loads of other tables and appends to their own", async () => {
		start();
		await world.receipt(await world.ingest(arrowNumbers(1)));
		const id = await open();
		await putAndRead(id, parts.length - 1);
		const beside = await world.ingest(arrowNumbers(3));
		const elsewhere = await world.ingest(arrowNumbers(4), {
			table: { schema: "main", table: "others" },
		});
		expect(await world.receipt(beside)).toMatchObject({ rows_inserted: 3 });
		expect(await world.receipt(elsewhere)).toMatchObject({ rows_inserted: 4 });
		await put(id, parts.length, parts.at(-1)!);
		await complete(id, parts.length);
		expect(await world.receipt(id)).toMatchObject({ rows_inserted: rows });
		expect(early.counts()).toMatchObject({ committed: 1, "given up": 0 });
		expect(await count()).toBe(rows + 4);
	});

	it("end when a load is there that must run alone", async () => {
		const { receive } = world.queue;
		world.queue.receive = async function* (signal) {
			for await (const delivery of receive.call(world.queue, signal)) {
				yield { ...delivery, deaths: 1 };
			}
		};
		start();
		const id = await open();
		await putAndRead(id, parts.length - 1);
		const suspect = await world.ingest(arrowNumbers(3));
		expect(await world.receipt(suspect)).toMatchObject({ status: "committed", attempts: 2 });
		expect(early.counts()["given up"]).toBe(1);
		await put(id, parts.length, parts.at(-1)!);
		await complete(id, parts.length);
		expect(await world.receipt(id)).toMatchObject({ rows_inserted: rows });
		expect(await count()).toBe(rows + 3);
	});
});

/** What the loader hears of an upload, part by part. */
describe("who is asked to load an upload while it arrives", () => {
	const part = (n: number, size = 10): ManifestPart => ({
		n,
		key: `p${n}`,
		size,
		etag: "e",
		sha256: null,
	});
	it("is asked once, from enough bytes on and with the first part, for two at a time", () => {
		const heard: string[] = [];
		const uploads = createEarlyUploads({
			send(message) {
				const parts = message.type === "early" ? message.parts.length : 1;
				if ("job" in message) heard.push(`${message.type} ${message.job.upload_id} ${parts}`);
				return true;
			},
			fromBytes: 20,
		});
		uploads.part("acme", "a", part(2));
		uploads.part("acme", "a", part(3));
		uploads.part("acme", "a", part(4));
		expect(heard).toEqual([]);
		uploads.part("acme", "a", part(1));
		uploads.part("acme", "a", part(5));
		for (const id of ["b", "c"]) uploads.part("acme", id, part(1, 21));
		expect(heard).toEqual(["early a 4", "part a 1", "early b 1"]);
		uploads.ended({ tenant: "acme", upload_id: "a" }, "given up");
		uploads.part("acme", "a", part(6));
		uploads.part("acme", "c", part(2));
		expect(heard.slice(3)).toEqual(["early c 2"]);
		expect(uploads.loaderDied().map((job) => job.upload_id)).toEqual(["b", "c"]);
		uploads.part("acme", "b", part(2));
		expect(heard).toHaveLength(4);
	});
});
