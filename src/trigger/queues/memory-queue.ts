/**
 * A queue in this process: jobs wait in order, at most `capacity` of them.
 *
 * A job that waits already isn't taken twice; one that is being worked on is
 * delivered once more after its acknowledgement, because what it was sent for may
 * have come after that work had looked. What is lost with the process, the sweep finds.
 */

import type { Clock } from "../../clock.ts";
import { IngestError } from "../../errors.ts";
import type { ReplayJob } from "../../flow.ts";
import type { Delivery, ReplayQueue } from "../replay-queue.ts";

interface Entry {
	job: ReplayJob;
	name: string;
	attempt: number;
	state: "waiting" | "delivered" | "paused";
	again: boolean;
}

export interface MemoryQueue extends ReplayQueue {
	room(): { free: number; retryAfterSeconds: number };
	/** Jobs that wait, and jobs that are worked on or pause. */
	counts(): { waiting: number; open: number };
}

/** Jobs are names: over `capacity` no new loads are let in, but those already staged still are. */
const overflowFactor = 8;
/** Acknowledgements over this span make the drain rate. */
const rateSpanMs = 10_000;
const longestRetryAfterSeconds = 120;

export function createMemoryQueue(options: { clock: Clock; capacity: number }): MemoryQueue {
	const { clock, capacity } = options;
	const entries = new Map<string, Entry>();
	const waiting: Entry[] = [];
	const acks = createTally(clock);
	const hungry = new Set<() => void>();

	function wait(entry: Entry): void {
		entry.state = "waiting";
		waiting.push(entry);
		for (const feed of hungry) feed();
	}

	function acked(entry: Entry): void {
		if (entries.get(entry.name) !== entry || entry.state !== "delivered") return;
		acks.add();
		if (!entry.again) {
			entries.delete(entry.name);
			return;
		}
		entry.again = false;
		entry.attempt = 1;
		wait(entry);
	}

	function deliver(entry: Entry): Delivery {
		entry.state = "delivered";
		return {
			job: entry.job,
			attempt: entry.attempt,
			ack: async () => acked(entry),
			async retry(delayMs, retry = {}) {
				if (entries.get(entry.name) !== entry || entry.state !== "delivered") return;
				entry.state = "paused";
				if (retry.sameAttempt !== true) entry.attempt++;
				clock.sleep(delayMs).then(
					() => wait(entry),
					() => wait(entry),
				);
			},
		};
	}

	return {
		async send(job) {
			const name = `${job.tenant}/${job.upload_id}`;
			const known = entries.get(name);
			if (known !== undefined) {
				if (known.state === "delivered") known.again = true;
				return;
			}
			if (entries.size >= capacity * overflowFactor) {
				throw new IngestError("busy", `${entries.size} loads wait already`, {
					retryAfterSeconds: this.room().retryAfterSeconds,
				});
			}
			const entry: Entry = { job, name, attempt: 1, state: "waiting", again: false };
			entries.set(name, entry);
			wait(entry);
		},

		room() {
			const perSecond = acks.recent() / (rateSpanMs / 1000);
			const excess = Math.max(1, entries.size - capacity + 1);
			const seconds = perSecond === 0 ? 5 : Math.ceil(excess / perSecond);
			return {
				free: capacity - entries.size,
				retryAfterSeconds: Math.min(longestRetryAfterSeconds, Math.max(1, seconds)),
			};
		},

		counts: () => ({ waiting: waiting.length, open: entries.size - waiting.length }),

		async *receive(signal) {
			while (!signal.aborted) {
				const entry = waiting.shift();
				if (entry !== undefined) {
					yield deliver(entry);
					continue;
				}
				await new Promise<void>((resolve) => {
					const feed = () => {
						hungry.delete(feed);
						signal.removeEventListener("abort", feed);
						resolve();
					};
					hungry.add(feed);
					signal.addEventListener("abort", feed, { once: true });
				});
			}
		},
	};
}

/** Events of the last `rateSpanMs`, counted by tenths of it: what a count costs doesn't grow with their rate. */
function createTally(clock: Clock): { add(): void; recent(): number } {
	const tenthMs = rateSpanMs / 10;
	const counts = new Map<number, number>();
	const drop = () => {
		const first = Math.floor(clock.now() / tenthMs) - 9;
		for (const tenth of counts.keys()) if (tenth < first || tenth > first + 9) counts.delete(tenth);
	};
	return {
		add() {
			drop();
			const tenth = Math.floor(clock.now() / tenthMs);
			counts.set(tenth, (counts.get(tenth) ?? 0) + 1);
		},
		recent() {
			drop();
			let sum = 0;
			for (const count of counts.values()) sum += count;
			return sum;
		},
	};
}
