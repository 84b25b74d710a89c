/**
 * What a tenant has used: `usage/{tenant}.json`, written by the loader, which
 * alone sees what was committed, and read by handlers that keep no state.
 */
import { z } from "zod";
import type { ObjectStore } from "../stage/object-store.ts";
import { assertTenantName } from "./tenant-name.ts";

export const usageSchema = z.object({
	/** The day that bytes and rows are of, in UTC: `2026-11-30`. */
	day: z.iso.date(),
	/** Arrow bytes and rows of loads committed on that day. */
	bytes: z.int().min(0),
	rows: z.int().min(0),
	/** Loads that wait or run in the loader. */
	loads_in_progress: z.int().min(0),
	written_at: z.iso.datetime(),
});
export type Usage = z.infer<typeof usageSchema>;

export const usageKey = (tenant: string) => `usage/${assertTenantName(tenant)}.json`;

export const dayOf = (ms: number) => new Date(ms).toISOString().slice(0, 10);

/** Nothing used where nothing was written, or where it isn't readable. */
export async function readUsage(store: ObjectStore, tenant: string, now: number): Promise<Usage> {
	const none: Usage = {
		day: dayOf(now),
		bytes: 0,
		rows: 0,
		loads_in_progress: 0,
		written_at: new Date(0).toISOString(),
	};
	const object = await store.get(usageKey(tenant));
	if (object === null) return none;
	const text = await new Response(object.body as ReadableStream<Uint8Array<ArrayBuffer>>).text();
	try {
		return usageSchema.parse(JSON.parse(text));
	} catch {
		return none;
	}
}

export async function writeUsage(store: ObjectStore, tenant: string, usage: Usage): Promise<void> {
	const bytes = new TextEncoder().encode(JSON.stringify(usage));
	await store.put(usageKey(tenant), bytes, { volatile: true });
}
