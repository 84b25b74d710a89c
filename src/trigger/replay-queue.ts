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
	/** Times that a loader died while it had this job open. */
	deaths?: number;
	/** The job is open from now on: a death of this process counts against it. */
	opened?(): void;
	/** Again after `delayMs`; `sameAttempt`: it wasn't tried, somebody else is at it. */
	retry(delayMs: number, options?: { sameAttempt?: boolean }): Promise<void>;
}

export interface ReplayQueue {
	/**
	 * Resolves once the job is taken. `busy` when the queue is full. `again`: not for the
	 * first time, so that no event of the store tells of it.
	 */
	send(job: ReplayJob, options?: { again?: boolean }): Promise<void>;
	/** How full it is, where it knows. */
	room?(): { free: number; retryAfterSeconds: number };
	/** Deliveries until the signal aborts; several consumers share them. */
	receive(signal: AbortSignal): AsyncIterable<Delivery>;
}
