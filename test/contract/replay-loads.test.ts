/** From staged bytes to rows and receipts, with the real sink. */
import { createHash } from "node:crypto";
import { gzipSync, zstdCompressSync } from "node:zlib";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { IngestError } from "../../src/errors.ts";
import type { Receipt } from "../../src/flow.ts";
import type { SinkDatabase } from "../../src/insert/batch-sink.ts";
import { takeLease } from "../../src/replay/lease.ts";
import { completeUpload } from "../../src/stage/complete-upload.ts";
import { readLeases } from "../../src/stage/lease-object.ts";
import { manifestKey, receiptKey, tableKey } from "../../src/stage/object-keys.ts";
import type { ObjectStore } from "../../src/stage/object-store.ts";
import { requestReplay } from "../../src/stage/request-replay.ts";
import { sweep } from "../../src/trigger/sweep.ts";
import { arrowNumbers, arrowStream } from "./arrow-bytes.ts";
import { bytesOf } from "./object-store.ts";
import { ReplayWorld } from "./replay-world.ts";

let world: ReplayWorld;
beforeEach(() => {
	world = new ReplayWorld();
});
afterEach(async () => {
	await world.stop();
	await world.fixture.remove();
});

const digestOf = (bytes: Uint8Array) =>
	`sha-256=:${createHash("sha256").update(bytes).digest("base64")}:`;

/** The rows of `main.{table}`, read after everything was let go. */
async function count(table: string): Promise<number> {
	await world.stop();
	const rows = await world.fixture.sql(`SELECT count(*)::INT FROM main."${table}"`);
	return rows[0]![0] as number;
}

async function ledger(): Promise<string[]> {
	await world.stop();
	const rows = await world.fixture.sql("SELECT load_id FROM _duckdock.loads ORDER BY load_id");
	return rows.map(([id]) => id as string);
}

/** The object's bytes with one of them turned over. */
async function corrupt(key: string): Promise<void> {
	const bytes = await bytesOf(world.store, key);
	bytes[bytes.length - 20]! ^= 1;
	await world.store.put(key, bytes);
}

