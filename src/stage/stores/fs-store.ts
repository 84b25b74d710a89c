/**
 * Object storage in a folder.
 *
 * A put is written aside under `%tmp`, synced, then renamed into place (`link` for
 * put-if-absent: it fails where a file is), then the folder is synced: a reader
 * sees the whole object or none, and once resolved it outlives a power cut.
 *
 * `ifMatch` is compare and swap among the processes of one machine by a lock file
 * beside the object; a lock older than 30 s is that of a dead process and is broken.
 *
 * Calls that touch names and small files run on the caller's thread (measured: a tenth of
 * the CPU of a read, half of that of a put). Syncs, long bodies and removals, which may
 * wait for the disk to give back blocks, never do.
 */

import { linkSync, mkdirSync, renameSync, unlinkSync } from "node:fs";
import { mkdir, readdir, rmdir, stat, unlink } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import process from "node:process";
import type { ObjectStore } from "../object-store.ts";
import { asStoreError, codeOf, noneIfMissing } from "./fs-errors.ts";
import { createFolders } from "./fs-folders.ts";
import { etagOf, infoOf } from "./fs-info.ts";
import { listFolder } from "./fs-list.ts";
import { takeLock } from "./fs-lock.ts";
import { pathOfKey } from "./fs-paths.ts";
import { readObject, statFile } from "./fs-read.ts";
import { createTwins, longestTwinBytes } from "./fs-twins.ts";
import { type WriteOptions, writeFileAside } from "./fs-write.ts";

export interface FsStoreOptions {
	/** Created when it is missing. */
	folder: string;
	/** False: for benches only; a power cut may lose what was answered. */
	fsync?: boolean;
}

const staleTemporaryMs = 24 * 3_600_000;
/** A folder may be pruned between its making and its use; so often it is made again. */
const maxRounds = 20;

export async function createFsStore(options: FsStoreOptions): Promise<ObjectStore> {
	const root = resolve(options.folder);
	const fsync = options.fsync !== false;
	const temporary = join(root, "%tmp");
	await asStoreError(root, () => mkdir(temporary, { recursive: true }));
	await removeStale(temporary);
	const folders = createFolders();
	const twins = createTwins();
	const pathOf = (key: string) => join(root, pathOfKey(key));
	let counter = 0;
	let lastMicros = 0;
	const nextMicros = () => {
		lastMicros = Math.max(lastMicros + 1, Math.floor(Date.now() * 1000));
		return lastMicros;
	};

	/** Puts a finished file in its place; false: something is there and `ifAbsent` forbids it. */
	async function place(aside: string, path: string, ifAbsent: boolean, durable: boolean) {
		const folder = dirname(path);
		for (let round = 0; ; round++) {
			try {
				if (ifAbsent) linkSync(aside, path);
				else renameSync(aside, path);
				break;
			} catch (error) {
				if (codeOf(error) === "EEXIST") return false;
				if (codeOf(error) !== "ENOENT" || round === maxRounds) throw error;
				folders.make(folder);
			}
		}
		if (durable) await folders.sync(folder);
		return true;
	}

	async function swap(aside: string, path: string, etag: string, durable: boolean) {
		const lock = `${path}%lock`;
		await takeLock(lock);
		try {
			const before = statFile(path);
			if (before === null || etagOf(before) !== etag) return false;
			return await place(aside, path, false, durable);
		} finally {
			remove(lock);
		}
	}

	/** Folders that became empty go, up to the root. */
	async function prune(folder: string): Promise<void> {
		for (let at = folder; at.length > root.length; at = dirname(at)) {
			try {
				await rmdir(at);
			} catch {
				return;
			}
			folders.forget(at);
		}
	}

	async function writeAside(
		...[path, key, body, write]: Parameters<typeof writeFileAside>
	): ReturnType<typeof writeFileAside> {
		try {
			return await writeFileAside(path, key, body, write);
		} catch (error) {
			if (codeOf(error) !== "ENOENT" || statFile(temporary) !== null) throw error;
			mkdirSync(temporary, { recursive: true });
			return writeFileAside(path, key, body, write);
		}
	}

	/** One more name of a file that was put with these bytes; null: there is none, or no more. */
	async function placeTwin(key: string, path: string, bytes: Uint8Array) {
		const twin = twins.find(bytes);
		if (twin === null) return null;
		try {
			const info = (await place(twin.path, path, true, false)) ? infoOf(key, twin.times) : null;
			return { info };
		} catch (error) {
			if (codeOf(error) !== "ENOENT" && codeOf(error) !== "EMLINK") throw error;
			twins.forget(bytes);
			return null;
		}
	}

	return {
		description: `file:${root}`,

		put(key, body, put = {}) {
			return asStoreError(key, async () => {
				put.signal?.throwIfAborted();
				const path = pathOf(key);
				const durable = fsync && put.volatile !== true;
				const ifAbsent = put.ifAbsent === true;
				const small = body instanceof Uint8Array && body.length <= longestTwinBytes;
				const twinned = small && ifAbsent && put.volatile === true && put.sha256 === undefined;
				const other = twinned ? await placeTwin(key, path, body) : null;
				if (other !== null) return other.info;
				// What is only ever created has no earlier ETag to differ from.
				const write: WriteOptions = { ...put, durable, micros: ifAbsent ? null : nextMicros() };
				const aside = join(temporary, `${process.pid}-${Date.now()}-${++counter}`);
				let stays = true;
				try {
					const times = await writeAside(aside, key, body, write);
					const placed =
						put.ifMatch === undefined
							? await place(aside, path, ifAbsent, durable)
							: await swap(aside, path, put.ifMatch, durable);
					// A rename has taken it away.
					if (placed && !ifAbsent) stays = false;
					if (placed && twinned) {
						stays = false;
						twins.keep(body, { path: aside, times });
					}
					return placed ? infoOf(key, times) : null;
				} finally {
					if (stays) remove(aside);
				}
			});
		},

		get: (key, get = {}) => asStoreError(key, () => readObject(key, pathOf(key), get)),

		head(key) {
			return asStoreError(key, () => {
				const found = statFile(pathOf(key));
				return found === null ? null : infoOf(key, found);
			});
		},

		delete(key) {
			return asStoreError(key, async () => {
				const path = pathOf(key);
				await unlink(path).catch(noneIfMissing);
				await prune(dirname(path));
			});
		},

		list(prefix, list = {}) {
			return listFolder(root, prefix, list.startAfter, infoOf);
		},
	};
}

/** Fine when it is gone. */
function remove(path: string): void {
	try {
		unlinkSync(path);
	} catch (error) {
		noneIfMissing(error);
	}
}

async function removeStale(temporary: string): Promise<void> {
	for (const name of await readdir(temporary).catch(() => [])) {
		const path = join(temporary, name);
		const found = await stat(path).catch(() => null);
		if (found !== null && Date.now() - found.mtimeMs > staleTemporaryMs) {
			await unlink(path).catch(() => {});
		}
	}
}
