/**
 * A batch of jobs that a platform handed over, as a queue that ends: each job is
 * delivered, again after its pause while there is time, and `results` says which
 * ended. What is not done when `stop` aborts is given back to the platform.
 */

import type { Clock } from "../../clock.ts";
import type { ReplayJob } from "../../flow.ts";
import type { Delivery, ReplayQueue } from "../replay-queue.ts";

export interface BatchJob {
	job: ReplayJob;
	/** How often the platform has delivered it. */
	attempt: number;
}

export interface BatchQueue extends ReplayQueue {
	/** By the jobs' order: null for those that are done, else after how long to ask again. Resolves when nothing is open. */
	readonly results: Promise<(number | null)[]>;
}

export function createBatchQueue(
	jobs: readonly BatchJob[],
	{ clock, stop }: { clock: Clock; stop: AbortSignal },
): BatchQueue {
	const results = new Array<number | null>(jobs.length).fill(0);
	const ended = Promise.withResolvers<(number | null)[]>();
	const waiting: Delivery[] = [];
	let open = jobs.length;
	let feed = () => {};

	const settle = (at: number, result: number | null) => {
		results[at] = result;
		if (--open > 0) return;
		ended.resolve(results);
		feed();
	};
	const deliver = (at: number, attempt: number) => {
		let settled = false;
		const once = (work: () => void) => {
			if (!settled) work();
			settled = true;
		};
		waiting.push({
			job: jobs[at]!.job,
			attempt,
			ack: async () => once(() => settle(at, null)),
			retry: async (delayMs, { sameAttempt = false } = {}) =>
				once(() => {
					clock.sleep(Math.max(delayMs, 1), stop).then(
						() => deliver(at, sameAttempt ? attempt : attempt + 1),
						() => settle(at, delayMs),
					);
				}),
		});
		feed();
	};
	for (const [at, { attempt }] of jobs.entries()) deliver(at, attempt);
	if (jobs.length === 0) ended.resolve([]);

	return {
		results: ended.promise,
		send() {
			throw new Error("a batch takes no jobs");
		},
		async *receive(signal) {
			while (!signal.aborted && open > 0) {
				const delivery = waiting.shift();
				if (delivery !== undefined) {
					yield delivery;
					continue;
				}
				await new Promise<void>((resolve) => {
					feed = resolve;
					signal.addEventListener("abort", () => resolve(), { once: true });
				});
			}
			// Never begun: theirs again, at once.
			for (const delivery of waiting.splice(0)) await delivery.retry(0);
		},
	};
}
