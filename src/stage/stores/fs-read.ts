/**
 * A file as an object that is read: a small one at once, on this thread, since the way to
 * another one costs more; a larger one as it is asked for.
 */

import { closeSync, fstatSync, openSync, readSync, statSync } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";
import { IngestError } from "../../errors.ts";
import type { GetOptions, StoredObject } from "../object-store.ts";
import { noneIfMissing, toStoreError } from "./fs-errors.ts";
import { type FileTimes, infoOf } from "./fs-info.ts";

const smallBytes = 256 * 1024;
const readChunkBytes = 512 * 1024;

/** Null: nothing is there, or not with the ETag that was asked for. */
export async function readObject(
	key: string,
	path: string,
	options: GetOptions,
): Promise<StoredObject | null> {
	const found = statFile(path);
	if (found === null) return null;
	if (wanted(Number(found.size), options).length <= smallBytes) {
		return readSmall(key, path, options);
	}
	const handle = await open(path, "r").catch(noneIfMissing);
	if (handle === null) return null;
	try {
		const info = infoOf(key, await handle.stat({ bigint: true }));
		if (options.ifMatch !== undefined && options.ifMatch !== info.etag) {
			await handle.close();
			return null;
		}
		const { offset, length } = wanted(info.size, options);
		return { info, ...readFile(key, handle, offset, offset + length) };
	} catch (error) {
		await handle.close();
		throw error;
	}
}

/** Null where nothing is. */
export function statFile(path: string): FileTimes | null {
	try {
		return statSync(path, { bigint: true, throwIfNoEntry: false }) ?? null;
	} catch (error) {
		return noneIfMissing(error);
	}
}

function wanted(size: number, { range }: GetOptions): { offset: number; length: number } {
	const offset = Math.min(range?.offset ?? 0, size);
	return { offset, length: Math.min(range?.length ?? size, size - offset) };
}

function readSmall(key: string, path: string, options: GetOptions): StoredObject | null {
	let file: number;
	try {
		file = openSync(path, "r");
	} catch (error) {
		return noneIfMissing(error);
	}
	try {
		const info = infoOf(key, fstatSync(file, { bigint: true }));
		if (options.ifMatch !== undefined && options.ifMatch !== info.etag) return null;
		const { offset, length } = wanted(info.size, options);
		const bytes = new Uint8Array(length);
		for (let at = 0; at < length; ) {
			const count = readSync(file, bytes, at, length - at, offset + at);
			if (count === 0) throw cut(key);
			at += count;
		}
		return Object.assign(readBytes(bytes), { info });
	} finally {
		closeSync(file);
	}
}

function readBytes(bytes: Uint8Array): Omit<StoredObject, "info"> {
	let at = 0;
	let body: ReadableStream<Uint8Array> | null = null;
	return {
		bytes,
		// Made only when it is asked for: most readers say where the bytes are wanted.
		get body() {
			body ??= new ReadableStream<Uint8Array>(
				{
					pull(controller) {
						if (at < bytes.length) controller.enqueue(bytes.subarray(at));
						at = bytes.length;
						controller.close();
					},
				},
				{ highWaterMark: 0 },
			);
			return body;
		},
		async readInto(target) {
			const count = Math.min(target.length, bytes.length - at);
			target.set(bytes.subarray(at, at + count));
			at += count;
			return count;
		},
	};
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
			if (bytesRead === 0) throw cut(key);
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

const cut = (key: string) =>
	new IngestError("store_unavailable", `${key} was cut while it was read`);
