/**
 * FILE arguments → files that are there, and their bytes.
 *
 * `-` is standard input. A pattern that the shell did not expand is expanded here.
 * Several files are one byte sequence of complete streams, so of a file in the IPC
 * *file* format the stream inside is taken when it is not alone.
 */
import type { Stats } from "node:fs";
import { glob, open, stat } from "node:fs/promises";
import { resolve } from "node:path";
import { NotThereError, UsageError } from "./cli-errors.ts";
import { fileChunks } from "./file-chunks.ts";
import { ipcStreamRange } from "./ipc-stream-range.ts";

export interface InputFile {
	/** As given; `-` is standard input. */
	path: string;
	/** Null: standard input. */
	size: number | null;
	/** Changes when the file is another one or was written to; null: standard input. */
	identity: string | null;
}

export async function findFiles(paths: readonly string[]): Promise<InputFile[]> {
	if (paths.filter((path) => path === "-").length > 1) {
		throw new UsageError("standard input (-) can be read once");
	}
	const found: InputFile[] = [];
	for (const path of paths) {
		for (const one of await expand(path)) found.push(await describe(one));
	}
	return found;
}

async function expand(path: string): Promise<string[]> {
	if (path === "-" || !/[*?[{]/.test(path)) return [path];
	if (await stat(path).catch(() => null)) return [path];
	const matches: string[] = [];
	for await (const match of glob(path)) matches.push(match);
	if (matches.length === 0) throw new NotThereError(`no file fits ${path}`);
	return matches.sort();
}

async function describe(path: string): Promise<InputFile> {
	if (path === "-") return { path, size: null, identity: null };
	let info: Stats;
	try {
		info = await stat(path);
	} catch (error) {
		throw new NotThereError(
			`cannot read ${path}: ${error instanceof Error ? error.message : error}`,
		);
	}
	if (info.isDirectory())
		throw new NotThereError(`cannot read ${path}: it is a folder; name its files`);
	if (!info.isFile()) return { path, size: null, identity: null };
	const identity = `${resolve(path)} ${info.dev}:${info.ino} ${info.size} ${info.mtimeMs}`;
	return { path, size: info.size, identity };
}

/** The bytes to send: their number where it is known, and the sequence itself, each chunk valid until the next is asked for. */
export async function readFiles(
	files: readonly InputFile[],
	stdin: AsyncIterable<Uint8Array>,
): Promise<{ size: number | null; bytes: AsyncIterable<Uint8Array> }> {
	const ranges = await Promise.all(
		files.map((file) => (files.length > 1 && file.size !== null ? rangeOf(file) : null)),
	);
	const sizes = files.map((file, at) => {
		const range = ranges[at];
		return range ? range.end - range.start : file.size;
	});
	const size = sizes.reduce<number | null>(
		(sum, one) => (sum === null || one === null ? null : sum + one),
		0,
	);
	async function* bytes(): AsyncGenerator<Uint8Array> {
		for (const [at, file] of files.entries()) {
			if (file.path === "-") yield* stdin;
			else yield* readRange(file.path, ranges[at] ?? null);
		}
	}
	return { size, bytes: bytes() };
}

async function rangeOf(file: InputFile): Promise<{ start: number; end: number } | null> {
	await using handle = await open(file.path);
	const read = async (offset: number, length: number) => {
		const { buffer, bytesRead } = await handle.read(new Uint8Array(length), 0, length, offset);
		return buffer.subarray(0, bytesRead);
	};
	const range = await ipcStreamRange(file.size ?? 0, read);
	if (range !== "no schema") return range;
	throw new UsageError(
		`${file.path} is an Arrow file without the stream inside that several files need: push it alone, or write it as a stream`,
	);
}

/** Each chunk is valid until the next is asked for. */
async function* readRange(path: string, range: { start: number; end: number } | null) {
	const chunks = fileChunks(path, never, range)[Symbol.asyncIterator]();
	try {
		for (let next = await chunks.next(); !next.done; next = await chunks.next()) yield next.value;
	} catch (error) {
		throw new NotThereError(
			`cannot read ${path}: ${error instanceof Error ? error.message : error}`,
		);
	} finally {
		await chunks.return?.();
	}
}

const never = new AbortController().signal;
