/**
 * At most N at a time, in the order in which they came.
 *
 * A statement that reads a stream keeps a thread of libuv's pool until its last
 * batch is in, and the bytes of that batch may need a thread of the same pool to
 * be read or unpacked. So fewer statements than threads may run at once.
 */
export interface Semaphore {
	/** Resolves with the release; rejects with the signal's reason when it aborts first. */
	acquire(signal: AbortSignal): Promise<() => void>;
}

export function createSemaphore(size: number): Semaphore {
	let free = size;
	const queue: (() => void)[] = [];
	const release = () => {
		const next = queue.shift();
		if (next) next();
		else free++;
	};
	const once = () => {
		let done = false;
		return () => {
			if (!done) release();
			done = true;
		};
	};
	return {
		acquire: async (signal) => {
			signal.throwIfAborted();
			if (free > 0) {
				free--;
				return once();
			}
			await new Promise<void>((resolve, reject) => {
				const enter = () => {
					signal.removeEventListener("abort", onAbort);
					resolve();
				};
				const onAbort = () => {
					queue.splice(queue.indexOf(enter), 1);
					reject(signal.reason);
				};
				signal.addEventListener("abort", onAbort, { once: true });
				queue.push(enter);
			});
			return once();
		},
	};
}
