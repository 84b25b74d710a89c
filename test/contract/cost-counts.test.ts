/**
 * What a load costs, counted and not timed: requests to the store, bytes copied.
 * The numbers are what it is today; a change that needs more says why here.
 */
import {
	Field,
	makeData,
	RecordBatch,
	RecordBatchStreamWriter,
	Schema,
	Struct,
} from "apache-arrow";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import {
	commentColumn,
	dateColumn,
	int64Column,
	moneyColumn,
	wordColumn,
} from "../../bench/datasets/columns.ts";
import { createRandom } from "../../bench/datasets/random.ts";
import { openArrow } from "../../src/arrow/open-arrow.ts";
import type { CheckedBatch } from "../../src/arrow/types.ts";
import { defaultLimits, rowGroupRows } from "../../src/limits.ts";
import { nodeCodecs } from "../../src/replay/node-codecs.ts";
import type { ObjectStore } from "../../src/stage/object-store.ts";
import { arrowNumbers } from "./arrow-bytes.ts";
import { type MemoryService, startMemoryService } from "./memory-service.ts";
import { ReplayWorld } from "./replay-world.ts";

describe("requests to the store", () => {
	let service: MemoryService;
	let key: string;
	const counts: Record<string, number> = {};
	beforeAll(async () => {
		service = await startMemoryService();
		key = await service.makeKey({ tenant: "acme", rights: ["append", "create", "read"] });
		const store = service.store as unknown as Record<string, (...args: never[]) => unknown>;
		for (const name of ["put", "get", "head", "list", "delete"] satisfies (keyof ObjectStore)[]) {
			const real = store[name]!;
			store[name] = (...args) => {
				counts[name] = (counts[name] ?? 0) + 1;
				return real(...args);
			};
		}
	});
	afterAll(() => service.stop());

	const ask = async (method: string, path: string, body?: Uint8Array<ArrayBuffer> | string) => {
		const headers = {
			Authorization: `Bearer ${key}`,
			...(typeof body === "string" ? { "Content-Type": "application/json" } : {}),
		};
		const response = await fetch(service.url + path, { method, headers, body: body ?? null });
		expect(response.ok, await response.clone().text()).toBe(true);
		return response.status === 204 ? null : ((await response.json()) as Record<string, string>);
	};
	/** Counts of what `work` asked of the store. */
	async function counted(work: () => Promise<unknown>): Promise<Record<string, number>> {
		for (const name of Object.keys(counts)) delete counts[name];
		await work();
		return { ...counts };
	}

	it("are one write a part, and reads that don't grow with the parts before it", async () => {
		// The key is read once and cached.
		await ask("GET", "/v1/loads");
		const upload = (await ask("POST", "/v1/uploads", JSON.stringify({ table: "t" })))!;
		const part = (n: number) =>
			counted(() => ask("PUT", `/v1/uploads/${upload.upload_id}/parts/${n}`, new Uint8Array(10)));
		const first = await part(1);
		for (let n = 2; n <= 9; n++) await part(n);
		const tenth = await part(10);
		expect(tenth).toEqual(first);
		const { put = 0, get = 0, head = 0, list = 0, delete: deleted = 0 } = first;
		// The bytes, and an empty object that keeps their digest.
		expect(put).toBeLessThanOrEqual(2);
		expect(get + head + list).toBeLessThanOrEqual(5);
		expect(deleted).toBe(0);
	});

	it("are two writes of the HTTP side for a small load in one request", async () => {
		await ask("POST", "/v1/ingest/warm", arrowNumbers(3));
		const before = await counted(() => ask("GET", "/v1/loads?limit=1"));
		expect(before.put ?? 0).toBe(0);
		const { put = 0 } = await counted(() => ask("POST", "/v1/ingest/warm", arrowNumbers(3)));
		// The part and manifest.json; then the loader's table, receipt and index.
		expect(put).toBeLessThanOrEqual(2 + 1 + 2 + 1);
	});
});

describe("bytes digested", () => {
	/** For each byte of the load: by who stages it, and by who loads it, in parts and as a whole. */
	async function digested(bytes: Uint8Array, fields = {}): Promise<Record<string, number>> {
		const world = new ReplayWorld();
		const real = nodeCodecs.createSha256;
		const counts = { staging: 0, parts: 0, whole: 0 };
		const counting = (what: keyof typeof counts) => () => {
			const hash = real();
			return {
				update(chunk: Uint8Array) {
					counts[what] += chunk.length;
					hash.update(chunk);
				},
				digestHex: () => hash.digestHex(),
			};
		};
		world.complete.createSha256 = counting("staging");
		try {
			nodeCodecs.createSha256 = counting("whole");
			world.start({}, { createSha256: counting("parts") });
			const id = await world.ingest(bytes, fields);
			expect(await world.receipt(id)).toMatchObject({ status: "committed" });
		} finally {
			nodeCodecs.createSha256 = real;
			await world.stop();
			await world.fixture.remove();
		}
		return Object.fromEntries(
			Object.entries(counts).map(([name, count]) => [name, count / bytes.length]),
		);
	}

	it("are each byte once by who stages it, with a key or without one", async () => {
		const bytes = arrowNumbers(10_000);
		for (const fields of [{}, { idempotency_key: "k" }]) {
			expect(await digested(bytes, fields)).toMatchObject({ staging: 1 });
		}
	});

	it("are each byte of one part once by who loads it, of many twice: each part, and all", async () => {
		expect(await digested(arrowNumbers(100))).toMatchObject({ parts: 1, whole: 0 });
		expect(await digested(arrowNumbers(10_000))).toMatchObject({ parts: 1, whole: 1 });
	});
});

