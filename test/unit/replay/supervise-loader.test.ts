import type { ChildProcess } from "node:child_process";
import { EventEmitter } from "node:events";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { FromLoader, ToLoader } from "../../../src/replay/loader-link.ts";
import { type Supervisor, superviseLoader } from "../../../src/replay/supervise-loader.ts";
import { completeStaged } from "../../../src/stage/complete-upload.ts";
import { stageBody } from "../../../src/stage/stage-body.ts";
import { createMemoryQueue, type MemoryQueue } from "../../../src/trigger/queues/memory-queue.ts";
import { settle } from "../fake-clock.ts";
import { bodyOf, createStageWorld, type StageWorld, uploadOf } from "../stage/stage-world.ts";

/** What a child process is to its parent: messages both ways, and an end. */
class FakeLoader extends EventEmitter {
	connected = true;
	pid = 1;
	heard: ToLoader[] = [];
	send(message: ToLoader): boolean {
		this.heard.push(message);
		return true;
	}
	say(message: FromLoader): void {
		this.emit("message", [message]);
	}
	die(signal = "SIGKILL"): void {
		this.connected = false;
		this.emit("close", null, signal);
	}
	kill(signal: string): boolean {
		this.die(signal);
		return true;
	}
	jobs() {
		return this.heard.flatMap((message) => (message.type === "load" ? [message] : []));
	}
}

let world: StageWorld;
let queue: MemoryQueue;
let loaders: FakeLoader[];
let supervisor: Supervisor;

beforeEach(() => {
	world = createStageWorld();
	queue = createMemoryQueue({ clock: world.clock, capacity: 100 });
	loaders = [];
	supervisor = superviseLoader({
		...world,
		queue,
		fork() {
			const loader = new FakeLoader();
			loaders.push(loader);
			return loader as unknown as ChildProcess;
		},
		maxInFlight: 3,
	});
});
afterEach(async () => {
	const stopped = supervisor.stop();
	loaders.at(-1)?.die("SIGTERM");
	await stopped;
});

const last = () => loaders.at(-1)!;
const job = (n: number) => ({ tenant: "acme", upload_id: `upload-${n}` });

