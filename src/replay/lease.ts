/**
 * Who loads an upload: put-if-absent objects `lease/{generation}`.
 *
 * A loader creates the first generation, which is most often all there is to it. Where
 * that is taken, it reads the generations: where the highest one is alive, somebody
 * else is at work, else it creates the next one. Of several exactly one succeeds. It
 * renews its own object while it works, looks once more just before COMMIT, and
 * removes it at the end, after the older ones. Whoever takes over writes over the
 * object before, so that its owner can't renew it any more. What a loader takes within
 * one second has the same owner and the same end, so that a store may keep it as one.
 *
 * Why no load can happen twice, even when clocks jump or a loader sleeps:
 * 1. A clock that runs ahead lets a lease be taken over early, one that lags lets
 *    it live long. Neither matters to what follows, only to how soon.
 * 2. Whoever was taken over sees the next generation, or its own object gone or
 *    with another owner, at its look before COMMIT, and rolls back. (Generations go
 *    one by one and are removed in their order: while ours is there, the next one is
 *    there if any later one is.)
 * 3. Between that look and COMMIT it may still be overtaken. Both then hold the
 *    ledger row of one load_id in their transactions, and the ledger's primary key
 *    (or its fence) lets one COMMIT succeed. That is the last guard, and the only
 *    one that the promise needs; the lease saves the work of loading for nothing.
 * 4. A DuckDB file is attached by one process at a time besides.
 * The same holds for a process that is taken for gone and isn't.
 */

import { type Clock, noLongerNeeded } from "../clock.ts";
import { IngestError } from "../errors.ts";
import { getJson, putJson } from "../stage/json-object.ts";
import { type LeaseObject, leaseIsHeld, readLeases } from "../stage/lease-object.ts";
import { leaseKey } from "../stage/object-keys.ts";
import type { ObjectStore } from "../stage/object-store.ts";

export interface Lease {
	readonly generation: number;
	/** Loaders before that neither ended nor let go. */
	readonly abandoned: number;
	/** Aborts when the lease was lost or could not be renewed in time. */
	readonly signal: AbortSignal;
	/** `load_in_progress` when somebody else owns the upload by now. */
	assertOwned(): Promise<void>;
	release(): Promise<void>;
}

export interface LeaseOptions {
	store: ObjectStore;
	clock: Clock;
	newId(): string;
	/** Owner and end of what is taken now; absent: each lease has its own. */
	terms?: LeaseTerms;
	/** How long a loader that died is waited for. */
	leaseMs?: number;
	/** The name of this loader's process, and whether the process of such a name is surely gone: then nobody waits. */
	process?: { name: string; isGone(name: string): boolean };
}

export type LeaseTerms = () => Pick<LeaseObject, "owner" | "expires_at">;

/** Renewed three times as often: of every load that waits for its turn, so not for less than it is worth. */
const defaultLeaseMs = 30_000;
const maxRounds = 6;

const sharedMs = 1_000;

/** The same terms for all that one loader takes within a moment: they end a little early. */
export function createLeaseTerms({
	clock,
	newId,
	leaseMs = defaultLeaseMs,
}: Pick<LeaseOptions, "clock" | "newId" | "leaseMs">): LeaseTerms {
	const keptMs = Math.min(sharedMs, leaseMs / 30);
	let madeAt = Number.NEGATIVE_INFINITY;
	let terms: ReturnType<LeaseTerms>;
	return () => {
		const now = clock.now();
		if (now < madeAt || now - madeAt > keptMs) {
			madeAt = now;
			terms = { owner: newId(), expires_at: new Date(now + leaseMs).toISOString() };
		}
		return terms;
	};
}

