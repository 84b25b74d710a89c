/** The promises of a queue: one suite, run against every driver. */
import { describe, expect, it } from "vitest";
import type { ReplayJob } from "../../src/flow.ts";
import type { Delivery, ReplayQueue } from "../../src/trigger/replay-queue.ts";

const job = (n: number): ReplayJob => ({
	tenant: "acme",
	upload_id: `01JDXM2Q6V8Z3T4R5W6Y7A8B${String(n).padStart(2, "0")}`,
});

export interface QueueUnderTest {
	open(): Promise<ReplayQueue>;
	/** How long a job may take to come that is there. */
	patienceMs?: number;
	/** A driver's exceptions, by test name, each with its reason. */
	exceptions?: Record<string, string>;
}

/** The next delivery, or null when none comes within `ms`. */
async function next(queue: ReplayQueue, ms: number): Promise<Delivery | null> {
	const stop = new AbortController();
	const timer = setTimeout(() => stop.abort(), ms);
	for await (const delivery of queue.receive(stop.signal)) {
		clearTimeout(timer);
		return delivery;
	}
	return null;
}

export function describeReplayQueue(name: string, under: QueueUnderTest): void {
	const { open, patienceMs = 2_000 } = under;
	const unused = new Set(Object.keys(under.exceptions ?? {}));
	const promise = (title: string, test: () => Promise<void>) => {
		const reason = under.exceptions?.[title];
		unused.delete(title);
		if (reason === undefined) it(title, test);
		else it.skip(`${title} (not here: ${reason})`, () => {});
	};

	describe(`the promises of a queue: ${name}`, () => {
		promise(
			"every job that was sent is delivered, and none that was acknowledged again",
			async () => {
				const queue = await open();
				for (let n = 0; n < 20; n++) await queue.send(job(n), { again: true });
				const seen = new Set<string>();
				for (let n = 0; n < 20; n++) {
					const delivery = (await next(queue, patienceMs))!;
					expect(delivery.attempt).toBeGreaterThan(0);
					seen.add(delivery.job.upload_id);
					await delivery.ack();
				}
				expect(seen.size).toBe(20);
				expect(await next(queue, 50)).toBeNull();
			},
		);

		promise("a job that waited while others were taken is delivered as attempt 1", async () => {
			const queue = await open();
			for (let n = 0; n < 3; n++) await queue.send(job(n), { again: true });
			for (let n = 0; n < 3; n++) {
				const delivery = (await next(queue, patienceMs))!;
				expect(delivery.attempt).toBe(1);
				await delivery.ack();
			}
		});

		promise("what is retried comes again, counted, and not before its time", async () => {
			const queue = await open();
			await queue.send(job(1), { again: true });
			await (await next(queue, patienceMs))!.retry(100);
			expect(await next(queue, 20)).toBeNull();
			const second = (await next(queue, patienceMs))!;
			expect(second.attempt).toBeGreaterThan(1);
			await second.ack();
			expect(await next(queue, 50)).toBeNull();
		});

		promise("several consumers share the jobs, each job going to one", async () => {
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
			for (let n = 0; n < 30; n++) await queue.send(job(n), { again: true });
			await Promise.all(consumers);
			expect(new Set(seen).size).toBe(30);
		});

		promise("receiving ends when its signal aborts, and what waits stays", async () => {
			const queue = await open();
			expect(await next(queue, 20)).toBeNull();
			await queue.send(job(1), { again: true });
			expect((await next(queue, patienceMs))?.job).toEqual(job(1));
		});

		it("every exception names a promise", () => {
			expect([...unused]).toEqual([]);
		});
	});
}
