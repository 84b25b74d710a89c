/**
 * The loads of one tenant that wait, and which of them run next: a few large ones at a time, and
 * one group of small ones that share a transaction.
 *
 * A transaction costs about the same for one small load as for thirty. Callers that upload again as
 * soon as they have their receipt come back one by one after a group has ended; if the first of
 * them began the next group, it would have it alone and the others would wait for it. So a group
 * waits until it has as many loads as the last one had, for as long as the last one took
 * and never long. Who comes after a group of one waits for nobody.
 */

import type { Delivery } from "../trigger/replay-queue.ts";
import type { BegunLoad } from "./replay-one.ts";

/** A load over this runs in a transaction of its own. */
const smallLoadBytes = 8 * 1024 * 1024;
/** Staged bytes of one shared transaction. */
const sharedBytes = 32 * 1024 * 1024;
const maxLargePerTenant = 2;
const longestPatienceMs = 100;

export interface Waiting {
	load: BegunLoad;
	delivery: Delivery;
}

export interface Lane {
	tenant: string;
	waiting: Waiting[];
	/** A group of small loads runs. */
	sharing: boolean;
	/** Loads that run alone. */
	large: number;
	/** The last group of small ones: how many there were; until when the next one waits for as many (ms since 1970). */
	last: { loads: number; patientUntil: number };
}

export function createLane(tenant: string): Lane {
	return { tenant, waiting: [], sharing: false, large: 0, last: { loads: 0, patientUntil: 0 } };
}

export const isSmall = ({ size, manifest, deaths }: BegunLoad) =>
	size <= smallLoadBytes && !manifest.dry_run && deaths === 0 && !isOrdered(manifest);

/** Versions of one file that replace a table: each must see in the ledger what the one before did. */
const isOrdered = ({ source, mode }: BegunLoad["manifest"]) =>
	source.kind === "drop" && mode === "replace";

/** Some small loads have run together. */
export function groupEnded(lane: Lane, loads: number, tookMs: number, now: number): void {
	const patienceMs = loads > 1 ? Math.min(longestPatienceMs, tookMs) : 0;
	lane.last = { loads, patientUntil: now + patienceMs };
}

/** Milliseconds that small loads wait yet for others to share with. */
export function patienceMs(lane: Lane, maxShared: number, now: number): number {
	const { loads, patientUntil } = lane.last;
	if (lane.sharing || now >= patientUntil) return 0;
	const small = lane.waiting.filter(({ load }) => isSmall(load)).length;
	return small === 0 || small >= Math.min(loads, maxShared) ? 0 : patientUntil - now;
}

/** Nothing of it is left to remember. */
export function isIdle({ waiting, sharing, large, last }: Lane, now: number): boolean {
	return waiting.length === 0 && !sharing && large === 0 && now >= last.patientUntil;
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
