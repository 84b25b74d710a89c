/** `uploads/{tenant}/{id}/lease/{generation}`: who loads an upload now. Taken and kept by `replay/lease.ts`. */
import { getJson } from "./json-object.ts";
import { leaseKey, leasePrefix } from "./object-keys.ts";
import type { ObjectStore } from "./object-store.ts";

export interface LeaseObject {
	generation: number;
	/** One of a kind for every taking. */
	owner: string;
	/** Where the owner can say so: its process. */
	process?: string;
	/** ISO 8601; renewed while the owner works. */
	expires_at: string;
}

/** Ascending by generation. */
export async function readLeases(
	store: ObjectStore,
	tenant: string,
	id: string,
): Promise<LeaseObject[]> {
	const leases: LeaseObject[] = [];
	for await (const { key } of store.list(leasePrefix(tenant, id))) {
		const generation = Number(key.slice(key.lastIndexOf("/") + 1));
		if (!Number.isSafeInteger(generation)) continue;
		const stored = await getJson<LeaseObject>(store, leaseKey(tenant, id, generation));
		if (stored !== null) leases.push({ ...stored.value, generation });
	}
	return leases;
}

/** The highest generation owns, until its time is over. */
export function leaseIsHeld(leases: LeaseObject[], now: number): boolean {
	const last = leases.at(-1);
	return last !== undefined && now < Date.parse(last.expires_at);
}
