/**
 * Objects of the same bytes as names of one file.
 *
 * To make a file costs a file system many times what another name for it does: 150 to 250 µs against 10,
 * the more the more files were removed lately. Leases that one loader takes in one second have the same
 * words, entries of the history have none at all. Only for what is created, needs no sync and isn't
 * changed in place by us: a put over such an object puts another file there.
 */

import { unlinkSync } from "node:fs";
import { noneIfMissing } from "./fs-errors.ts";
import type { FileTimes } from "./fs-info.ts";

export interface Twin {
	path: string;
	times: FileTimes;
}

export interface Twins {
	/** A file with just these bytes that is there to be linked. */
	find(bytes: Uint8Array): Twin | null;
	/** The file is ours from now on. */
	keep(bytes: Uint8Array, twin: Twin): void;
	/** It can't be linked any more. */
	forget(bytes: Uint8Array): void;
}

/** Longer ones are no words of ours. */
export const longestTwinBytes = 512;
/** Objects look as old as their file. */
const keptMs = 10_000;
const mostKept = 4;

export function createTwins(now: () => number = Date.now): Twins {
	const kept = new Map<string, Twin & { until: number }>();
	const nameOf = (bytes: Uint8Array) => String.fromCharCode(...bytes);

	function drop(name: string, { path }: Twin): void {
		kept.delete(name);
		try {
			unlinkSync(path);
		} catch (error) {
			noneIfMissing(error);
		}
	}

	return {
		find(bytes) {
			const twin = kept.get(nameOf(bytes));
			return twin !== undefined && now() < twin.until ? twin : null;
		},
		keep(bytes, twin) {
			const name = nameOf(bytes);
			for (const [other, old] of kept) {
				if (other === name || now() >= old.until || kept.size >= mostKept) drop(other, old);
			}
			kept.set(name, { ...twin, until: now() + keptMs });
		},
		forget(bytes) {
			const name = nameOf(bytes);
			const twin = kept.get(name);
			if (twin !== undefined) drop(name, twin);
		},
	};
}