describe("the supervisor of a loader", () => {
	it("hands jobs over by name once the loader is ready, so many at a time", async () => {
		for (let n = 0; n < 5; n++) await queue.send(job(n));
		await settle();
		expect(last().jobs()).toEqual([]);
		last().say({ type: "ready" });
		await settle();
		expect(
			last()
				.jobs()
				.map((message) => message.job),
		).toEqual([job(0), job(1), job(2)]);
		last().say({ type: "ack", n: last().jobs()[0]!.n });
		await settle();
		expect(last().jobs()).toHaveLength(4);
		expect(queue.counts()).toEqual({ waiting: 1, open: 3 });
	});

	it("wakes who waits for the receipt when a job is acknowledged", async () => {
		const staged = await stageBody(world, uploadOf(), bodyOf("x"));
		await completeStaged(world, staged);
		const id = staged.upload.upload_id;
		await queue.send({ tenant: "acme", upload_id: id });
		last().say({ type: "ready" });
		await settle();
		const waiting = world.receipts.waitFor("acme", id, new AbortController().signal);
		await settle();
		// As another process writes it: nobody here hears of it but by the acknowledgement.
		const receipt = (await world.receipts.read("acme", id))!;
		const { createStoreReceiptBook } = await import("../../../src/receipt/store-receipt-book.ts");
		await createStoreReceiptBook(world).write({ ...receipt, status: "committed" });
		last().say({ type: "ack", n: last().jobs()[0]!.n });
		expect((await waiting)?.status).toBe("committed");
	});

	it("starts a loader that died again, and counts a death against what it had open and nothing else", async () => {
		await queue.send(job(1));
		await queue.send(job(2));
		last().say({ type: "ready" });
		await settle();
		const [first] = last().jobs();
		last().say({ type: "opened", n: first!.n });
		last().die();
		await world.clock.pass(1_000);
		expect(loaders).toHaveLength(2);
		last().say({ type: "ready" });
		await settle();
		expect(
			last()
				.jobs()
				.map(({ job: { upload_id }, deaths }) => [upload_id, deaths]),
		).toEqual([
			["upload-1", 1],
			["upload-2", 0],
		]);
		expect(supervisor.deaths()).toBe(1);
	});

	it("writes the receipt itself when a load kills loaders that don't even open it", async () => {
		const staged = await stageBody(world, uploadOf(), bodyOf("x"));
		await completeStaged(world, staged);
		const id = staged.upload.upload_id;
		await queue.send({ tenant: "acme", upload_id: id });
		for (let death = 0; death < 3; death++) {
			last().say({ type: "ready" });
			await settle();
			last().say({ type: "opened", n: last().jobs()[0]!.n });
			last().die();
			await world.clock.pass(5_000);
		}
		last().say({ type: "ready" });
		await settle();
		expect(last().jobs()).toEqual([]);
		const receipt = await world.receipts.read("acme", id);
		expect(receipt).toMatchObject({ status: "failed", error: { code: "internal" } });
		expect(receipt?.error?.detail).toContain("died 3 times");
		expect(queue.counts()).toEqual({ waiting: 0, open: 0 });
	});

	it("asks a loader that is there to load an upload early, and counts its death against it once", async () => {
		const part = (n: number) => ({ n, key: `p${n}`, size: 8_000_000, etag: "e", sha256: null });
		const send = (id: string, n: number) => supervisor.early.part("acme", id, part(n));
		for (let n = 1; n <= 3; n++) send("upload-1", n);
		expect(last().heard).toEqual([]);
		last().say({ type: "ready" });
		send("upload-1", 4);
		send("upload-1", 5);
		send("upload-2", 1);
		expect(last().heard).toEqual([
			{ type: "early", job: job(1), parts: [1, 2, 3, 4].map(part) },
			{ type: "part", job: job(1), part: part(5) },
		]);
		expect(supervisor.early.active()).toBe(1);
		// Its job is delivered and opened by then: still one death.
		await queue.send(job(1));
		await settle();
		last().say({ type: "opened", n: last().jobs()[0]!.n });
		last().die();
		await world.clock.pass(1_000);
		last().say({ type: "ready" });
		expect(last().jobs()).toMatchObject([{ job: job(1), deaths: 1 }]);
		expect(supervisor.early.counts()["loader died"]).toBe(1);
		send("upload-1", 6);
		send("upload-2", 2);
		expect(last().heard.map(({ type }) => type)).toEqual(["load", "early"]);
		last().say({ type: "early-ended", job: job(2), outcome: "given up" });
		expect(supervisor.early.active()).toBe(0);
	});

	it("waits longer before each start of a loader that can't live, and not of one that worked", async () => {
		const starts = async (ms: number) => {
			const before = loaders.length;
			await world.clock.pass(ms);
			return loaders.length - before;
		};
		for (let death = 0; death < 6; death++) {
			last().die();
			await world.clock.pass(2_000);
		}
		last().die();
		expect(await starts(1_000)).toBe(0);
		expect(await starts(1_000)).toBe(1);
		await queue.send(job(1));
		last().say({ type: "ready" });
		await settle();
		last().say({ type: "ack", n: last().jobs()[0]!.n });
		last().die();
		expect(await starts(60)).toBe(1);
	});

	it("kills a loader that says nothing, and not one that is alive", async () => {
		last().say({ type: "ready" });
		for (let at = 0; at < 10; at++) {
			await world.clock.pass(30_000);
			last().say({ type: "alive" });
		}
		expect(supervisor.deaths()).toBe(0);
		await world.clock.pass(150_000);
		expect(supervisor.deaths()).toBeGreaterThan(0);
	});

	it("lets the loader drain at a stop, and takes nothing more", async () => {
		await queue.send(job(1));
		last().say({ type: "ready" });
		await settle();
		const stopped = supervisor.stop();
		await queue.send(job(2));
		await settle();
		expect(last().heard.at(-1)).toEqual({ type: "drain" });
		expect(last().jobs()).toHaveLength(1);
		last().say({ type: "ack", n: last().jobs()[0]!.n });
		last().die("SIGTERM");
		await stopped;
		expect(loaders).toHaveLength(1);
		expect(queue.counts()).toEqual({ waiting: 1, open: 0 });
	});
});
