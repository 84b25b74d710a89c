/**
 * What a tenant has used: `usage/{tenant}.json`, written by its loaders, which
 * alone see what was committed, and read by handlers that keep no state.
 *
 * Several loaders write the one object, each its own line of `loaders`, under the
 * condition that nobody wrote in between.
 */
import * as z from "zod";
import { IngestError } from "../errors.ts";
import type { ObjectStore } from "../stage/object-store.ts";
import { assertTenantName } from "./tenant-name.ts";

/** What a loader has begun and not ended. */
const loaderSchema = z.object({
	loads: z.int().min(0),
	/** Of these loads, as staged. */
	bytes: z.int().min(0),
	at: z.iso.datetime(),
});

export const usageSchema = z.object({
	/** The day that bytes and rows are of, in UTC: `2026-11-30`. */
	day: z.iso.date(),
	/** Arrow bytes and rows of loads committed on that day, as the ledger has them at `counted_at`. */
	bytes: z.int().min(0),
	rows: z.int().min(0),
	counted_at: z.iso.datetime(),
	/** By a name that each loader's process gives itself. */
	loaders: z.record(z.string(), loaderSchema),
	written_at: z.iso.datetime(),
});
export type Usage = z.infer<typeof usageSchema>;

/** A loader with open loads writes at least so often. */
export const usageEveryMs = 20_000;
/** What began or ended so long before `written_at` is told: loaders write a moment later, and each without the others'. */
export const untoldMs = 2_000;
/** Of a loader that is silent for so long, the open loads are taken to be over. */
export const loaderSilentMs = 60_000;

/** Loaders write seldom; who loses so often leaves it for the next time. */
const maxRounds = 10;

export const usageKey = (tenant: string) => `usage/${assertTenantName(tenant)}.json`;

export const dayOf = (ms: number) => new Date(ms).toISOString().slice(0, 10);

/** Loads, and their bytes, that loaders have open. */
export function inProgress({ loaders }: Usage, now: number): { loads: number; bytes: number } {
	const open = { loads: 0, bytes: 0 };
	for (const { loads, bytes, at } of Object.values(loaders)) {
		if (now - Date.parse(at) >= loaderSilentMs) continue;
		open.loads += loads;
		open.bytes += bytes;
	}
	return open;
}

/** Nothing used where nothing was written, or where it isn't readable. */
export async function readUsage(store: ObjectStore, tenant: string, now: number): Promise<Usage> {
	return (await find(store, tenant)).usage ?? noUsage(now);
}

/** `store_unavailable` where others are always faster. `change` sees what is there and returns what shall be; it is asked again where somebody else wrote meanwhile. */
export async function changeUsage(
	store: ObjectStore,
	tenant: string,
	now: number,
	change: (usage: Usage) => Promise<Usage>,
): Promise<Usage> {
	for (let round = 0; round < maxRounds; round++) {
		const { usage, etag } = await find(store, tenant);
		const next = await change(usage ?? noUsage(now));
		const bytes = new TextEncoder().encode(JSON.stringify(next));
		const condition = etag === null ? { ifAbsent: true } : { ifMatch: etag };
		if (await store.put(usageKey(tenant), bytes, { ...condition, volatile: true })) return next;
	}
	throw new IngestError("store_unavailable", `others wrote ${usageKey(tenant)} ${maxRounds} times`);
}

async function find(
	store: ObjectStore,
	tenant: string,
): Promise<{ usage: Usage | null; etag: string | null }> {
	const object = await store.get(usageKey(tenant));
	if (object === null) return { usage: null, etag: null };
	const text = await new Response(object.body as ReadableStream<Uint8Array<ArrayBuffer>>).text();
	try {
		return { usage: usageSchema.parse(JSON.parse(text)), etag: object.info.etag };
	} catch {
		return { usage: null, etag: object.info.etag };
	}
}

function noUsage(now: number): Usage {
	const never = new Date(0).toISOString();
	return { day: dayOf(now), bytes: 0, rows: 0, counted_at: never, loaders: {}, written_at: never };
}
