/**
 * `usage/{tenant}.json`: what a tenant used today, as its own ledger says, and the
 * loads it has with this loader, for handlers that hold no count of their own.
 *
 * Written when a load begins or ends, the last state of however many changed
 * meanwhile, at most every `everyMs`.
 */
import type { Clock } from "../clock.ts";
import type { BatchSink } from "../insert/batch-sink.ts";
import type { Log } from "../log.ts";
import type { ObjectStore } from "../stage/object-store.ts";
import { dayOf, writeUsage } from "../tenant/usage.ts";

export interface UsageBook {
	begin(tenant: string): void;
	end(tenant: string): void;
	/** Resolves once what changed is written. */
	flush(): Promise<void>;
}

interface Tally {
	loads: number;
	changed: boolean;
	writing: Promise<void> | null;
}

export function createUsageBook(deps: {
	sink: BatchSink;
	store: ObjectStore;
	clock: Clock;
	log: Log;
	everyMs?: number;
}): UsageBook {
	const { sink, store, clock, log, everyMs = 1_000 } = deps;
	const tallies = new Map<string, Tally>();
	const flushing = new AbortController();

	function touch(tenant: string, change: 1 | -1): void {
		const tally = tallies.get(tenant) ?? { loads: 0, changed: false, writing: null };
		tallies.set(tenant, tally);
		tally.loads += change;
		tally.changed = true;
		tally.writing ??= writeWhileChanged(tenant, tally);
	}

	async function writeWhileChanged(tenant: string, tally: Tally): Promise<void> {
		while (tally.changed) {
			tally.changed = false;
			await write(tenant, tally).catch((error) =>
				log.warn("a tenant's usage could not be written", {
					tenant,
					error: error instanceof Error ? error.message : String(error),
				}),
			);
			if (!flushing.signal.aborted) await clock.sleep(everyMs, flushing.signal).catch(() => {});
		}
		tally.writing = null;
		if (tally.loads === 0) tallies.delete(tenant);
	}

	async function write(tenant: string, tally: Tally): Promise<void> {
		const now = clock.now();
		const day = dayOf(now);
		const database = await sink.open(tenant, new AbortController().signal);
		try {
			const { bytes, rows } = await database.sumSince(`${day}T00:00:00Z`);
			await writeUsage(store, tenant, {
				day,
				bytes,
				rows,
				loads_in_progress: tally.loads,
				written_at: new Date(now).toISOString(),
			});
		} finally {
			await database.close();
		}
	}

	return {
		begin: (tenant) => touch(tenant, 1),
		end: (tenant) => touch(tenant, -1),
		async flush() {
			flushing.abort();
			while (tallies.size > 0) {
				const writing = [...tallies.values()].map((tally) => tally.writing);
				if (writing.every((one) => one === null)) return;
				await Promise.all(writing);
			}
		},
	};
}
