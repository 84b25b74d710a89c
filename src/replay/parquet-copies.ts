/**
 * Copies of Parquet files in a private folder of this process, for DuckDB's reader, which
 * reads files and no streams. One folder a tenant, since a tenant's database may read its own.
 *
 * Whoever makes a copy removes it. What a loader that died left behind is removed by the
 * next one on this machine, when it starts.
 */

import { randomBytes } from "node:crypto";
import { mkdirSync, readdirSync, realpathSync, rmSync } from "node:fs";
import { type FileHandle, mkdir, open, rm } from "node:fs/promises";
import { hostname } from "node:os";
import { join } from "node:path";
import process from "node:process";
import type { Sha256 } from "../arrow/codecs.ts";
import { IngestError } from "../errors.ts";
import type { StagedSource } from "./open-staged.ts";
import { thisProcess } from "./this-process.ts";

export interface ParquetCopies {
	/** Absolute; the copies of a tenant lie in the folder of its name. */
	readonly folder: string;
	copy(tenant: string, source: StagedSource, signal: AbortSignal): Promise<ParquetCopy>;
}

export interface ParquetCopy {
	readonly path: string;
	readonly size: number;
	/** `sha-256=:…:` of its bytes. */
	readonly reprDigest: string;
	/** Exactly `length` bytes. */
	read(offset: number, length: number): Promise<Uint8Array>;
	/** A second time, nothing happens. */
	remove(): Promise<void>;
}

/** The folders of all loaders, below the one that temporary files go to. */
const parent = "duckdock-parquet";

/** Removes what dead loaders left; `temporary` is where this machine keeps temporary files. */
export function createParquetCopies(temporary: string, createSha256: () => Sha256): ParquetCopies {
	mkdirSync(join(temporary, parent), { recursive: true, mode: 0o700 });
	// DuckDB compares paths as they are, without links.
	const all = realpathSync(join(temporary, parent));
	const mine = `${hostname()}@${process.pid}`;
	for (const name of readdirSync(all)) {
		if (name === mine || thisProcess.isGone(name.replace("@", "/"))) {
			rmSync(join(all, name), { recursive: true, force: true });
		}
	}
	const folder = join(all, mine);

	return {
		folder,
		async copy(tenant, source, signal) {
			const path = join(folder, tenant, `${randomBytes(12).toString("hex")}.parquet`);
			let file: FileHandle | null = null;
			const remove = async () => {
				await file?.close();
				file = null;
				await rm(path, { force: true });
			};
			try {
				await mkdir(join(folder, tenant), { recursive: true, mode: 0o700 });
				file = await open(path, "wx+", 0o600);
				const sha256 = createSha256();
				let size = 0;
				for await (const chunk of source.stream(signal)) {
					await writeAll(file, chunk);
					sha256.update(chunk);
					size += chunk.byteLength;
				}
				const digest = Buffer.from(sha256.digestHex(), "hex").toString("base64");
				const handle = file;
				return {
					path,
					size,
					reprDigest: `sha-256=:${digest}:`,
					read: (offset, length) => readAll(handle, offset, length),
					remove,
				};
			} catch (error) {
				await remove().catch(() => {});
				throw noRoom(error) ?? error;
			}
		},
	};
}

async function writeAll(file: FileHandle, chunk: Uint8Array): Promise<void> {
	for (let at = 0; at < chunk.byteLength; ) {
		const { bytesWritten } = await file.write(chunk, at);
		at += bytesWritten;
	}
}

async function readAll(file: FileHandle, offset: number, length: number): Promise<Uint8Array> {
	const bytes = new Uint8Array(length);
	for (let at = 0; at < length; ) {
		const { bytesRead } = await file.read(bytes, at, length - at, offset + at);
		if (bytesRead === 0) {
			throw new IngestError("internal", `a copy ends at byte ${offset + at} of ${offset + length}`);
		}
		at += bytesRead;
	}
	return bytes;
}

function noRoom(error: unknown): IngestError | null {
	const { code } = error as NodeJS.ErrnoException;
	if (code !== "ENOSPC" && code !== "EDQUOT" && code !== "EFBIG") return null;
	return new IngestError(
		"target_unavailable",
		"there is no room for a copy of the Parquet file on the loader's disk",
		{ cause: error },
	);
}
