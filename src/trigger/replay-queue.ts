/**
 * How a finished upload reaches a loader: at least once, in any order, maybe
 * late. Nothing relies on it but speed: the sweep finds what it lost.
 */

import type { ReplayJob } from "../flow.ts";

export interface Delivery {
	job: ReplayJob;
	/** 1 on the first delivery. */
	attempt: number;
	/** Done, in whatever way: never again. */
	ack(): Promise<void>;
	/** Again after `delayMs`. */
	retry(delayMs: number): Promise<void>;
}

export interface ReplayQueue {
	/** Resolves once the job is taken. `busy` when the queue is full. */
	send(job: ReplayJob): Promise<void>;
	/** Deliveries until the signal aborts; several consumers share them. */
	receive(signal: AbortSignal): AsyncIterable<Delivery>;
}
