/** Staged parts as a loader reads them: in place where the store can, verified, asked for once. */
import { createHash } from "node:crypto";
import { mkdtemp, readdir, readlink, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ByteCursor } from "../../src/arrow/wire/byte-cursor.ts";
import type { Manifest, ManifestPart } from "../../src/flow.ts";
import { nodeCodecs } from "../../src/replay/node-codecs.ts";
import { openStaged } from "../../src/replay/open-staged.ts";
import type { ObjectStore } from "../../src/stage/object-store.ts";
import { createFsStore } from "../../src/stage/stores/fs-store.ts";
import { createMemoryStore } from "../../src/stage/stores/memory-store.ts";

const MiB = 1024 * 1024;
const never = new AbortController().signal;
const bytes = new Uint8Array(7 * MiB + 5).map((_, at) => (at * 2_654_435_761) >>> 24);
const { createSha256 } = nodeCodecs;

let folder: string;
beforeAll(async () => {
	folder = await mkdtemp(join(tmpdir(), "staged-bytes-"));
});
afterAll(() => rm(folder, { recursive: true }));

/** Parts of `sizes`, the rest in a last one. */
async function stage(store: ObjectStore, sizes: readonly number[]): Promise<Manifest> {
	const parts: ManifestPart[] = [];
	let at = 0;
	for (const size of [...sizes, bytes.length]) {
		const part = bytes.subarray(at, at + size);
		at += part.length;
		const n = parts.length + 1;
		const key = `parts/${sizes.length}/${n}`;
		const info = (await store.put(key, part))!;
		const sha256 = createHash("sha256").update(part).digest("hex");
		parts.push({ n, key, size: part.length, etag: info.etag, sha256 });
	}
	return { upload_id: "u", tenant: "t", source: { kind: "upload" }, parts } as unknown as Manifest;
}

const same = (a: Uint8Array, b: Uint8Array) => Buffer.compare(a, b) === 0;

const stores = {
	"a folder": async () => createFsStore({ folder: join(folder, "objects") }),
	memory: async () => createMemoryStore(),
};

describe.each(Object.keys(stores) as (keyof typeof stores)[])("staged in %s", (name) => {
	it("the parts' bytes are one sequence, however they are cut and asked for", async () => {
		const store = await stores[name]();
		const manifest = await stage(store, [1, 0, 3 * MiB, 77, 2 * MiB]);
		const source = openStaged({ store, createSha256 }, manifest);
		const seen: Uint8Array[] = [];
		const cursor = new ByteCursor(source.stream(never), (piece) => seen.push(piece.slice()));
		expect(same(await cursor.read(9), bytes.subarray(0, 9))).toBe(true);
		expect(same(await cursor.read(5 * MiB), bytes.subarray(9, 9 + 5 * MiB))).toBe(true);
		expect(
			same((await cursor.takeChunk())!.subarray(0, 1), bytes.subarray(9 + 5 * MiB, 10 + 5 * MiB)),
		).toBe(true);
		await cursor.skip(bytes.length);
		expect(await cursor.atEnd()).toBe(true);
		expect(same(Buffer.concat(seen), bytes)).toBe(true);
	});

	it("is asked for each part once, and what was read is not read again to verify it", async () => {
		const store = await stores[name]();
		const manifest = await stage(store, [MiB, 2 * MiB]);
		const gets: string[] = [];
		const get: ObjectStore["get"] = (key, options) => {
			gets.push(key);
			return store.get(key, options);
		};
		const source = openStaged({ store: { ...store, get }, createSha256 }, manifest);
		for await (const _ of source.stream(never));
		await source.verifyRest(never);
		expect(gets).toEqual(manifest.parts.map(({ key }) => key));
	});

	it("a part with other bytes than were staged is told, read in place or not", async () => {
		const store = await stores[name]();
		const manifest = await stage(store, [MiB]);
		const other = { ...manifest.parts[1]!, sha256: "00".repeat(32) };
		const changed = { ...manifest, parts: [manifest.parts[0]!, other] };
		const open = () => openStaged({ store, createSha256 }, changed);
		const inPlace = new ByteCursor(open().stream(never));
		await expect(inPlace.read(bytes.length + 1)).rejects.toMatchObject({
			code: "digest_mismatch",
			extra: { part: 2 },
		});
		await expect(async () => {
			for await (const _ of open().stream(never));
		}).rejects.toMatchObject({ code: "digest_mismatch" });
		await expect(open().verifyRest(never)).rejects.toMatchObject({ code: "digest_mismatch" });
	});
});

it("of bodies larger than a chunk hardly a byte of a folder's parts is copied", async () => {
	const store = await stores["a folder"]();
	const manifest = await stage(store, [2 * MiB, 2 * MiB, 2 * MiB]);
	const cursor = new ByteCursor(openStaged({ store, createSha256 }, manifest).stream(never));
	// A message: its metadata, then a body of 1.7 MB.
	for (let at = 0; at < bytes.length; at += 1_700_700) {
		await cursor.read(700);
		await cursor.read(1_700_000);
	}
	expect(cursor.offset).toBe(bytes.length);
	expect(cursor.copiedBytes / bytes.length).toBeLessThanOrEqual(0.03);
});

it("no file of the folder stays open when a reader is let go early, or fails", async () => {
	const store = await stores["a folder"]();
	const manifest = await stage(store, [MiB, MiB]);
	const openFiles = async () => {
		const fds = await readdir("/proc/self/fd").catch(() => []);
		const paths = await Promise.all(
			fds.map((fd) => readlink(`/proc/self/fd/${fd}`).catch(() => "")),
		);
		return paths.filter((path) => path.startsWith(folder)).length;
	};
	const cursor = new ByteCursor(openStaged({ store, createSha256 }, manifest).stream(never));
	await cursor.read(MiB / 2);
	await cursor.close();
	const stop = new AbortController();
	const stopped = openStaged({ store, createSha256 }, manifest).stream(stop.signal);
	await expect(async () => {
		for await (const _ of stopped) stop.abort(new Error("enough"));
	}).rejects.toThrow("enough");
	await expect.poll(openFiles).toBe(0);
});