describe("a staged upload", () => {
	it("becomes rows and a receipt, and leaves no lease", async () => {
		const bytes = arrowStream(3);
		const id = await world.ingest(bytes);
		world.start();
		const receipt = await world.receipt(id);
		expect(receipt).toMatchObject({
			load_id: id,
			status: "committed",
			table: "main.events",
			rows_streamed: 3,
			rows_inserted: 3,
			batches: 1,
			parts: 1,
			bytes: bytes.length,
			repr_digest: digestOf(bytes),
			attempts: 1,
			created_table: true,
		});
		expect(await count("events")).toBe(3);
		expect(await readLeases(world.store, "acme", id)).toEqual([]);
		expect(await ledger()).toEqual([id]);
	});

	it("is one byte sequence, however it was cut", async () => {
		const bytes = arrowStream(200);
		const cuts = [1, 7, 64, 1_000, bytes.length - 1];
		const parts = [0, ...cuts].map((from, at) => bytes.subarray(from, cuts[at] ?? bytes.length));
		const id = await world.upload(parts);
		world.start();
		const receipt = await world.receipt(id);
		expect(receipt).toMatchObject({ rows_inserted: 200, parts: 6, repr_digest: digestOf(bytes) });
		expect(await count("events")).toBe(200);
	});

	it("of N parts is loaded from N parts, each a stream of its own", async () => {
		const id = await world.upload([arrowNumbers(3), arrowNumbers(4, 3), arrowNumbers(5, 7)]);
		world.start();
		expect(await world.receipt(id)).toMatchObject({ rows_inserted: 12, batches: 3, parts: 3 });
		expect(await count("events")).toBe(12);
	});

	it.each([
		["gzip", gzipSync],
		["zstd", zstdCompressSync],
	] as const)(
		"in %s is staged as sent, and its receipt is of the Arrow bytes",
		async (coding, pack) => {
			const bytes = arrowStream(50);
			const packed = new Uint8Array(pack(bytes));
			const id = await world.ingest(packed, { content_encoding: coding });
			expect(await bytesOf(world.store, `uploads/acme/${id}/parts/00001`)).toHaveLength(
				packed.length,
			);
			world.start();
			expect(await world.receipt(id)).toMatchObject({
				rows_inserted: 50,
				bytes: bytes.length,
				repr_digest: digestOf(bytes),
			});
		},
	);

	it("shows its table with columns and rows as of the last load", async () => {
		world.start();
		await world.receipt(await world.ingest(arrowNumbers(3)));
		await world.receipt(await world.ingest(arrowNumbers(4)));
		// It was written after the receipt once, and who asked at once was told that there is no table.
		const key = await tableKey("acme", { schema: "main", table: "EVENTS" });
		const table = JSON.parse(new TextDecoder().decode(await bytesOf(world.store, key)));
		await world.stop();
		expect(table).toMatchObject({ schema: "main", table: "events", rows: 7 });
		expect(table.columns).toMatchObject([{ name: "id", type: "INTEGER" }]);
	});

	it("of a dry run is answered again when its completion is asked again", async () => {
		// All of its staging went once, and a caller whose answer was lost got upload_not_found.
		world.start();
		for (const body of [arrowNumbers(3), new Uint8Array(7)]) {
			const id = await world.ingest(body, { dry_run: true });
			await world.receipt(id);
			expect(await completeUpload(world.complete, "acme", id, { parts: 1 })).toEqual({
				kind: "started",
				bytes: 0,
				loadId: id,
			});
			expect(await world.keys(`uploads/acme/${id}/parts/`)).toEqual([]);
		}
	});

	it("of a dry run leaves a receipt, no table, no ledger row and no bytes", async () => {
		world.start();
		await world.receipt(
			await world.ingest(arrowNumbers(1), { table: { schema: "main", table: "x" } }),
		);
		const id = await world.ingest(arrowNumbers(3), { dry_run: true });
		const receipt = await world.receipt(id);
		expect(receipt).toMatchObject({ status: "dry_run", rows_inserted: 3, committed_at: null });
		expect(receipt.ddl?.join(";")).toContain("CREATE TABLE");
		await world.stop();
		expect(await world.keys(`uploads/acme/${id}/`)).toEqual([
			`uploads/acme/${id}/manifest.json`,
			`uploads/acme/${id}/upload.json`,
		]);
		const tables = await world.fixture.sql(
			"SELECT table_name FROM duckdb_tables() WHERE schema_name = 'main'",
		);
		expect(tables).toEqual([["x"]]);
		expect(await ledger()).toHaveLength(1);
	});
});

describe("what the caller said of the bytes", () => {
	it.each([
		["rows", { rows: 4 }, "row_count_mismatch"],
		["repr_digest", { repr_digest: digestOf(new Uint8Array(1)) }, "digest_mismatch"],
	])("and isn't so (%s) ends the load without a row", async (_, said, code) => {
		const id = await world.ingest(arrowNumbers(3), {}, said);
		world.start();
		const receipt = await world.receipt(id);
		expect(receipt.status).toBe("failed");
		expect(receipt.error).toMatchObject({ code, load_id: id, instance: `/v1/loads/${id}` });
		await world.stop();
		const found = await world.fixture.sql(
			"SELECT count(*)::INT FROM duckdb_tables() WHERE schema_name = 'main'",
		);
		expect(found).toEqual([[0]]);
	});

	it("and is so lets it pass", async () => {
		const bytes = arrowNumbers(3);
		const id = await world.ingest(bytes, {}, { rows: 3, repr_digest: digestOf(bytes) });
		world.start();
		expect((await world.receipt(id)).status).toBe("committed");
	});
});

