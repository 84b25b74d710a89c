/**
 * What HTTP process and loader say to each other: names of jobs and what became
 * of them, never data. What the loader has to say in one turn goes as one message,
 * since each is a write to a pipe and wakes the other side. The loader's side is a `ReplayQueue` like any other.
 */

import type { ManifestPart, ReplayJob } from "../flow.ts";
import type { Delivery, ReplayQueue } from "../trigger/replay-queue.ts";

export const aliveEveryMs = 5_000;

/** From the HTTP process. `n` names the delivery. */
export type ToLoader =
	| { type: "load"; n: number; job: ReplayJob; attempt: number; deaths: number }
	/** An upload that still takes parts: load it while they come. These are durable. */
	| { type: "early"; job: ReplayJob; parts: ManifestPart[] }
	/** Another one is, of an upload that was begun early. */
	| { type: "part"; job: ReplayJob; part: ManifestPart }
	/** No load comes of an upload that was begun early. */
	| { type: "gone"; job: ReplayJob }
	/** Take no more, end what runs, leave. */
	| { type: "drain" };

/** From the loader, several in one array. */
export type FromLoader =
	| { type: "ready" }
	/** Every `aliveEveryMs`: its event loop turns. */
	| { type: "alive" }
	/** Its bytes are about to be read: a death from now on may be their fault. */
	| { type: "opened"; n: number }
	| { type: "ack"; n: number }
	| { type: "retry"; n: number; delayMs: number; sameAttempt: boolean }
	/** Nothing of an early load is open any more. */
	| { type: "early-ended"; job: ReplayJob; outcome: EarlyOutcome };

export const earlyOutcomes = ["committed", "given up", "declined", "loader died"] as const;
export type EarlyOutcome = (typeof earlyOutcomes)[number];

/** What a loader is told of uploads that still arrive. */
export interface EarlyListener {
	begin(job: ReplayJob, parts: ManifestPart[]): void;
	part(job: ReplayJob, part: ManifestPart): void;
	gone(job: ReplayJob): void;
}

export interface EarlyLine {
	/** Who listens from now on. Nobody: each attempt is declined. */
	listen(listener: EarlyListener): void;
	ended(job: ReplayJob, outcome: EarlyOutcome): void;
}

/**
 * Gathers what is said in one turn. What is opened is told before anything of it is read:
 * as soon as the code that says so comes to its first await.
 */
export function gather(send: (messages: FromLoader[]) => void): (message: FromLoader) => void {
	let gathered: FromLoader[] = [];
	const flush = () => {
		if (gathered.length === 0) return;
		const messages = gathered;
		gathered = [];
		send(messages);
	};
	return (message) => {
		gathered.push(message);
		if (message.type === "opened") queueMicrotask(flush);
		else if (gathered.length === 1) setImmediate(flush);
	};
}

export interface LoaderSide extends ReplayQueue {
	readonly early: EarlyLine;
	/** A message of the HTTP process that isn't a drain. */
	take(message: Exclude<ToLoader, { type: "drain" }>): void;
}

export function createLoaderSide(send: (message: FromLoader) => void): LoaderSide {
	const waiting: Delivery[] = [];
	let feed = () => {};
	let listener: EarlyListener | null = null;
	const ended: EarlyLine["ended"] = (job, outcome) => send({ type: "early-ended", job, outcome });
	return {
		early: {
			listen(one) {
				listener = one;
			},
			ended,
		},
		take(message) {
			if (message.type === "early") {
				if (listener === null) ended(message.job, "declined");
				return listener?.begin(message.job, message.parts);
			}
			if (message.type === "part") return listener?.part(message.job, message.part);
			if (message.type === "gone") return listener?.gone(message.job);
			const { n, job, attempt, deaths } = message;
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
					feed = () => {
						signal.removeEventListener("abort", feed);
						resolve();
					};
					signal.addEventListener("abort", feed, { once: true });
				});
			}
		},
	};
}
