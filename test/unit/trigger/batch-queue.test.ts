import { describe, expect, it } from "vitest";
import { createBatchQueue } from "../../../src/trigger/queues/batch-queue.ts";
import { createFakeClock } from "../fake-clock.ts";

const job = (n: number) => ({ job: { tenant: "acme", upload_id: `id${n}` }, attempt: 1 });

describe("a batch of jobs as a queue", () => {
	it("ends when every job is done", async () => {
		const stop = new AbortController().signal;
		const queue = createBatchQueue([job(1), job(2)], { clock: createFakeClock(), stop });
		const seen: string[] = [];
		for await (const delivery of queue.receive(stop)) {
			seen.push(delivery.job.upload_id);
			await delivery.ack();
		}
		expect(seen).toEqual(["id1", "id2"]);
		expect(await queue.results).toEqual([null, null]);
	});

	it("of no jobs ends at once", async () => {
		const stop = new AbortController().signal;
		const queue = createBatchQueue([], { clock: createFakeClock(), stop });
		for await (const _ of queue.receive(stop)) throw new Error("nothing was in it");
		expect(await queue.results).toEqual([]);
	});

	it("gives back what was begun and not done, and what was not begun, when its time is over", async () => {
		const stop = new AbortController();
		const queue = createBatchQueue([job(1), job(2), job(3)], {
			clock: createFakeClock(),
			stop: stop.signal,
		});
		for await (const delivery of queue.receive(stop.signal)) {
			if (delivery.job.upload_id === "id1") {
				await delivery.ack();
				continue;
			}
			await delivery.retry(7_000);
			stop.abort();
		}
		expect(await queue.results).toEqual([null, 7_000, 0]);
	});
});
