/**
 * Object storage in a folder.
 *
 * A put is written aside under `%tmp`, synced, then renamed into place (`link` for
 * put-if-absent: it fails where a file is), then the folder is synced: a reader
 * sees the whole object or none, and once resolved it outlives a power cut.
 *
 * ETag: size and modification time. A put that may replace something sets a
 * modification time, in microseconds, that no put of this process had before; so the
 * ETag changes with every put, and with every edit by other hands, and survives a
 * copy that keeps times.
 *
 * `ifMatch` is compare and swap among the processes of one machine by a lock file
 * beside the object; a lock older than 30 s is that of a dead process and is broken.
 */

import { createHash } from "node:crypto";
import {
	type FileHandle,
	link,
	mkdir,
	open,
	readdir,
	rename,
	rmdir,
	stat,
	unlink,
} from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import process from "node:process";
import { IngestError } from "../../errors.ts";
import type { ObjectInfo, ObjectStore, PutOptions, StoredObject } from "../object-store.ts";
import { listFolder } from "./fs-list.ts";
import { pathOfKey } from "./fs-paths.ts";

export interface FsStoreOptions {
	/** Created when it is missing. */
	folder: string;
	/** False: for benches only; a power cut may lose what was answered. */
	fsync?: boolean;
}

const readChunkBytes = 512 * 1024;
/** Chunks of a stream are gathered up to this for one write. */
const writeBytes = 1024 * 1024;
const staleLockMs = 30_000;
const staleTemporaryMs = 24 * 3_600_000;
/** A folder may be pruned between its making and its use; so often it is made again. */
const maxRounds = 20;

export async function createFsStore(options: FsStoreOptions): Promise<ObjectStore> {
	const root = resolve(options.folder);
	const fsync = options.fsync !== false;
	const temporary = join(root, "%tmp");
	await asStoreError(root, () => mkdir(temporary, { recursive: true }));
	await removeStale(temporary);
	const pathOf = (key: string) => join(root, pathOfKey(key));
	let counter = 0;
	let lastMicros = 0;
	const nextMicros = () => {
		lastMicros = Math.max(lastMicros + 1, Math.floor(Date.now() * 1000));
		return lastMicros;
	};

	/** Fine when it is gone: what was in it was deleted, or it is made again. */
	async function syncFolder(folder: string): Promise<void> {
		const handle = await open(folder, "r").catch(noneIfMissing);
		if (handle === null) return;
		try {
			await handle.sync();
		} finally {
			await handle.close();
		}
	}

	/** Makes the folder; every folder that is new is synced into the one above it. */
	async function makeFolder(folder: string, durable: boolean): Promise<void> {
		const first = await mkdir(folder, { recursive: true });
		if (first === undefined || !durable) return;
		for (let at = folder; at.length >= first.length; at = dirname(at))
			await syncFolder(dirname(at));
	}

	/** Puts a finished file in its place; false: something is there and `ifAbsent` forbids it. */
	async function place(aside: string, path: string, ifAbsent: boolean, durable: boolean) {
		const folder = dirname(path);
		for (let round = 0; ; round++) {
			try {
				if (ifAbsent) await link(aside, path);
				else await rename(aside, path);
				if (durable) await syncFolder(folder);
				return true;
			} catch (error) {
				if (codeOf(error) === "EEXIST") return false;
				if (codeOf(error) !== "ENOENT" || round === maxRounds) throw error;
				await makeFolder(folder, durable);
			}
		}
	}

	async function swap(aside: string, path: string, etag: string, durable: boolean) {
		const lock = `${path}%lock`;
		await takeLock(lock);
		try {
			const before = await stat(path, { bigint: true }).catch(noneIfMissing);
			if (before === null || etagOf(before) !== etag) return false;
			return await place(aside, path, false, durable);
		} finally {
			await unlink(lock).catch(noneIfMissing);
		}
	}

	return {
		description: `file:${root}`,

		put(key, body, put = {}) {
			return asStoreError(key, async () => {
				put.signal?.throwIfAborted();
				const path = pathOf(key);
				const durable = fsync && put.volatile !== true;
				const aside = join(temporary, `${process.pid}-${Date.now()}-${++counter}`);
				const handle = await open(aside, "wx").catch(async (error) => {
					if (codeOf(error) !== "ENOENT") throw error;
					await mkdir(temporary, { recursive: true });
					return open(aside, "wx");
				});
				let renamed = false;
				try {
					let info: ObjectInfo;
					try {
						await write(key, handle, body, put);
						// What is only ever created has no earlier ETag to differ from.
						if (put.ifAbsent !== true) {
							const micros = nextMicros() / 1e6;
							await handle.utimes(micros, micros);
						}
						if (durable) await handle.sync();
						info = infoOf(key, await handle.stat({ bigint: true }));
					} finally {
						await handle.close();
					}
					const placed =
						put.ifMatch === undefined
							? await place(aside, path, put.ifAbsent === true, durable)
							: await swap(aside, path, put.ifMatch, durable);
					renamed = placed && put.ifAbsent !== true;
					return placed ? info : null;
				} finally {
					// A rename has taken it away.
					if (!renamed) await unlink(aside).catch(noneIfMissing);
				}
			});
		},

		get(key, get = {}) {
			return asStoreError(key, async () => {
				const handle = await open(pathOf(key), "r").catch(noneIfMissing);
				if (handle === null) return null;
				try {
					const info = infoOf(key, await handle.stat({ bigint: true }));
					if (get.ifMatch !== undefined && get.ifMatch !== info.etag) {
						await handle.close();
						return null;
					}
					const start = Math.min(get.range?.offset ?? 0, info.size);
					const end = Math.min(start + (get.range?.length ?? info.size), info.size);
					return { info, ...readFile(key, handle, start, end) };
				} catch (error) {
					await handle.close();
					throw error;
				}
			});
		},

		head(key) {
			return asStoreError(key, async () => {
				const found = await stat(pathOf(key), { bigint: true }).catch(noneIfMissing);
				return found === null ? null : infoOf(key, found);
			});
		},

		delete(key) {
			return asStoreError(key, async () => {
				const path = pathOf(key);
				await unlink(path).catch(noneIfMissing);
				await prune(dirname(path), root);
			});
		},

		list(prefix, list = {}) {
			return listFolder(root, prefix, list.startAfter, infoOf);
		},
	};
}

