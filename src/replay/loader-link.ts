/**
 * What HTTP process and loader say to each other: names of jobs and what became
 * of them, never data. The loader's side is a `ReplayQueue` like any other.
 */

import type { ReplayJob } from "../flow.ts";
import type { Delivery, ReplayQueue } from "../trigger/replay-queue.ts";

export const aliveEveryMs = 5_000;

/** From the HTTP process. `n` names the delivery. */
export type ToLoader =
	| { type: "load"; n: number; job: ReplayJob; attempt: number; deaths: number }
	/** Take no more, end what runs, leave. */
	| { type: "drain" };

/** From the loader. */
export type FromLoader =
	| { type: "ready" }
	/** Every `aliveEveryMs`: its event loop turns. */
	| { type: "alive" }
	/** Its bytes are about to be read: a death from now on may be their fault. */
	| { type: "opened"; n: number }
	| { type: "ack"; n: number }
	| { type: "retry"; n: number; delayMs: number; sameAttempt: boolean };

export interface LoaderSide extends ReplayQueue {
	/** A message of the HTTP process that isn't a drain. */
	take(message: Extract<ToLoader, { type: "load" }>): void;
}

export function createLoaderSide(send: (message: FromLoader) => void): LoaderSide {
	const waiting: Delivery[] = [];
	let feed = () => {};
	return {
		take({ n, job, attempt, deaths }) {
			waiting.push({
				job,
				attempt,
				deaths,
				opened: () => send({ type: "opened", n }),
				ack: async () => send({ type: "ack", n }),
				retry: async (delayMs, { sameAttempt = false } = {}) =>
					send({ type: "retry", n, delayMs, sameAttempt }),
			});
			feed();
		},
		send() {
			throw new Error("a loader sends no jobs");
		},
		async *receive(signal) {
			while (!signal.aborted) {
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
		},
	};
}