describe("bytes copied", () => {
	const { pool: _, ...withoutPool } = nodeCodecs;

	function lineitemStream(batches: number, batchRows: number): Uint8Array {
		const random = createRandom(3);
		const made = Array.from({ length: batches }, () => {
			const columns = {
				key: int64Column(batchRows, (row) => row),
				price: moneyColumn(batchRows, () => random.below(1_000_000)),
				flag: wordColumn(batchRows, random, ["R", "A", "N"]),
				day: dateColumn(batchRows, () => 8_000 + random.below(2_500)),
				comment: commentColumn(batchRows, random, 10, 43),
			};
			const fields = Object.entries(columns).map(([name, column]) => new Field(name, column.type));
			const data = makeData({
				type: new Struct(fields),
				length: batchRows,
				nullCount: 0,
				children: Object.values(columns),
			});
			return new RecordBatch(new Schema(fields), data);
		});
		return RecordBatchStreamWriter.writeAll(made).toUint8Array(true);
	}

	/**
	 * Bytes allocated on the way, for each byte of the stream; and allocations for each batch. `engineHolds`
	 * batches at a time, after which their memory is used again; null: memory is not used again.
	 */
	async function cost(
		stream: Uint8Array,
		batches: number,
		engineHolds: number | null = null,
		chunkBytes = 65_536,
	) {
		let bytes = 0;
		let allocations = 0;
		const reader = await openArrow(
			[
				{
					name: "bench",
					stream: async function* () {
						for (let at = 0; at < stream.length; at += chunkBytes)
							yield stream.subarray(at, at + chunkBytes);
					},
					atRest: null,
				},
			],
			{
				codecs: {
					...(engineHolds === null ? withoutPool : nodeCodecs),
					allocate(size) {
						bytes += size;
						allocations += 1;
						return nodeCodecs.allocate(size);
					},
				},
				limits: defaultLimits,
				requireEos: true,
				signal: new AbortController().signal,
			},
		);
		let rows = 0;
		const held: CheckedBatch[] = [];
		for await (const batch of reader.batches(new AbortController().signal)) {
			rows += batch.length;
			held.push(batch);
			if (held.length > (engineHolds ?? 0)) held.shift()!.memory?.release();
		}
		return { rows, bytes, perByte: bytes / stream.length, perBatch: allocations / batches };
	}

	it("are each byte once, into the body that DuckDB reads, for batches of a row group", async () => {
		const { rows, perByte, perBatch } = await cost(lineitemStream(3, rowGroupRows), 3);
		expect(rows).toBe(3 * rowGroupRows);
		expect(perByte).toBeLessThanOrEqual(1.001);
		expect(perBatch).toBeLessThanOrEqual(2);
	});

	it("are each byte twice where batches are joined or cut to row groups", async () => {
		for (const [batches, batchRows] of [
			[200, 500],
			[6, 50_000],
			[2, 150_000],
		] as const) {
			const { rows, perByte } = await cost(lineitemStream(batches, batchRows), batches);
			expect(rows).toBe(batches * batchRows);
			expect(perByte).toBeLessThanOrEqual(2.1);
		}
	});

	it("cost no allocation for each batch where many lie in one chunk, as a file is read", async () => {
		const { rows, perByte, perBatch } = await cost(
			lineitemStream(1_500, 100),
			1_500,
			null,
			2 ** 20,
		);
		expect(rows).toBe(150_000);
		expect(perByte).toBeLessThanOrEqual(2.1);
		// Ten buffers for a chunk's hundred batches, and the body of the one that no chunk holds.
		expect(perBatch).toBeLessThanOrEqual(0.2);
	});

	it("lie in memory that is used again: four times the batches need no more of it", async () => {
		const engineHolds = 3;
		for (const batchRows of [50_000, rowGroupRows]) {
			const few = await cost(lineitemStream(12, batchRows), 12, engineHolds);
			const many = await cost(lineitemStream(48, batchRows), 48, engineHolds);
			expect(many.rows).toBe(4 * few.rows);
			expect(many.bytes).toBeLessThanOrEqual(few.bytes * 1.1);
		}
	});
});
