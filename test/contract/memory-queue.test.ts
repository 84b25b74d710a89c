import { describe, expect, it } from "vitest";
import { systemClock } from "../../src/clock.ts";
import { createMemoryQueue, type MemoryQueue } from "../../src/trigger/queues/memory-queue.ts";
import type { Delivery } from "../../src/trigger/replay-queue.ts";
import { createFakeClock } from "../unit/fake-clock.ts";
import { describeReplayQueue } from "./replay-queue.ts";

describeReplayQueue("memory", {
	open: async () => createMemoryQueue({ clock: systemClock, capacity: 100 }),
});

const job = (n: number) => ({ tenant: "acme", upload_id: `upload-${n}` });

async function take(queue: MemoryQueue): Promise<Delivery> {
	for await (const delivery of queue.receive(new AbortController().signal)) return delivery;
	throw new Error("the queue ended");
}

describe("the queue in memory", () => {
	it("doesn't take a job twice that waits already", async () => {
		const queue = createMemoryQueue({ clock: createFakeClock(), capacity: 10 });
		for (let n = 0; n < 5; n++) await queue.send(job(1));
		expect(queue.counts()).toEqual({ waiting: 1, open: 0 });
	});

	it("delivers once more, as new, what was sent again while it was worked on", async () => {
		const clock = createFakeClock();
		const queue = createMemoryQueue({ clock, capacity: 10 });
		await queue.send(job(1));
		const first = await take(queue);
		await first.retry(10);
		await clock.pass(10);
		const second = await take(queue);
		expect(second.attempt).toBe(2);
		await queue.send(job(1));
		await second.ack();
		const third = await take(queue);
		expect(third.attempt).toBe(1);
		await third.ack();
		expect(queue.counts()).toEqual({ waiting: 0, open: 0 });
	});

	it("doesn't count an attempt that was none", async () => {
		const clock = createFakeClock();
		const queue = createMemoryQueue({ clock, capacity: 10 });
		await queue.send(job(1));
		await (await take(queue)).retry(10, { sameAttempt: true });
		await clock.pass(10);
		expect((await take(queue)).attempt).toBe(1);
	});

	it("ignores a second acknowledgement of one delivery", async () => {
		const queue = createMemoryQueue({ clock: createFakeClock(), capacity: 10 });
		await queue.send(job(1));
		const delivery = await take(queue);
		await delivery.ack();
		await queue.send(job(1));
		await delivery.ack();
		expect(queue.counts()).toEqual({ waiting: 1, open: 0 });
	});

	it("says how long to wait by how fast it drains", async () => {
		const clock = createFakeClock();
		const queue = createMemoryQueue({ clock, capacity: 50 });
		for (let n = 0; n < 100; n++) await queue.send(job(n));
		expect(queue.room().free).toBe(-50);
		expect(queue.room().retryAfterSeconds).toBe(5);
		for (let n = 0; n < 20; n++) await (await take(queue)).ack();
		// 20 in 10 s are 2 a second; 31 have to go before there is room for one.
		expect(queue.room()).toEqual({ free: -30, retryAfterSeconds: 16 });
		await clock.pass(10_001);
		expect(queue.room().retryAfterSeconds).toBe(5);
	});

	it("is bounded: what is far over its capacity is busy", async () => {
		const queue = createMemoryQueue({ clock: createFakeClock(), capacity: 2 });
		for (let n = 0; n < 16; n++) await queue.send(job(n));
		await expect(queue.send(job(16))).rejects.toMatchObject({ code: "busy" });
	});
});
