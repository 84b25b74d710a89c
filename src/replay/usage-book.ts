/**
 * `usage/{tenant}.json`: what a tenant used today, as its own ledger says, and the
 * loads that this loader has open for it, for handlers that hold no count of their own.
 *
 * Written when a load begins or ends, the last state of however many changed
 * meanwhile, at most every `everyMs`; once more a little later, so that who reads it
 * knows that nothing is untold; and as a sign of life while one is open. A
 * begin is told without the ledger: a database that can't be opened now hides no
 * load that waits for it.
 */
import type { Clock } from "../clock.ts";
import type { BatchSink } from "../insert/batch-sink.ts";
import type { Log } from "../log.ts";
import type { ObjectStore } from "../stage/object-store.ts";
import {
	changeUsage,
	dayOf,
	loaderSilentMs,
	type Usage,
	untoldMs,
	usageEveryMs,
} from "../tenant/usage.ts";

export interface UsageBook {
	/** `bytes`: of the load, as staged. */
	begin(tenant: string, bytes: number): void;
	end(tenant: string, bytes: number): void;
	/** Resolves once what changed is written. */
	flush(): Promise<void>;
}

interface Tally {
	loads: number;
	bytes: number;
	changed: boolean;
	changedAt: number;
	/** The ledger has what isn't written: a load ended, or a day began. */
	uncounted: boolean;
	writing: Promise<void> | null;
}

export function createUsageBook(deps: {
	sink: BatchSink;
	store: ObjectStore;
	clock: Clock;
	log: Log;
	newId: () => string;
	everyMs?: number;
}): UsageBook {
	const { sink, store, clock, log, everyMs = 1_000 } = deps;
	const name = deps.newId();
	const tallies = new Map<string, Tally>();
	const flushing = new AbortController();

	function touch(tenant: string, loads: 1 | -1, bytes: number): void {
		const tally = tallies.get(tenant) ?? {
			loads: 0,
			bytes: 0,
			changed: false,
			changedAt: 0,
			uncounted: false,
			writing: null,
		};
		tallies.set(tenant, tally);
		tally.loads += loads;
		tally.bytes += loads * bytes;
		tally.changed = true;
		tally.changedAt = clock.now();
		if (loads < 0) tally.uncounted = true;
		tally.writing ??= writeWhileOpen(tenant, tally);
	}

	async function writeWhileOpen(tenant: string, tally: Tally): Promise<void> {
		let writtenAt = 0;
		const isSettled = () => writtenAt - tally.changedAt >= untoldMs;
		while (tally.changed || ((tally.loads > 0 || !isSettled()) && !flushing.signal.aborted)) {
			const now = clock.now();
			const due = isSettled() ? writtenAt + usageEveryMs : tally.changedAt + untoldMs;
			if (tally.changed || now >= due) {
				writtenAt = clock.now();
				await write(tenant, tally);
			}
			if (!flushing.signal.aborted) await clock.sleep(everyMs, flushing.signal).catch(() => {});
		}
		tally.writing = null;
		if (tally.loads === 0) tallies.delete(tenant);
	}

	async function write(tenant: string, tally: Tally): Promise<void> {
		const { uncounted } = tally;
		tally.changed = false;
		tally.uncounted = false;
		try {
			const written = await changeUsage(store, tenant, clock.now(), (usage) =>
				nextUsage(tenant, tally, usage, uncounted),
			);
			if (!written.counted_at.startsWith(written.day)) tally.changed = tally.uncounted = true;
		} catch (error) {
			tally.uncounted ||= uncounted;
			tally.changed ||= !flushing.signal.aborted;
			log.warn("a tenant's usage could not be written", {
				tenant,
				error: error instanceof Error ? error.message : String(error),
			});
		}
	}

	async function nextUsage(
		tenant: string,
		{ loads, bytes }: Tally,
		usage: Usage,
		uncounted: boolean,
	): Promise<Usage> {
		const now = clock.now();
		const at = new Date(now).toISOString();
		const day = dayOf(now);
		const { counted_at } = usage;
		const known =
			usage.day === day ? { bytes: usage.bytes, rows: usage.rows } : { bytes: 0, rows: 0 };
		const counted = uncounted
			? { ...(await sumOf(tenant, day)), counted_at: at }
			: { ...known, counted_at };
		const others = Object.entries(usage.loaders).filter(
			([other, line]) => other !== name && now - Date.parse(line.at) < loaderSilentMs,
		);
		const mine = loads > 0 ? [[name, { loads, bytes, at }] as const] : [];
		return {
			day,
			...counted,
			loaders: Object.fromEntries([...others, ...mine]),
			written_at: at,
		};
	}

	async function sumOf(tenant: string, day: string): Promise<{ bytes: number; rows: number }> {
		const database = await sink.open(tenant, new AbortController().signal);
		try {
			const { bytes, rows } = await database.sumSince(`${day}T00:00:00Z`);
			return { bytes, rows };
		} finally {
			await database.close();
		}
	}

	return {
		begin: (tenant, bytes) => touch(tenant, 1, bytes),
		end: (tenant, bytes) => touch(tenant, -1, bytes),
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
