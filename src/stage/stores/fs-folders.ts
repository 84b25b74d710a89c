/**
 * Folders of a file store: made when they are missed, and durable before what lies in them is told to be.
 *
 * A folder that is synced keeps its entries through a power cut; its own entry is kept by the folder
 * above. So a durable put syncs its folder, and the one above every folder that was made since.
 * Puts into one folder that come while it is synced share the next sync: however many wait, it is one.
 */

import { closeSync, fsync, mkdirSync, openSync } from "node:fs";
import { dirname } from "node:path";
import { promisify } from "node:util";
import { noneIfMissing } from "./fs-errors.ts";

export interface Folders {
	/** With those above it. */
	make(folder: string): void;
	/** Once resolved, an entry that was in the folder before the call outlives a power cut. */
	sync(folder: string): Promise<void>;
	/** It was removed. */
	forget(folder: string): void;
}

const syncFile = promisify(fsync);

export function createFolders(): Folders {
	/** Made here, and not yet known to be an entry on the disk. */
	const fresh = new Set<string>();
	const running = new Map<string, Promise<void>>();
	const next = new Map<string, Promise<void>>();

	function syncOnce(folder: string): Promise<void> {
		const work = syncFolder(folder).finally(() => {
			if (running.get(folder) === work) running.delete(folder);
		});
		running.set(folder, work);
		return work;
	}

	/** Of its entries, not of itself. */
	function syncEntries(folder: string): Promise<void> {
		const now = running.get(folder);
		if (now === undefined) return syncOnce(folder);
		let after = next.get(folder);
		if (after === undefined) {
			const start = () => {
				next.delete(folder);
				return syncOnce(folder);
			};
			after = now.then(start, start);
			next.set(folder, after);
		}
		return after;
	}

	async function syncFresh(folder: string): Promise<void> {
		await syncEntries(dirname(folder));
		fresh.delete(folder);
	}

	return {
		make(folder) {
			const first = mkdirSync(folder, { recursive: true });
			if (first === undefined) return;
			for (let at = folder; at.length >= first.length; at = dirname(at)) fresh.add(at);
		},

		async sync(folder) {
			const all = [syncEntries(folder)];
			if (fresh.size > 0) {
				for (let at = folder; dirname(at) !== at; at = dirname(at)) {
					if (fresh.has(at)) all.push(syncFresh(at));
				}
			}
			await Promise.all(all);
		},

		forget: (folder) => void fresh.delete(folder),
	};
}

/** Fine when it is gone: what was in it was deleted, or it is made again. */
async function syncFolder(folder: string): Promise<void> {
	let file: number;
	try {
		file = openSync(folder, "r");
	} catch (error) {
		noneIfMissing(error);
		return;
	}
	try {
		await syncFile(file);
	} finally {
		closeSync(file);
	}
}
