/**
 * What a tenant may use: bytes and rows a day, uploads open, loads in parallel.
 *
 * The loader counts (`usage.ts`), open uploads are listed; we look at most every `cacheMs` and
 * add what this process let through since. So the overshoot is what all other
 * processes let through within the cache's time, and what the loader had not yet
 * written down: n processes may take up to n times what is left in that time.
 */
import type { Clock } from "../clock.ts";
import { IngestError } from "../errors.ts";
import { countOpenUploads } from "../stage/count-open-uploads.ts";
import type { ObjectStore } from "../stage/object-store.ts";
import { keyCacheMs } from "./key-store.ts";
import { dayOf, readUsage, type Usage } from "./usage.ts";

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
	/** `quota_exceeded` with the time to wait. Counts what it lets through. */
	assertRoom(tenant: string, taking: Taking): Promise<void>;
	/** Bytes that were staged after all. */
	addBytes(tenant: string, bytes: number): void;
	/** An upload was given up or completed; again is fine. */
	closeUpload(tenant: string, uploadId: string): void;
	/** A load that was let through has ended, as far as this process saw. */
	endLoad(tenant: string): void;
}

interface Counted {
	usage: Usage;
	/** As listed at `readAt`; 0 where nobody asks. */
	openUploads: number;
	readAt: number;
	/** Let through by this process since `usage.written_at`, as far as it knows. */
	bytes: number;
	uploads: number;
	loads: number;
	closed: Set<string>;
	since: number;
}

const maxTenants = 10_000;
/** Loads and uploads end any moment; there is no better guess. */
const retrySeconds = 5;
/** Where the loader writes nothing for so long, what we let through is taken to be over. */
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

	async function look(tenant: string): Promise<Counted> {
		const now = clock.now();
		const known = counted.get(tenant);
		if (known && now - known.readAt < cacheMs) return known;
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
		counted.delete(tenant);
		if (counted.size >= maxTenants) counted.delete(counted.keys().next().value as string);
		// A count that is no newer knows nothing of what we let through since.
		const same =
			before !== undefined &&
			before.usage.written_at === usage.written_at &&
			now - before.since < forgetAfterMs;
		const fresh: Counted = same
			? { ...before, openUploads, readAt: now, uploads: 0, closed: new Set() }
			: {
					usage,
					openUploads,
					readAt: now,
					bytes: 0,
					uploads: 0,
					loads: 0,
					closed: new Set(),
					since: now,
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

	return {
		async assertRoom(tenant, taking) {
			const count = await look(tenant);
			const { usage } = count;
			const now = clock.now();
			const today = usage.day === dayOf(now);
			const untilMidnight = Math.ceil((86_400_000 - (now % 86_400_000)) / 1000);
			const bytes = (today ? usage.bytes : 0) + count.bytes;
			if (limits.bytesPerDay !== null && bytes >= limits.bytesPerDay) {
				throw over("bytes today", bytes, limits.bytesPerDay, untilMidnight);
			}
			const rows = today ? usage.rows : 0;
			if (limits.rowsPerDay !== null && rows >= limits.rowsPerDay) {
				throw over("rows today", rows, limits.rowsPerDay, untilMidnight);
			}
			const uploads = Math.max(0, count.openUploads + count.uploads);
			if (taking === "upload" && limits.openUploads !== null && uploads >= limits.openUploads) {
				throw over("open uploads", uploads, limits.openUploads, retrySeconds);
			}
			const loads = Math.max(0, usage.loads_in_progress + count.loads);
			if (taking === "load" && limits.parallelLoads !== null && loads >= limits.parallelLoads) {
				throw over("loads in progress", loads, limits.parallelLoads, retrySeconds);
			}
			if (taking === "upload") count.uploads++;
			if (taking === "load") count.loads++;
		},
		addBytes(tenant, bytes) {
			const count = counted.get(tenant);
			if (count) count.bytes += bytes;
		},
		closeUpload(tenant, uploadId) {
			const count = counted.get(tenant);
			if (!count || count.closed.has(uploadId)) return;
			count.closed.add(uploadId);
			count.uploads--;
		},
		endLoad(tenant) {
			const count = counted.get(tenant);
			if (count) count.loads--;
		},
	};
}
