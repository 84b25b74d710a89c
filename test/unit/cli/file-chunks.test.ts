import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { ByteCursor } from "../../../src/arrow/wire/byte-cursor.ts";
import { fileChunks } from "../../../src/cli/file-chunks.ts";

const never = new AbortController().signal;
const MiB = 1024 * 1024;
const bytes = new Uint8Array(5 * MiB + 77).map((_, i) => (i * 2_654_435_761) >>> 24);
let folder: string;
let path: string;

beforeAll(async () => {
	folder = await mkdtemp(join(tmpdir(), "file-chunks-"));
	path = join(folder, "bytes");
	await writeFile(path, bytes);
});
afterAll(() => rm(folder, { recursive: true }));

const same = (a: Uint8Array, b: Uint8Array) => Buffer.compare(a, b) === 0;

test("chunks are the file's bytes in order, in one memory that is used again", async () => {
	const joined: Uint8Array[] = [];
	const memories = new Set<ArrayBufferLike>();
	for await (const chunk of { [Symbol.asyncIterator]: () => iterator() }) {
		joined.push(chunk.slice());
		memories.add(chunk.buffer);
	}
	expect(same(Buffer.concat(joined), bytes)).toBe(true);
	// 32 KiB, then twice as much each time, up to 1 MiB.
	expect(memories.size).toBe(6);

	function iterator() {
		return fileChunks(path, never)[Symbol.asyncIterator]();
	}
});

test("chunks and reads in place take turns and miss no byte", async () => {
	const iterator = fileChunks(path, never)[Symbol.asyncIterator]();
	const joined: Uint8Array[] = [];
	for (let inPlace = false; ; inPlace = !inPlace) {
		if (inPlace) {
			const target = new Uint8Array(100_001);
			const count = await iterator.readInto!(target);
			if (count === 0) break;
			joined.push(target.subarray(0, count));
		} else {
			const next = await iterator.next();
			if (next.done) break;
			joined.push(next.value.slice());
		}
	}
	expect(same(Buffer.concat(joined), bytes)).toBe(true);
	expect((await iterator.next()).done).toBe(true);
	expect(await iterator.readInto!(new Uint8Array(1))).toBe(0);
});

test("a file that isn't there is told when its first byte is asked for", async () => {
	const iterator = fileChunks(join(folder, "missing"), never)[Symbol.asyncIterator]();
	await expect(iterator.next()).rejects.toThrow("ENOENT");
	expect((await iterator.next()).done).toBe(true);
});

test("an abort ends a reader between two reads, with its reason", async () => {
	const stop = new AbortController();
	const iterator = fileChunks(path, stop.signal)[Symbol.asyncIterator]();
	await iterator.next();
	stop.abort(new Error("enough"));
	await expect(iterator.next()).rejects.toThrow("enough");
	await expect(iterator.return!()).resolves.toEqual({ done: true, value: undefined });
});

test("of a large target no byte is copied; each piece is seen once, in order, before it is handed out", async () => {
	const seen: Uint8Array[] = [];
	const cursor = new ByteCursor(fileChunks(path, never), (piece) => seen.push(piece.slice()));
	expect(same(await cursor.read(1_000), bytes.subarray(0, 1_000))).toBe(true);
	const target = new Uint8Array(4 * MiB);
	expect(await cursor.fill(target)).toBe(target.length);
	expect(same(target, bytes.subarray(1_000, 1_000 + target.length))).toBe(true);
	expect(cursor.offset).toBe(1_000 + target.length);
	// What was left of the first chunk, and no more.
	expect(cursor.copiedBytes).toBe(32 * 1024);
	const rest = await cursor.read(10 * MiB);
	expect(same(rest, bytes.subarray(1_000 + target.length))).toBe(true);
	expect(await cursor.atEnd()).toBe(true);
	expect(same(Buffer.concat(seen), bytes)).toBe(true);
});

test("what refuses a piece that was read in place ends the reading with its error", async () => {
	const cursor = new ByteCursor(fileChunks(path, never), () => {
		throw new Error("refused");
	});
	await expect(cursor.fill(new Uint8Array(3 * MiB))).rejects.toThrow("refused");
	await cursor.close();
});

test("a range is its bytes and no more", async () => {
	const range = { start: 1_000_001, end: 3 * MiB + 5 };
	const joined: Uint8Array[] = [];
	const chunks = fileChunks(path, never, range)[Symbol.asyncIterator]();
	for (let next = await chunks.next(); !next.done; next = await chunks.next()) {
		joined.push(next.value.slice());
	}
	expect(same(Buffer.concat(joined), bytes.subarray(range.start, range.end))).toBe(true);
});