/** `load_in_progress`, with the seconds after which it makes sense to look again. */
export async function takeLease(options: LeaseOptions, tenant: string, id: string): Promise<Lease> {
	const { store, clock, leaseMs = defaultLeaseMs, process } = options;
	const { terms = createLeaseTerms(options) } = options;
	const isGone = ({ process: name }: LeaseObject) =>
		name !== undefined && process?.isGone(name) === true;
	for (let round = 0; round < maxRounds; round++) {
		const leases = round === 0 ? [] : await readLeases(store, tenant, id);
		const last = leases.at(-1);
		if (last !== undefined && leaseIsHeld(leases, clock.now()) && !isGone(last)) {
			throw held(id, Math.min(Date.parse(last.expires_at) - clock.now(), leaseMs));
		}
		const mine: LeaseObject = {
			generation: (last?.generation ?? 0) + 1,
			...terms(),
			...(process === undefined ? {} : { process: process.name }),
		};
		const key = leaseKey(tenant, id, mine.generation);
		const taken = await putJson(store, key, mine, { ifAbsent: true, volatile: true });
		if (taken === null) continue;
		if (last !== undefined) {
			// Its owner, should it live, renews no object that is another one by now.
			const over = { ...last, expires_at: new Date(clock.now()).toISOString() };
			await putJson(store, leaseKey(tenant, id, last.generation), over, { volatile: true });
		}
		return keepLease({ store, clock, leaseMs }, tenant, id, mine, taken.etag, leases);
	}
	throw held(id, 1_000);
}

function keepLease(
	{ store, clock, leaseMs }: { store: ObjectStore; clock: Clock; leaseMs: number },
	tenant: string,
	id: string,
	mine: LeaseObject,
	takenEtag: string,
	older: LeaseObject[],
): Lease {
	const lost = new AbortController();
	const done = new AbortController();
	const key = leaseKey(tenant, id, mine.generation);

	async function isOwned(): Promise<boolean> {
		const [next, found] = await Promise.all([
			store.head(leaseKey(tenant, id, mine.generation + 1)),
			getJson<LeaseObject>(store, key),
		]);
		return next === null && found?.value.owner === mine.owner;
	}

	const overtaken = () =>
		new IngestError(
			"load_in_progress",
			`the lease of ${id} is no longer that of generation ${mine.generation}`,
			{ retryAfterSeconds: 1 },
		);

	async function assertOwned(): Promise<void> {
		if (!(await isOwned())) throw overtaken();
	}

	let etag = takenEtag;
	let renewedAt = clock.now();
	/** One request and no look: many loads wait for their turn, and each has a lease to renew. */
	async function renew(): Promise<void> {
		const expires_at = new Date(clock.now() + leaseMs).toISOString();
		const renewed = await putJson(
			store,
			key,
			{ ...mine, expires_at },
			{ ifMatch: etag, volatile: true },
		);
		if (renewed === null) {
			// Ours all the same, where a renewal arrived whose answer did not.
			const found = await getJson<LeaseObject>(store, key);
			if (found?.value.owner !== mine.owner || !(await isOwned())) throw overtaken();
			etag = found.info.etag;
			return;
		}
		etag = renewed.etag;
		renewedAt = clock.now();
	}

	const renewing = (async () => {
		for (;;) {
			await clock.sleep(leaseMs / 3, done.signal);
			try {
				await renew();
			} catch (error) {
				if (done.signal.aborted) return;
				const gone = error instanceof IngestError && error.code === "load_in_progress";
				if (gone || clock.now() - renewedAt > leaseMs) {
					lost.abort(error);
					return;
				}
			}
		}
	})().catch(() => {});

	return {
		generation: mine.generation,
		abandoned: older.length,
		signal: lost.signal,
		assertOwned,
		async release() {
			done.abort(noLongerNeeded);
			await renewing;
			// Where it may have been taken over, removed and taken anew, the key may be another's by now.
			if (clock.now() - renewedAt > leaseMs / 2 && !(await isOwned())) return;
			for (const { generation } of older) await store.delete(leaseKey(tenant, id, generation));
			await store.delete(key);
		},
	};
}

const held = (id: string, leftMs: number) =>
	new IngestError("load_in_progress", `another loader works on ${id}`, {
		retryAfterSeconds: Math.max(0.2, leftMs / 1000),
	});
