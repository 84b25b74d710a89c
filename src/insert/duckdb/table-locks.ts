/**
 * Order among the loads of one database inside this process. Appends share a
 * table; what makes, replaces or alters one has it alone. Requests are served in
 * the order in which they came, each with all its keys at once, so that nobody
 * waits while holding and nobody is overtaken for ever.
 *
 * Other processes are not seen here: their conflicts come from DuckDB, and are
 * tried again.
 */

export interface LockRequest {
	key: string;
	exclusive: boolean;
}

export interface HeldLock {
	/** Others were before: what was looked up earlier may have changed. */
	waited: boolean;
	release(): void;
}

export interface TableLocks {
	/** Rejects with the signal's reason when it aborts first. */
	acquire(requests: readonly LockRequest[], signal: AbortSignal): Promise<HeldLock>;
}

interface Waiter {
	keys: Map<string, boolean>;
	grant: () => void;
}

export function createTableLocks(): TableLocks {
	const held = new Set<Waiter>();
	const queue: Waiter[] = [];

	const serve = () => {
		const before: Waiter[] = [];
		for (const waiter of [...queue]) {
			if ([...held, ...before].some((other) => clash(waiter.keys, other.keys))) {
				before.push(waiter);
				continue;
			}
			queue.splice(queue.indexOf(waiter), 1);
			held.add(waiter);
			waiter.grant();
		}
	};

	return {
		acquire: (requests, signal) =>
			new Promise((resolve, reject) => {
				signal.throwIfAborted();
				let waited = false;
				const keys = new Map<string, boolean>();
				for (const { key, exclusive } of requests)
					keys.set(key, (keys.get(key) ?? false) || exclusive);
				const onAbort = () => {
					queue.splice(queue.indexOf(waiter), 1);
					reject(signal.reason);
					serve();
				};
				const waiter: Waiter = {
					keys,
					grant: () => {
						signal.removeEventListener("abort", onAbort);
						resolve({
							waited,
							release: () => {
								if (held.delete(waiter)) serve();
							},
						});
					},
				};
				signal.addEventListener("abort", onAbort, { once: true });
				queue.push(waiter);
				serve();
				waited = true;
			}),
	};
}

function clash(a: ReadonlyMap<string, boolean>, b: ReadonlyMap<string, boolean>): boolean {
	for (const [key, exclusive] of a) {
		const other = b.get(key);
		if (other !== undefined && (exclusive || other)) return true;
	}
	return false;
}