describe("staged bytes that are not what they were", () => {
	it("end the load as digest_mismatch when they were exchanged", async () => {
		const id = await world.ingest(arrowNumbers(3));
		await corrupt(`uploads/acme/${id}/parts/00001`);
		world.start();
		expect((await world.receipt(id)).error).toMatchObject({ code: "digest_mismatch", part: 1 });
	});

	it("end the load as digest_mismatch when they rotted under the same ETag", async () => {
		const id = await world.ingest(arrowNumbers(1_000));
		const key = `uploads/acme/${id}/parts/00001`;
		const info = (await world.store.head(key))!;
		await corrupt(key);
		const rotten: ObjectStore = {
			...world.store,
			async get(name, options) {
				const { ifMatch: _, ...rest } = options ?? {};
				const object = await world.store.get(name, name === key ? rest : options);
				return object === null || name !== key ? object : { ...object, info };
			},
		};
		world.start({}, { store: rotten });
		expect((await world.receipt(id)).error).toMatchObject({ code: "digest_mismatch" });
	});

	it("end the load as upload_expired when they are gone", async () => {
		const id = await world.ingest(arrowNumbers(3));
		await world.store.delete(`uploads/acme/${id}/parts/00001`);
		world.start();
		expect((await world.receipt(id)).error).toMatchObject({ code: "upload_expired" });
		await expect(requestReplay(world.complete, "acme", id)).rejects.toMatchObject({
			code: "upload_expired",
		});
	});
});

describe("a load that is delivered again", () => {
	it("1,000 times is one load with one receipt", async () => {
		const id = await world.ingest(arrowNumbers(3));
		world.start();
		const receipt = await world.receipt(id);
		for (let n = 0; n < 1_000; n++) await world.queue.send({ tenant: "acme", upload_id: id });
		await world.stop();
		expect(await world.receipts.read("acme", id)).toEqual(receipt);
		expect(await count("events")).toBe(3);
	});

	it("after COMMIT and before its receipt gets that receipt from the ledger", async () => {
		const id = await world.ingest(arrowNumbers(3));
		world.start();
		const receipt = await world.receipt(id);
		await world.stop();
		await world.store.delete(receiptKey("acme", id));
		await world.queue.send({ tenant: "acme", upload_id: id });
		world.start({}, { sink: world.fixture.sink() });
		expect(await world.receipt(id)).toEqual(receipt);
		expect(await count("events")).toBe(3);
	});

	it("after COMMIT with bytes that are damaged by then gets its receipt, and not a failure", async () => {
		const id = await world.ingest(arrowNumbers(3));
		world.start();
		const receipt = await world.receipt(id);
		await world.stop();
		await world.store.delete(receiptKey("acme", id));
		await corrupt(`uploads/acme/${id}/parts/00001`);
		await world.queue.send({ tenant: "acme", upload_id: id });
		world.start({}, { sink: world.fixture.sink() });
		expect(await world.receipt(id)).toEqual(receipt);
		expect(await count("events")).toBe(3);
	});

	it("to two loaders at once is one load", async () => {
		const id = await world.ingest(arrowNumbers(3));
		const second = new AbortController();
		// Both believe that the other is gone: only the ledger stands between them.
		const process = { name: "x", isGone: () => true };
		const { runReplayLoop } = await import("../../src/replay/replay-loop.ts");
		const delivery = (n: number) => ({
			job: { tenant: "acme", upload_id: id },
			attempt: 1,
			ack: async () => void acked.push(n),
			retry: async () => void acked.push(n),
		});
		const acked: number[] = [];
		const once = (n: number) => ({
			send: async () => {},
			async *receive() {
				yield delivery(n);
			},
		});
		await Promise.all([
			runReplayLoop({ ...world.deps, process }, once(1), second.signal),
			runReplayLoop({ ...world.deps, process }, once(2), second.signal),
		]);
		expect(acked.sort()).toEqual([1, 2]);
		expect((await world.receipts.read("acme", id))?.status).toBe("committed");
		expect(await count("events")).toBe(3);
		expect(await ledger()).toEqual([id]);
	});

	it("whose loader died twice over it is failed without a look at its bytes, and can be replayed", async () => {
		const id = await world.ingest(arrowNumbers(3));
		let opened = 0;
		const queue = {
			send: async () => {},
			async *receive() {
				yield {
					job: { tenant: "acme", upload_id: id },
					attempt: 3,
					deaths: 2,
					opened: () => void opened++,
					ack: async () => {},
					retry: async () => {},
				};
			},
		};
		const { runReplayLoop } = await import("../../src/replay/replay-loop.ts");
		await runReplayLoop(world.deps, queue, new AbortController().signal);
		const receipt = await world.receipt(id);
		expect(opened).toBe(0);
		expect(receipt.error).toMatchObject({ code: "internal", retryable: true });
		expect(receipt.error?.detail).toContain("died 2 times");
		world.start();
		await requestReplay(world.complete, "acme", id);
		expect((await world.receipt(id)).status).toBe("committed");
	});
});