async function write(
	key: string,
	handle: FileHandle,
	body: Uint8Array | ReadableStream<Uint8Array>,
	put: PutOptions,
): Promise<void> {
	const hash = put.sha256 === undefined ? null : createHash("sha256");
	let size = 0;
	if (body instanceof Uint8Array) {
		hash?.update(body);
		size = body.length;
		await writeAll(handle, [body]);
	} else {
		let waiting: Uint8Array[] = [];
		let waitingBytes = 0;
		for await (const chunk of body as unknown as AsyncIterable<Uint8Array>) {
			put.signal?.throwIfAborted();
			hash?.update(chunk);
			size += chunk.length;
			waiting.push(chunk);
			waitingBytes += chunk.length;
			if (waitingBytes < writeBytes) continue;
			await writeAll(handle, waiting);
			waiting = [];
			waitingBytes = 0;
		}
		await writeAll(handle, waiting);
	}
	if (put.size !== undefined && put.size !== size) {
		throw new IngestError(
			"truncated_stream",
			`${key}: ${put.size} bytes were announced, ${size} came`,
		);
	}
	const sha256 = hash?.digest("hex");
	if (sha256 !== put.sha256) {
		throw new IngestError(
			"digest_mismatch",
			`${key}: SHA-256 ${put.sha256} expected, ${sha256} came`,
		);
	}
}

/** `writev` may write less than it was given. */
async function writeAll(handle: FileHandle, chunks: Uint8Array[]): Promise<void> {
	let left = chunks.filter((chunk) => chunk.length > 0);
	while (left.length > 0) {
		let { bytesWritten } = await handle.writev(left);
		while (left.length > 0 && bytesWritten >= left[0]!.length) {
			bytesWritten -= left[0]!.length;
			left = left.slice(1);
		}
		if (bytesWritten > 0) left[0] = left[0]!.subarray(bytesWritten);
	}
}

