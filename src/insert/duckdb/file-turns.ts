/**
 * Loaders of several processes take turns with one database file.
 *
 * While the file is attached it is looked every `turnMs` whether others wait for it. If
 * so no load begins here, those that run end (or give way, where they can wait), the file
 * is let go, and the next who waits has it, before this process asks for it again and
 * waits in its turn. When nobody waits any more meanwhile, all goes on as it was.
 */

import { type Clock, noLongerNeeded } from "../../clock.ts";
import { othersWaitFor, signEveryMs } from "./waiting-sign.ts";

export interface FileTurns {
	/** Resolves once a load may begin, with what it calls at its end; rejects when the signal aborts first. */
	take(signal: AbortSignal): Promise<() => void>;
	/** It was attached; null: many processes at a time may have it. */
	attached(file: string | null): void;
	/** It was let go. */
	gone(): void;
}

export interface FileTurnsOptions {
	clock: Clock;
	turnMs: number;
	/** Asks the loads that run and can wait to end. */
	giveWay(): void;
	/** Lets the file go when no operation runs any more; nobody attaches it until `pause` has resolved. */
	letGo(pause: () => Promise<void>): Promise<void>;
}

/** Whoever waits tries more often than this. */
const handOverMs = 4 * signEveryMs;
const pollMs = 20;

export function createFileTurns(options: FileTurnsOptions): FileTurns {
	const { clock } = options;
	let running = 0;
	let ended = Promise.withResolvers<void>();
	let yielding: Promise<void> | null = null;
	let watching: AbortController | null = null;

	async function watch(file: string, signal: AbortSignal): Promise<void> {
		for (;;) {
			await clock.sleep(options.turnMs, signal);
			if (!othersWaitFor(file, clock)) continue;
			yielding = yieldFile(() => othersWaitFor(file, clock));
			await yielding;
			yielding = null;
		}
	}

	async function yieldFile(othersWait: () => boolean): Promise<void> {
		while (running > 0) {
			options.giveWay();
			const woken = new AbortController();
			await Promise.race([ended.promise, clock.sleep(signEveryMs, woken.signal).catch(() => {})]);
			woken.abort(noLongerNeeded);
			if (!othersWait()) return;
		}
		await options.letGo(async () => {
			const until = clock.now() + handOverMs;
			while (othersWait() && clock.now() < until) await clock.sleep(pollMs);
		});
	}

	return {
		async take(signal) {
			const stopped = Promise.withResolvers<void>();
			const stop = () => stopped.resolve();
			signal.addEventListener("abort", stop, { once: true });
			while (yielding !== null && !signal.aborted) {
				await Promise.race([yielding, stopped.promise]);
			}
			signal.removeEventListener("abort", stop);
			signal.throwIfAborted();
			running++;
			let left = false;
			return () => {
				if (left) return;
				left = true;
				running--;
				ended.resolve();
				ended = Promise.withResolvers();
			};
		},
		attached(file) {
			if (file === null) return;
			watching = new AbortController();
			watch(file, watching.signal).catch(() => {});
		},
		gone() {
			watching?.abort(noLongerNeeded);
			watching = null;
		},
	};
}
