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
	/**
	 * Rejects with the signal's reason when it aborts first. Who hands in `othersWait` is told when
	 * somebody who doesn't waits for it, whether it holds its lock by then or waits too.
	 */
	acquire(
		requests: readonly LockRequest[],
		signal: AbortSignal,
		othersWait?: () => void,
	): Promise<HeldLock>;
	/** Tells all of those: somebody met what they hold elsewhere than here. */
	askAll(): void;
}

interface Waiter {
	keys: Map<string, boolean>;
	grant: () => void;
	othersWait: (() => void) | undefined;
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
		askAll() {
			for (const waiter of [...held, ...queue]) waiter.othersWait?.();
		},
		acquire: (requests, signal, othersWait) =>
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
					othersWait,
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
				if (held.has(waiter) || othersWait !== undefined) return;
				for (const other of [...held, ...queue]) {
					if (clash(keys, other.keys)) other.othersWait?.();
				}
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
