/**
 * The loads of one tenant that wait, and which of them run next: a few large ones at a time, and
 * one group of small ones that share a transaction.
 *
 * A transaction costs about the same for one small load as for thirty. Callers that upload again as
 * soon as they have their receipt come back one by one after a group has ended; if the first of
 * them began the next group, it would have it alone and the others would wait for it. So a group
 * waits a moment until half as many are there as shared lately: half, so that one half is loaded
 * while the other is staged. Who comes alone again and again soon waits for nobody.
 */

import type { Delivery } from "../trigger/replay-queue.ts";
import type { BegunLoad } from "./replay-one.ts";

/** A load over this runs in a transaction of its own. */
const smallLoadBytes = 8 * 1024 * 1024;
/** Staged bytes of one shared transaction. */
const sharedBytes = 32 * 1024 * 1024;
const maxLargePerTenant = 2;
const longestPatienceMs = 50;
/** A group that ended before that says nothing of who comes now. */
const memoryMs = 1_000;

export interface Waiting {
	load: BegunLoad;
	delivery: Delivery;
	/** Milliseconds since 1970. */
	since: number;
}

export interface Lane {
	tenant: string;
	waiting: Waiting[];
	/** A group of small loads runs. */
	sharing: boolean;
	/** Loads that run alone. */
	large: number;
	/** Small loads that shared lately: of the last group, or half of what it was before. */
	lately: number;
	/** Of the last group of several: how long it took. */
	tookMs: number;
	/** When the last group ended, ms since 1970. */
	endedAt: number;
}

export function createLane(tenant: string): Lane {
	const none = { waiting: [], sharing: false, large: 0 };
	return { tenant, ...none, lately: 0, tookMs: 0, endedAt: 0 };
}

export const isSmall = ({ size, manifest, deaths }: BegunLoad) =>
	size <= smallLoadBytes && !manifest.dry_run && deaths === 0 && !isOrdered(manifest);

/** Versions of one file that replace a table: each must see in the ledger what the one before did. */
const isOrdered = ({ source, mode }: BegunLoad["manifest"]) =>
	source.kind === "drop" && mode === "replace";

/** A group of small loads is over. */
export function groupEnded(lane: Lane, loads: number, tookMs: number, now: number): void {
	lane.lately = Math.max(loads, Math.floor(lane.lately / 2));
	if (loads > 1) lane.tookMs = tookMs;
	lane.endedAt = now;
}

/** Milliseconds that small loads wait yet for others to share with. */
export function patienceMs(lane: Lane, maxShared: number, now: number): number {
	const { lately, tookMs, endedAt, waiting, sharing } = lane;
	if (sharing || lately <= 1 || now - endedAt > memoryMs) return 0;
	const small = waiting.filter(({ load }) => isSmall(load));
	const first = small[0];
	if (first === undefined || small.length >= Math.min(Math.ceil(lately / 2), maxShared)) return 0;
	const since = Math.max(first.since, endedAt);
	return Math.max(0, since + Math.min(longestPatienceMs, tookMs) - now);
}

/** Nothing of it is left to remember. */
export function isIdle({ waiting, sharing, large, endedAt }: Lane, now: number): boolean {
	return waiting.length === 0 && !sharing && large === 0 && now - endedAt > memoryMs;
}

/** Takes from the lane what may run now; null: nothing may. `suspects`: only what was open when a loader died. */
export function nextGroup(
	lane: Lane,
	options: { maxShared: number; suspects: boolean; patient: boolean },
): Waiting[] | null {
	const { maxShared, suspects, patient } = options;
	for (const [at, { load }] of lane.waiting.entries()) {
		if (load.deaths > 0 !== suspects) continue;
		if (isSmall(load) ? lane.sharing || patient : lane.large >= maxLargePerTenant) continue;
		if (!isSmall(load)) return lane.waiting.splice(at, 1);
		const group: Waiting[] = [];
		let bytes = 0;
		lane.waiting = lane.waiting.filter((one) => {
			const fits =
				isSmall(one.load) && group.length < maxShared && bytes + one.load.size <= sharedBytes;
			if (!fits) return true;
			bytes += one.load.size;
			group.push(one);
			return false;
		});
		return group;
	}
	return null;
}
