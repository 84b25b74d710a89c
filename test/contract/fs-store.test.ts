import { mkdtemp, readdir, rm, stat, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { lend } from "../../src/stage/lent-bytes.ts";
import { createFsStore } from "../../src/stage/stores/fs-store.ts";
import { createMemoryStore } from "../../src/stage/stores/memory-store.ts";
import { describeObjectStore } from "./object-store.ts";

const folders: string[] = [];
async function newFolder(): Promise<string> {
	const folder = await mkdtemp(join(tmpdir(), "duckdock-store-"));
	folders.push(folder);
	return folder;
}
afterAll(async () => {
	for (const folder of folders) await rm(folder, { recursive: true, force: true });
});

describeObjectStore("memory", { open: async () => createMemoryStore() });
describeObjectStore("files", {
	open: async () => createFsStore({ folder: join(await newFolder(), "made", "here") }),
});
describeObjectStore("files, fsync off", {
	open: async () => createFsStore({ folder: await newFolder(), fsync: false }),
});

const text = (value: string) => new TextEncoder().encode(value);

describe("the file store", () => {
	it("leaves no file aside after puts that win, lose and fail", async () => {
		const folder = await newFolder();
		const store = await createFsStore({ folder });
		await store.put("a", text("1"));
		await store.put("a", text("2"), { ifAbsent: true });
		await store.put("a", text("2"), { ifMatch: "other" });
		await store.put("a", text("2"), { size: 9 }).catch(() => {});
		expect(await readdir(join(folder, "%tmp"))).toEqual([]);
		expect(await readdir(folder)).toEqual(["%tmp", "a.o"]);
	});

	it("gives back all of a body's memory that was lent", async () => {
		const store = await createFsStore({ folder: await newFolder() });
		let lent = 0;
		let back = 0;
		const body = new ReadableStream<Uint8Array>({
			pull(controller) {
				if (lent === 20) return controller.close();
				const memory = new Uint8Array(300_000).fill(lent++);
				lend(memory, () => back++);
				controller.enqueue(memory);
			},
		});
		expect(await store.put("a", body)).toMatchObject({ size: 6_000_000 });
		expect({ lent, back }).toEqual({ lent: 20, back: 20 });
	});

	describe("of objects with the same bytes that are created and need no sync", () => {
		const brief = { ifAbsent: true, volatile: true };
		const fileOf = async (folder: string, name: string) => (await stat(join(folder, name))).ino;

		it("makes one file with several names, each of which is created once", async () => {
			const folder = await newFolder();
			const store = await createFsStore({ folder });
			const first = await store.put("a/1", text("same"), brief);
			const second = await store.put("b/1", text("same"), brief);
			expect(second).toEqual({ ...first, key: "b/1" });
			expect(await fileOf(folder, "a/1.o")).toBe(await fileOf(folder, "b/1.o"));
			expect(await store.put("a/1", text("same"), brief)).toBeNull();
			await store.put("c/1", text("other"), brief);
			expect(await fileOf(folder, "c/1.o")).not.toBe(await fileOf(folder, "a/1.o"));
		});

		it("changes and removes one and leaves the others", async () => {
			const store = await createFsStore({ folder: await newFolder() });
			for (const key of ["a", "b", "c"]) await store.put(key, text("same"), brief);
			const { etag } = (await store.head("a"))!;
			await store.put("a", text("new"), { ifMatch: etag });
			await store.delete("b");
			const read = async (key: string) => {
				const object = await store.get(key);
				return object && new Response(object.body as BodyInit).text();
			};
			expect(await Promise.all(["a", "b", "c"].map(read))).toEqual(["new", null, "same"]);
			await store.put("b", text("same"), brief);
			expect(await read("b")).toBe("same");
		});

		it("makes a file anew when the one that it kept is gone", async () => {
			const folder = await newFolder();
			const store = await createFsStore({ folder });
			await store.put("a/1", text("same"), brief);
			await rm(join(folder, "%tmp"), { recursive: true });
			expect(await store.put("b/1", text("same"), brief)).not.toBeNull();
			await store.put("c/1", text("same"), brief);
			expect(await fileOf(folder, "c/1.o")).toBe(await fileOf(folder, "b/1.o"));
		});

		it("shares no file among those that must outlive a power cut or may be replaced", async () => {
			const folder = await newFolder();
			const store = await createFsStore({ folder });
			const files = new Set<number>();
			for (const [key, options] of Object.entries({
				a: brief,
				b: { ifAbsent: true },
				c: { volatile: true },
				d: {},
			})) {
				await store.put(key, text("same"), options);
				files.add(await fileOf(folder, `${key}.o`));
			}
			expect(files.size).toBe(4);
		});
	});

	it("removes folders that became empty, and only those", async () => {
		const folder = await newFolder();
		const store = await createFsStore({ folder });
		await store.put("x/y/z/1", text("1"));
		await store.put("x/2", text("2"));
		await store.delete("x/y/z/1");
		expect(await readdir(join(folder, "x"))).toEqual(["2.o"]);
	});

	it("sees an edit by other hands as another ETag", async () => {
		const folder = await newFolder();
		const store = await createFsStore({ folder });
		const info = await store.put("p/00001", text("abc"));
		await writeFile(join(folder, "p", "00001.o"), "abd");
		expect(await store.get("p/00001", { ifMatch: info!.etag })).toBeNull();
	});

	it("survives put and delete of neighbours in one folder at once", async () => {
		const store = await createFsStore({ folder: await newFolder(), fsync: false });
		await Promise.all(
			Array.from({ length: 200 }, async (_, at) => {
				await store.put(`n/m/${at}`, text(String(at)), { ifAbsent: at % 2 === 0 });
				await store.delete(`n/m/${at}`);
			}),
		);
		const left: string[] = [];
		for await (const { key } of store.list("")) left.push(key);
		expect(left).toEqual([]);
	});

	it("breaks the lock of a process that died inside compare and swap", async () => {
		const folder = await newFolder();
		const store = await createFsStore({ folder });
		const info = await store.put("c/x.json", text("1"));
		const lock = join(folder, "c", "x.json%lock");
		await writeFile(lock, "");
		await utimes(lock, 1, 1);
		expect(await store.put("c/x.json", text("2"), { ifMatch: info!.etag })).not.toBeNull();
		await expect(stat(lock)).rejects.toThrow();
	});

	it("names a full or missing place store_unavailable and a forbidden one internal", async () => {
		const folder = await newFolder();
		await writeFile(join(folder, "file"), "");
		await expect(createFsStore({ folder: join(folder, "file", "x") })).rejects.toMatchObject({
			code: "store_unavailable",
		});
	});
});