describe("loads that wait together", () => {
	it("share a transaction, and one bad upload doesn't fail its neighbours", async () => {
		const good = await Promise.all(
			Array.from({ length: 20 }, (_, n) => world.ingest(arrowNumbers(2, n * 2))),
		);
		const bad = await world.ingest(new TextEncoder().encode("no arrow at all, whatever it says"));
		const late = await world.ingest(arrowStream(2), { mode: "append" });
		world.start();
		const receipts = await Promise.all(good.map((id) => world.receipt(id)));
		expect(receipts.map(({ status }) => status)).toEqual(Array(20).fill("committed"));
		expect((await world.receipt(bad)).error?.code).toBe("not_arrow");
		expect((await world.receipt(late)).error?.code).toBe("schema_mismatch");
		expect(await count("events")).toBe(40);
		expect(await ledger()).toEqual([...good].sort());
	});

	it("are inserted in fewer transactions than there are loads", async () => {
		const ids = await Promise.all(
			Array.from({ length: 30 }, (_, n) => world.ingest(arrowNumbers(1, n))),
		);
		let transactions = 0;
		const sink = world.fixture.sink();
		const counting = {
			...sink,
			async open(tenant: string, signal: AbortSignal): Promise<SinkDatabase> {
				const database = await sink.open(tenant, signal);
				return {
					...database,
					insert(jobs, again) {
						transactions++;
						return database.insert(jobs, again);
					},
				};
			},
		};
		world.start({}, { sink: counting });
		await Promise.all(ids.map((id) => world.receipt(id)));
		expect(transactions).toBeLessThan(10);
		expect(await count("events")).toBe(30);
	});
});

