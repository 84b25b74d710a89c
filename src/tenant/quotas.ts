/**
 * What a tenant may use: bytes and rows a day, uploads open, loads in parallel.
 *
 * Loaders count (`usage.ts`), open uploads are listed; we look at most every `cacheMs`
 * and add what this process let through since the loaders last wrote. So until the
 * next look n processes may take n times what is left; and what isn't known before
 * a load ends, its rows, counts from then on.
 */
import type { Clock } from "../clock.ts";
import { IngestError } from "../errors.ts";
import type { Receipt } from "../flow.ts";
import { countOpenUploads } from "../stage/count-open-uploads.ts";
import type { ObjectStore } from "../stage/object-store.ts";
import { keyCacheMs } from "./key-store.ts";
import { createRecentSum, type RecentSum } from "./recent-sum.ts";
import { dayOf, inProgress, readUsage, type Usage, untoldMs } from "./usage.ts";

export interface QuotaLimits {
	/** Per day in UTC; null: no limit. */
	bytesPerDay: number | null;
	rowsPerDay: number | null;
	openUploads: number | null;
	parallelLoads: number | null;
}

/** What a request is about to take. */
export type Taking = "upload" | "load" | "bytes";

export interface Quotas {
	/**
	 * `quota_exceeded` with the time to wait. Counts what it lets through; to be called
	 * back when this process saw a load end.
	 */
	assertRoom(tenant: string, taking: Taking): Promise<() => void>;
	/** Staged bytes that become a load. */
	addBytes(tenant: string, bytes: number): void;
	/** An upload was given up or completed; again is fine. */
	closeUpload(tenant: string, uploadId: string): void;
	/** A load's receipt; once for each. */
	addRows(tenant: string, receipt: Pick<Receipt, "rows_inserted" | "committed_at">): void;
}

interface Counted {
	usage: Usage;
	readAt: number;
	/** As listed at `readAt`; 0 where nobody asks. */
	openUploads: number;
	/** Since then. */
	uploads: number;
	closed: Set<string>;
	/** Let through by this process, without what it saw end: what `usage` may not know of. */
	loads: RecentSum;
	bytes: RecentSum;
	/** Of loads that committed after the ledger was counted. */
	rows: RecentSum;
}

const maxTenants = 10_000;
/** What ends any moment refuses nobody by what was read longer ago. */
const refusalMs = 1_000;
/** Loads and uploads end any moment; there is no better guess. */
const retrySeconds = 5;
/** Where loaders write nothing for so long, what we let through is taken to be over. */
const forgetAfterMs = 600_000;

export function createQuotas(options: {
	store: ObjectStore;
	clock: Clock;
	limits: QuotaLimits;
	cacheMs?: number;
}): Quotas {
	const { store, clock, limits, cacheMs = keyCacheMs } = options;
	const counted = new Map<string, Counted>();
	const reading = new Map<string, Promise<Counted>>();

	async function look(tenant: string, maxAgeMs: number): Promise<Counted> {
		const now = clock.now();
		const known = counted.get(tenant);
		if (known && now - known.readAt < maxAgeMs) return known;
		let read = reading.get(tenant);
		if (!read) {
			read = refresh(tenant, now).finally(() => reading.delete(tenant));
			reading.set(tenant, read);
		}
		return read;
	}

	async function refresh(tenant: string, now: number): Promise<Counted> {
		const usage = await readUsage(store, tenant, now);
		const openUploads =
			limits.openUploads === null ? 0 : await countOpenUploads(store, tenant, limits.openUploads);
		const before = counted.get(tenant);
		const [loads, bytes, rows] = [before?.loads, before?.bytes, before?.rows].map(
			(sum) => sum ?? createRecentSum(),
		) as [RecentSum, RecentSum, RecentSum];
		const longAgo = now - forgetAfterMs;
		loads.forget(Math.max(longAgo, Date.parse(usage.written_at) - untoldMs));
		bytes.forget(Math.max(longAgo, Date.parse(usage.written_at)));
		rows.forget(Math.max(longAgo, Date.parse(usage.counted_at)));
		counted.delete(tenant);
		if (counted.size >= maxTenants) counted.delete(counted.keys().next().value as string);
		const fresh: Counted = {
			usage,
			readAt: now,
			openUploads,
			uploads: 0,
			closed: new Set(),
			loads,
			bytes,
			rows,
		};
		counted.set(tenant, fresh);
		return fresh;
	}

	function over(what: string, used: number, limit: number, seconds: number): IngestError {
		return new IngestError("quota_exceeded", `${what}: ${used} of ${limit} are used`, {
			retryAfterSeconds: seconds,
			extra: { limit, used },
		});
	}

	function assertDay({ usage, bytes: newBytes, rows: newRows }: Counted): void {
		const now = clock.now();
		const today = usage.day === dayOf(now);
		const untilMidnight = Math.ceil((86_400_000 - (now % 86_400_000)) / 1000);
		const bytes = (today ? usage.bytes : 0) + inProgress(usage, now).bytes + newBytes.total();
		if (limits.bytesPerDay !== null && bytes >= limits.bytesPerDay) {
			throw over("bytes today", bytes, limits.bytesPerDay, untilMidnight);
		}
		const rows = (today ? usage.rows : 0) + newRows.total();
		if (limits.rowsPerDay !== null && rows >= limits.rowsPerDay) {
			throw over("rows today", rows, limits.rowsPerDay, untilMidnight);
		}
	}

	/** Null: there is room. */
	function refusal(count: Counted, taking: Taking): IngestError | null {
		const uploads = Math.max(0, count.openUploads + count.uploads);
		if (taking === "upload" && limits.openUploads !== null && uploads >= limits.openUploads) {
			return over("open uploads", uploads, limits.openUploads, retrySeconds);
		}
		const open = inProgress(count.usage, clock.now()).loads;
		const loads = Math.max(0, open + count.loads.total());
		if (taking === "load" && limits.parallelLoads !== null && loads >= limits.parallelLoads) {
			return over("loads in progress", loads, limits.parallelLoads, retrySeconds);
		}
		return null;
	}

	return {
		async assertRoom(tenant, taking) {
			let count = await look(tenant, cacheMs);
			assertDay(count);
			if (refusal(count, taking)) count = await look(tenant, refusalMs);
			const refused = refusal(count, taking);
			if (refused) throw refused;
			if (taking === "upload") count.uploads++;
			return taking === "load" ? count.loads.add(clock.now(), 1) : () => {};
		},
		addBytes(tenant, bytes) {
			counted.get(tenant)?.bytes.add(clock.now(), bytes);
		},
		closeUpload(tenant, uploadId) {
			const count = counted.get(tenant);
			if (!count || count.closed.has(uploadId)) return;
			count.closed.add(uploadId);
			count.uploads--;
		},
		addRows(tenant, { rows_inserted, committed_at }) {
			const count = counted.get(tenant);
			const at = Date.parse(committed_at ?? "");
			// A receipt of before is in the ledger's sum.
			if (count && at > Date.parse(count.usage.counted_at)) count.rows.add(at, rows_inserted);
		},
	};
}
