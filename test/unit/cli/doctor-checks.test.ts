import { describe, expect, it } from "vitest";
import { createDoctorChecks, tryStore } from "../../../src/cli/doctor-checks.ts";
import { createMemoryStore } from "../../../src/stage/stores/memory-store.ts";

describe("tryStore", () => {
	it("is content with a store that keeps its laws, and leaves nothing behind", async () => {
		const store = createMemoryStore();
		await tryStore(store);
		const left = [];
		for await (const info of store.list("")) left.push(info.key);
		expect(left).toEqual([]);
	});

	it("finds a store whose create-only puts all succeed", async () => {
		const store = createMemoryStore();
		const lax = {
			...store,
			put: (key: string, body: Uint8Array | ReadableStream<Uint8Array>) => store.put(key, body),
		};
		await expect(tryStore(lax)).rejects.toThrow("of 8 create-only puts at once 8 succeeded, not 1");
	});

	it("finds a store that ignores ranges", async () => {
		const store = createMemoryStore();
		await expect(tryStore({ ...store, get: (key) => store.get(key) })).rejects.toThrow(
			"bytes 7 to 10 read back as",
		);
	});

	it("finds a store that keeps what is deleted", async () => {
		const store = createMemoryStore();
		await expect(tryStore({ ...store, delete: async () => {} })).rejects.toThrow("still there");
	});
});

describe("the checks", () => {
	it("refuse an old Node by its version", async () => {
		const [node] = createDoctorChecks({ nodeVersion: "v20.19.0" } as never, undefined);
		await expect(node!.run()).rejects.toThrow("this is v20.19.0");
	});
});