describe("a world that fails for a while", () => {
	it("is met by trying again: a store that answers 500 loses nothing", async () => {
		let failing = 12;
		await world.fixture.remove();
		world = new ReplayWorld((store) => ({
			...store,
			get(key, options) {
				if (key.includes("/parts/") && failing-- > 0) {
					throw new IngestError("store_unavailable", "500");
				}
				return store.get(key, options);
			},
		}));
		failing = 3;
		const id = await world.ingest(arrowNumbers(3));
		world.start();
		const receipt = await world.receipt(id);
		expect(receipt).toMatchObject({ status: "committed", attempts: 4 });
		expect(await count("events")).toBe(3);
	});

	it("that can't take the receipt after COMMIT gets it later, once", async () => {
		let failing = 0;
		await world.fixture.remove();
		world = new ReplayWorld((store) => ({
			...store,
			put(key, body, options) {
				if (key.startsWith("loads/") && failing-- > 0) {
					throw new IngestError("store_unavailable", "500");
				}
				return store.put(key, body, options);
			},
		}));
		const id = await world.ingest(arrowNumbers(3));
		failing = 2;
		world.start();
		expect((await world.receipt(id)).status).toBe("committed");
		expect(await count("events")).toBe(3);
		expect(await ledger()).toEqual([id]);
	});

	it("and cannot clean up afterwards does not load a second time", async () => {
		let refusing = true;
		await world.fixture.remove();
		world = new ReplayWorld((store) => ({
			...store,
			delete(key) {
				if (refusing && !key.includes("/lease/")) {
					throw new IngestError("store_unavailable", "denied");
				}
				return store.delete(key);
			},
		}));
		const id = await world.ingest(arrowNumbers(3));
		world.start();
		await world.receipt(id);
		// The receipt comes first, then the lease goes.
		while ((await readLeases(world.store, "acme", id)).length > 0) {
			await new Promise((next) => setTimeout(next, 5));
		}
		const days = { now: () => Date.now() + 86_500_000, sleep: async () => {} };
		const clean = () =>
			sweep(
				{ ...world.complete, clock: days, send: (job) => world.queue.send(job), noticeMs: 0 },
				new AbortController().signal,
			);
		expect(await clean()).toMatchObject({ sent: 0, removed: [] });
		await world.queue.send({ tenant: "acme", upload_id: id });
		refusing = false;
		expect((await clean()).removed.length).toBeGreaterThan(0);
		await world.queue.send({ tenant: "acme", upload_id: id });
		expect(await count("events")).toBe(3);
		expect(await world.keys("uploads/")).toEqual([]);
	});
});

describe("a repeat of a key that no handler could compare", () => {
	const key = { idempotency_key: "order-7" };
	it("is compared by the loader: the first receipt for the same bytes, refused for others, and no row", async () => {
		const bytes = arrowNumbers(100);
		const half = bytes.length / 2;
		const first = await world.upload([bytes.subarray(0, half), bytes.subarray(half)], key);
		world.start();
		const receipt = await world.receipt(first);
		const same = await world.upload([bytes.subarray(0, 9), bytes.subarray(9)], key);
		expect(same).not.toBe(first);
		expect(await world.receipt(same)).toEqual(receipt);
		const other = Uint8Array.from(bytes);
		other[other.length - 20]! ^= 1;
		const reused = await world.upload([other.subarray(0, 9), other.subarray(9)], key);
		expect((await world.receipt(reused)).error?.code).toBe("idempotency_key_reused");
		const packed = await world.ingest(new Uint8Array(gzipSync(bytes)), {
			...key,
			content_encoding: "gzip",
		});
		expect(await world.receipt(packed)).toEqual(receipt);
		const { receipts } = await world.receipts.history("acme", { limit: 10 });
		expect(receipts.map(({ load_id }: Receipt) => load_id).sort()).toEqual([first, reused].sort());
		expect(await count("events")).toBe(100);
	});
});

describe("a store that has lost receipts", () => {
	it("gets them again from the ledger, with the history and the tables", async () => {
		world.start();
		const ids: string[] = [];
		for (let n = 0; n < 5; n++) ids.unshift(await world.ingest(arrowNumbers(2, n * 2)));
		const receipts = await Promise.all(ids.map((id) => world.receipt(id)));
		await world.stop();
		for (const prefix of ["loads/", "index/", "tables/", "uploads/"]) {
			for (const key of await world.keys(prefix)) await world.store.delete(key);
		}
		world.start({}, { sink: world.fixture.sink() });
		const other = await world.ingest(arrowNumbers(1), {
			table: { schema: "main", table: "other" },
		});
		await world.receipt(other);
		await expect.poll(async () => (await world.keys("tables/")).length).toBe(2);
		await world.stop();
		const { receipts: history } = await world.receipts.history("acme", { limit: 10 });
		expect(history.slice(1)).toEqual(receipts);
		expect(await world.keys("tables/")).toEqual([
			await tableKey("acme", { schema: "main", table: "events" }),
			await tableKey("acme", { schema: "main", table: "other" }),
		]);
		expect(await count("events")).toBe(10);
	});
});