/** Closes the handle at its end, when cancelled and on errors. */
function readFile(
	key: string,
	handle: FileHandle,
	start: number,
	end: number,
): Pick<StoredObject, "body" | "readInto"> {
	let at = start;
	let open = true;
	const close = async () => {
		if (open) {
			open = false;
			await handle.close();
		}
	};
	const readInto = async (target: Uint8Array): Promise<number> => {
		try {
			const wanted = Math.min(target.length, end - at);
			if (wanted === 0) {
				await close();
				return 0;
			}
			const { bytesRead } = await handle.read(target, 0, wanted, at);
			if (bytesRead === 0) {
				throw new IngestError("store_unavailable", `${key} was cut while it was read`);
			}
			at += bytesRead;
			return bytesRead;
		} catch (error) {
			await close().catch(() => {});
			throw toStoreError(key, error);
		}
	};
	const body = new ReadableStream<Uint8Array>(
		{
			async pull(controller) {
				if (at < end) {
					const chunk = new Uint8Array(Math.min(readChunkBytes, end - at));
					const count = await readInto(chunk);
					controller.enqueue(count === chunk.length ? chunk : chunk.subarray(0, count));
				}
				if (at >= end) {
					await close();
					controller.close();
				}
			},
			cancel: close,
		},
		{ highWaterMark: 0 },
	);
	return { body, readInto };
}

async function takeLock(lock: string): Promise<void> {
	for (let round = 0; ; round++) {
		try {
			await (await open(lock, "wx")).close();
			return;
		} catch (error) {
			if (codeOf(error) === "ENOENT") return; // no folder: no object either
			if (codeOf(error) !== "EEXIST") throw error;
		}
		const held = await stat(lock).catch(noneIfMissing);
		if (held !== null && Date.now() - held.mtimeMs > staleLockMs) {
			// Only one of several breakers gets to rename it away.
			const broken = `${lock}-${process.pid}-${round}`;
			await rename(lock, broken).then(() => unlink(broken), noneIfMissing);
			continue;
		}
		await new Promise((wake) => setTimeout(wake, 1 + Math.random() * 5));
	}
}

/** Folders that became empty go, up to the root. */
async function prune(folder: string, root: string): Promise<void> {
	for (let at = folder; at.length > root.length; at = dirname(at)) {
		try {
			await rmdir(at);
		} catch {
			return;
		}
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

interface FileTimes {
	size: bigint;
	mtimeNs: bigint;
}

const etagOf = ({ size, mtimeNs }: FileTimes) => `${mtimeNs.toString(36)}-${size.toString(36)}`;

function infoOf(key: string, file: FileTimes): ObjectInfo {
	const lastModified = Number(file.mtimeNs / 1_000_000n);
	return { key, size: Number(file.size), etag: etagOf(file), lastModified };
}

const codeOf = (error: unknown) => (error as NodeJS.ErrnoException | null)?.code;

function noneIfMissing(error: unknown): null {
	if (codeOf(error) === "ENOENT" || codeOf(error) === "ENOTDIR") return null;
	throw error;
}

/** Denied and misconfigured will not pass: `internal`. Full disks, lost mounts and the like may. */
function toStoreError(key: string, error: unknown): unknown {
	const code = codeOf(error);
	if (error instanceof IngestError || code === undefined || !/^E[A-Z0-9]+$/.test(code))
		return error;
	const lasting = ["EACCES", "EPERM", "EROFS", "ENAMETOOLONG", "EISDIR", "EINVAL"].includes(code);
	return new IngestError(
		lasting ? "internal" : "store_unavailable",
		`the object store's file system refuses ${key}: ${(error as Error).message}`,
		{ cause: error },
	);
}

async function asStoreError<T>(key: string, run: () => Promise<T>): Promise<T> {
	try {
		return await run();
	} catch (error) {
		throw toStoreError(key, error);
	}
}
