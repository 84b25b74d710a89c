/**
 * A body becomes a file that nobody reads yet: written, given its time, synced, closed.
 *
 * Bytes in memory are written by calls that don't leave the thread: for a file of a few
 * kilobytes the way to another thread and back costs several times the call itself.
 * Syncs, and streams, which may be long, never run on this thread.
 */

import { createHash, type Hash } from "node:crypto";
import { closeSync, fstatSync, fsync, futimesSync, openSync, writeSync } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";
import { promisify } from "node:util";
import { IngestError } from "../../errors.ts";
import { giveBack } from "../lent-bytes.ts";
import type { PutOptions } from "../object-store.ts";
import type { FileTimes } from "./fs-info.ts";

export interface WriteOptions extends Pick<PutOptions, "size" | "sha256" | "signal"> {
	/** Modification time in microseconds since 1970; null: whenever it is written. */
	micros: number | null;
	durable: boolean;
}

/** Bodies in memory up to this are written without leaving the thread. */
const smallBytes = 256 * 1024;
/** Chunks of a stream are gathered up to this for one write. */
const writeBytes = 1024 * 1024;
const syncFile = promisify(fsync);

/** `path` must not be there yet. After an error a part of it may be. */
export function writeFileAside(
	path: string,
	key: string,
	body: Uint8Array | ReadableStream<Uint8Array>,
	options: WriteOptions,
): Promise<FileTimes> {
	return body instanceof Uint8Array && body.length <= smallBytes
		? writeSmall(path, key, body, options)
		: writeLarge(path, key, body, options);
}

async function writeSmall(
	path: string,
	key: string,
	body: Uint8Array,
	options: WriteOptions,
): Promise<FileTimes> {
	const { micros, durable, sha256 } = options;
	const hash = sha256 === undefined ? null : createHash("sha256").update(body);
	const file = openSync(path, "wx");
	try {
		for (let at = 0; at < body.length; ) at += writeSync(file, body, at);
		check(key, body.length, hash, options);
		if (micros !== null) futimesSync(file, micros / 1e6, micros / 1e6);
		if (durable) await syncFile(file);
		return fstatSync(file, { bigint: true });
	} finally {
		closeSync(file);
	}
}

async function writeLarge(
	path: string,
	key: string,
	body: Uint8Array | ReadableStream<Uint8Array>,
	options: WriteOptions,
): Promise<FileTimes> {
	const { micros, durable, signal, sha256 } = options;
	const hash = sha256 === undefined ? null : createHash("sha256");
	const handle = await open(path, "wx");
	try {
		let size = 0;
		if (body instanceof Uint8Array) {
			hash?.update(body);
			size = body.length;
			await writeAll(handle, [body]);
		} else {
			let waiting: Uint8Array[] = [];
			let waitingBytes = 0;
			for await (const chunk of body as unknown as AsyncIterable<Uint8Array>) {
				signal?.throwIfAborted();
				hash?.update(chunk);
				size += chunk.length;
				waiting.push(chunk);
				waitingBytes += chunk.length;
				if (waitingBytes < writeBytes) continue;
				await writeAll(handle, waiting);
				waiting.forEach(giveBack);
				waiting = [];
				waitingBytes = 0;
			}
			await writeAll(handle, waiting);
			waiting.forEach(giveBack);
		}
		check(key, size, hash, options);
		if (micros !== null) await handle.utimes(micros / 1e6, micros / 1e6);
		if (durable) await handle.sync();
		return await handle.stat({ bigint: true });
	} finally {
		await handle.close();
	}
}

function check(key: string, size: number, hash: Hash | null, expected: WriteOptions): void {
	if (expected.size !== undefined && expected.size !== size) {
		throw new IngestError(
			"truncated_stream",
			`${key}: ${expected.size} bytes were announced, ${size} came`,
		);
	}
	const sha256 = hash?.digest("hex");
	if (sha256 !== expected.sha256) {
		throw new IngestError(
			"digest_mismatch",
			`${key}: SHA-256 ${expected.sha256} expected, ${sha256} came`,
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
