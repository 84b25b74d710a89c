/** Time that a test moves itself: sleepers wake in order as it passes over them. */
import type { Clock } from "../../src/clock.ts";

export interface FakeClock extends Clock {
	/** Moves on by `ms`, waking who sleeps less long; what they do next gets to run. */
	pass(ms: number): Promise<void>;
	/** Sets the time without waking anybody: a clock that jumps. */
	jump(ms: number): void;
	sleepers(): number;
}

/** Enough turns of the event loop for a chain of promises to come to its next wait. */
export async function settle(turns = 20): Promise<void> {
	for (let turn = 0; turn < turns; turn++) await new Promise((next) => setImmediate(next));
}

export function createFakeClock(start = Date.parse("2026-11-30T12:00:00Z")): FakeClock {
	let now = start;
	let shift = 0;
	const asleep = new Set<{ at: number; wake: () => void }>();
	return {
		now: () => now + shift,
		sleep: (ms, signal) =>
			new Promise((resolve, reject) => {
				signal?.throwIfAborted();
				const sleeper = {
					at: now + ms,
					wake: () => {
						asleep.delete(sleeper);
						resolve();
					},
				};
				asleep.add(sleeper);
				signal?.addEventListener("abort", () => {
					if (asleep.delete(sleeper)) reject(signal.reason);
				});
			}),
		async pass(ms) {
			const end = now + ms;
			for (;;) {
				await settle();
				const [next] = [...asleep].filter(({ at }) => at <= end).sort((a, b) => a.at - b.at);
				if (next === undefined) break;
				now = Math.max(now, next.at);
				next.wake();
			}
			now = end;
			await settle();
		},
		jump(ms) {
			shift += ms;
		},
		sleepers: () => asleep.size,
	};
}