describe("a loop that is told to stop", () => {
	it("ends what it runs, gives back what waits, and holds no lease", async () => {
		const ids = await Promise.all(
			Array.from({ length: 40 }, (_, n) => world.ingest(arrowNumbers(1, n))),
		);
		world.start({ maxShared: 1 });
		await world.receipt(ids[0]!);
		await world.stop();
		const leases = await Promise.all(ids.map((id) => readLeases(world.store, "acme", id)));
		expect(leases.flat()).toEqual([]);
		world.start({}, { sink: world.fixture.sink() });
		await Promise.all(ids.map((id) => world.receipt(id)));
		expect(await count("events")).toBe(40);
	});

	it("leaves alone a manifest that is a tombstone", async () => {
		const id = await world.ingest(arrowNumbers(1));
		await world.store.put(
			manifestKey("acme", id),
			new TextEncoder().encode(
				JSON.stringify({ closed: "aborted", tenant: "acme", upload_id: id, closed_at: "x" }),
			),
		);
		world.start();
		await world.receipt(await world.ingest(arrowNumbers(2)));
		expect(await count("events")).toBe(2);
	});
});

describe("a load whose loaders died and nobody counted", () => {
	/** A loader took it some seconds ago and was never heard of again. */
	const dead = (id: string, secondsAgo: number) =>
		takeLease(
			{
				store: world.store,
				newId: world.deps.newId,
				leaseMs: 15_000,
				clock: {
					now: () => Date.now() - 1_000 * secondsAgo,
					sleep: () => new Promise(() => {}),
				},
			},
			"acme",
			id,
		);

	it("is loaded where one lease was left, and counts that one's attempt", async () => {
		const id = await world.ingest(arrowStream(2));
		await dead(id, 60);
		world.start({}, { deathsFromLeases: true });
		expect(await world.receipt(id)).toMatchObject({ status: "committed", attempts: 2 });
		expect(await readLeases(world.store, "acme", id)).toEqual([]);
		expect(await count("events")).toBe(2);
	});

	it("is not opened again where two were left, until it is asked for again", async () => {
		const id = await world.ingest(arrowStream(2));
		await dead(id, 90);
		await dead(id, 60);
		const opened: string[] = [];
		const { openReader } = world.deps;
		world.start(
			{},
			{
				deathsFromLeases: true,
				openReader(source, upload, signal) {
					opened.push(upload.upload_id);
					return openReader(source, upload, signal);
				},
			},
		);
		expect(await world.receipt(id)).toMatchObject({
			status: "failed",
			error: { code: "internal", detail: expect.stringContaining("died 2 times") },
		});
		expect(opened).toEqual([]);
		expect(await readLeases(world.store, "acme", id)).toEqual([]);
		expect(await requestReplay(world.complete, "acme", id)).toBeNull();
		expect(await world.receipt(id)).toMatchObject({ status: "committed", rows_inserted: 2 });
		expect(await count("events")).toBe(2);
	});

	it("only gets its receipt where one of them had committed", async () => {
		const id = await world.ingest(arrowStream(2));
		world.start();
		const first = await world.receipt(id);
		await world.stop();
		await world.store.delete(receiptKey("acme", id));
		await dead(id, 90);
		await dead(id, 60);
		await world.queue.send({ tenant: "acme", upload_id: id });
		world.start({}, { deathsFromLeases: true });
		expect(await world.receipt(id)).toEqual(first);
		expect(await count("events")).toBe(2);
	});

	it("is held by nobody's leases where a supervisor counts deaths itself", async () => {
		const id = await world.ingest(arrowStream(2));
		await dead(id, 90);
		await dead(id, 60);
		world.start();
		expect(await world.receipt(id)).toMatchObject({ status: "committed", attempts: 1 });
	});
});
