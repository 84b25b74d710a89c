import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { BatchReader } from "../../../src/arrow/batch-reader.ts";
import { IngestError } from "../../../src/errors.ts";
import type { Manifest } from "../../../src/flow.ts";
import type { InsertJob, InsertOutcome, SinkDatabase } from "../../../src/insert/batch-sink.ts";
import { type LoopOptions, runReplayLoop } from "../../../src/replay/replay-loop.ts";
import { completeStaged } from "../../../src/stage/complete-upload.ts";
import { stageBody } from "../../../src/stage/stage-body.ts";
import { createMemoryQueue, type MemoryQueue } from "../../../src/trigger/queues/memory-queue.ts";
import { settle } from "../fake-clock.ts";
import { bodyOf, createStageWorld, type StageWorld, uploadOf } from "../stage/stage-world.ts";

interface Running {
	tenant: string;
	ids: string[];
	/** Ends the transaction: committed, or each load with this error. */
	end(error?: unknown): void;
}

let world: StageWorld;
let queue: MemoryQueue;
let running: Running[];
let stop: AbortController;
let loop: Promise<void>;

const counts = { rows_streamed: 1, batches: 1, bytes: 1, repr_digest: "sha-256=:x:" };
const inserted = {
	rows_inserted: 1,
	created_table: false,
	columns: [],
	columns_defaulted: [],
	columns_added: [],
	warnings: [],
	ddl: [],
	engine: "none",
};

/** Transactions that last until the test ends them. */
const sink = {
	async open(tenant: string): Promise<SinkDatabase> {
		return {
			findLoad: async () => null,
			findLastOfSource: async () => null,
			listLoads: async () => [],
			describeTable: async () => null,
			close: async () => {},
			insert: (jobs: InsertJob[]) =>
				new Promise<InsertOutcome[]>((resolve) => {
					const one: Running = {
						tenant,
						ids: jobs.map((job) => job.loadId!),
						end(error) {
							running.splice(running.indexOf(one), 1);
							resolve(
								jobs.map((job) =>
									error === undefined ? { receipt: job.receipt(inserted, counts) } : { error },
								),
							);
						},
					};
					running.push(one);
				}),
		} as unknown as SinkDatabase;
	},
	openParquet: async () => {
		throw new Error("no file is dropped here");
	},
	close: async () => {},
};

function start(options: LoopOptions = {}): void {
	stop = new AbortController();
	const deps = {
		...world,
		sink,
		createSha256: world.createSha256 as () => { update(): void; digestHex(): string },
		digestOf: async () => "",
		openReader: async (_: unknown, manifest: Manifest) =>
			({ name: manifest.upload_id }) as unknown as BatchReader,
	};
	loop = runReplayLoop(deps as Parameters<typeof runReplayLoop>[0], queue, stop.signal, options);
}

async function stage(bytes: number, fields: Parameters<typeof uploadOf>[0] = {}): Promise<string> {
	const staged = await stageBody(world, uploadOf(fields), bodyOf(new Uint8Array(bytes)));
	await completeStaged({ ...world, queue }, staged);
	return staged.upload.upload_id;
}

beforeEach(() => {
	world = createStageWorld();
	queue = createMemoryQueue({ clock: world.clock, capacity: 1_000 });
	running = [];
});
afterEach(async () => {
	stop.abort();
	const ended = loop.then(() => true);
	while (!(await Promise.race([ended, settle().then(() => false)]))) {
		for (const one of [...running]) one.end();
	}
});

const large = 9 * 1024 * 1024;

describe("the replay loop", () => {
	it("runs a first small load at once, and what came meanwhile as one group", async () => {
		start();
		const first = await stage(10);
		await settle();
		expect(running.map(({ ids }) => ids)).toEqual([[first]]);
		const more = [await stage(10), await stage(10), await stage(10)];
		await settle();
		expect(running).toHaveLength(1);
		running[0]!.end();
		await settle();
		expect(running.map(({ ids }) => ids.sort())).toEqual([more.sort()]);
	});

	it("runs large loads of a tenant beside its small ones, two at a time", async () => {
		start();
		const ids = [await stage(large), await stage(large), await stage(large)];
		const small = await stage(10);
		await settle();
		const now = running.map((one) => one.ids);
		expect(now).toHaveLength(3);
		expect(now).toContainEqual([small]);
		expect(now.flat().filter((id) => ids.includes(id))).toHaveLength(2);
	});

	it("runs tenants side by side within one bound", async () => {
		start({ maxRunning: 3 });
		for (const tenant of ["a", "b", "c", "d"]) await stage(10, { tenant });
		await settle();
		expect(running.map(({ tenant }) => tenant).sort()).toEqual(["a", "b", "c"]);
		running[0]!.end();
		await settle();
		expect(running.map(({ tenant }) => tenant)).toContain("d");
	});

	it("holds no more deliveries than it may", async () => {
		start({ maxHeld: 5 });
		for (let n = 0; n < 12; n++) await stage(10);
		await settle();
		expect(queue.counts()).toEqual({ waiting: 7, open: 5 });
	});

	it("runs a load that was open at a death with nothing beside it", async () => {
		const delivered = queue.receive.bind(queue);
		let suspect = "";
		queue.receive = async function* (signal) {
			for await (const delivery of delivered(signal)) {
				yield { ...delivery, deaths: delivery.job.upload_id === suspect ? 1 : 0 };
			}
		};
		start();
		const before = await stage(10);
		await settle();
		const staged = await stageBody(world, uploadOf(), bodyOf("x"));
		suspect = staged.upload.upload_id;
		await completeStaged({ ...world, queue }, staged);
		const after = await stage(10, { tenant: "other" });
		await settle();
		expect(running.map(({ ids }) => ids)).toEqual([[before]]);
		running[0]!.end();
		await settle();
		expect(running.map(({ ids }) => ids)).toEqual([[suspect]]);
		running[0]!.end();
		await settle();
		expect(running.map(({ ids }) => ids)).toEqual([[after]]);
	});

	it("tries again what the world's fault ended, a bounded number of times, then fails it", async () => {
		start();
		const id = await stage(10);
		for (let attempt = 1; attempt <= 5; attempt++) {
			await settle();
			expect(running.map(({ ids }) => ids)).toEqual([[id]]);
			running[0]!.end(new IngestError("target_unavailable", "the disk is full"));
			await settle();
			if (attempt < 5) expect((await world.receipts.read("acme", id))?.status).toBe("staged");
			await world.clock.pass(30_000);
		}
		expect(running).toEqual([]);
		expect(await world.receipts.read("acme", id)).toMatchObject({
			status: "failed",
			attempts: 5,
			error: { code: "target_unavailable", retryable: true, detail: "the disk is full" },
		});
	});

	it("never tries again what the data's fault ended", async () => {
		start();
		const id = await stage(10);
		await settle();
		running[0]!.end(new IngestError("cast_failed", "no number", { column: "n", row: 3 }));
		await world.clock.pass(60_000);
		expect(running).toEqual([]);
		expect(await world.receipts.read("acme", id)).toMatchObject({
			status: "failed",
			error: { code: "cast_failed", column: "n", row: 3 },
		});
	});
});
