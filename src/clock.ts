/** Time as a dependency: tests hand in a clock that they move themselves. */
export interface Clock {
	/** Milliseconds since 1970 (UTC). */
	now(): number;
	/** Resolves after `ms`; rejects with the signal's reason when aborted. */
	sleep(ms: number, signal?: AbortSignal): Promise<void>;
}

/**
 * A reason for aborts that nobody asks about: what was waited for has come. Without one
 * each abort makes an exception with its stack, which costs more than the wait.
 */
export const noLongerNeeded = new Error("no longer needed");

export const systemClock: Clock = {
	now: () => Date.now(),
	sleep: (ms, signal) =>
		new Promise((resolve, reject) => {
			signal?.throwIfAborted();
			const onAbort = () => {
				clearTimeout(timer);
				reject(signal?.reason);
			};
			const timer = setTimeout(() => {
				signal?.removeEventListener("abort", onAbort);
				resolve();
			}, ms);
			signal?.addEventListener("abort", onAbort, { once: true });
		}),
};
