/** The promises of a queue: one suite, run against every driver. */
import { describe, expect, it } from "vitest";
import type { ReplayJob } from "../../src/flow.ts";
import type { Delivery, ReplayQueue } from "../../src/trigger/replay-queue.ts";

const job = (n: number): ReplayJob => ({ tenant: "acme", upload_id: `upload-${n}` });

/** The next delivery, or null when none comes within `ms`. */
async function next(queue: ReplayQueue, ms = 2_000): Promise<Delivery | null> {
	const stop = new AbortController();
	const timer = setTimeout(() => stop.abort(), ms);
	for await (const delivery of queue.receive(stop.signal)) {
		clearTimeout(timer);
		return delivery;
	}
	return null;
}

export function describeReplayQueue(name: string, open: () => Promise<ReplayQueue>): void {
	describe(`the promises of a queue: ${name}`, () => {
		it("every job that was sent is delivered, the first time as attempt 1", async () => {
			const queue = await open();
			for (let n = 0; n < 20; n++) await queue.send(job(n));
			const seen = new Set<string>();
			for (let n = 0; n < 20; n++) {
				const delivery = (await next(queue))!;
				expect(delivery.attempt).toBe(1);
				seen.add(delivery.job.upload_id);
				await delivery.ack();
			}
			expect(seen.size).toBe(20);
			expect(await next(queue, 50)).toBeNull();
		});

		it("what is retried comes again, counted, and not before its time", async () => {
			const queue = await open();
			await queue.send(job(1));
			await (await next(queue))!.retry(100);
			expect(await next(queue, 20)).toBeNull();
			const second = (await next(queue))!;
			expect(second.attempt).toBe(2);
			await second.ack();
			expect(await next(queue, 50)).toBeNull();
		});

		it("several consumers share the jobs, each job going to one", async () => {
			const queue = await open();
			const stop = new AbortController();
			const seen: string[] = [];
			const consume = async () => {
				for await (const delivery of queue.receive(stop.signal)) {
					seen.push(delivery.job.upload_id);
					await delivery.ack();
					if (seen.length === 30) stop.abort();
				}
			};
			const consumers = [consume(), consume(), consume()];
			for (let n = 0; n < 30; n++) await queue.send(job(n));
			await Promise.all(consumers);
			expect(new Set(seen).size).toBe(30);
		});

		it("receiving ends when its signal aborts, and what waits stays", async () => {
			const queue = await open();
			expect(await next(queue, 20)).toBeNull();
			await queue.send(job(1));
			expect((await next(queue))?.job).toEqual(job(1));
		});
	});
}
