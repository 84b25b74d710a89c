import { describe, expect, it } from "vitest";
import type { ObjectStore } from "../../../src/stage/object-store.ts";
import { patientStore } from "../../../src/stage/patient-store.ts";
import { createMemoryStore } from "../../../src/stage/stores/memory-store.ts";
import { bytesOf as readAll } from "../../contract/object-store.ts";
import { createFakeClock } from "../fake-clock.ts";
import { bytesOf } from "./stage-world.ts";

const never = () => new Promise<never>(() => {});
const unavailable = { code: "store_unavailable" };

/** Null while it goes on, else the error or the value. */
async function outcome<T>(work: Promise<T>): Promise<() => unknown> {
	let ended: unknown = null;
	work.then(
		(value) => {
			ended = value ?? "done";
		},
		(error) => {
			ended = error;
		},
	);
	return () => ended;
}

describe("a store that hangs", () => {
	it.each([
		["put", (store: ObjectStore) => store.put("x", bytesOf("x"))],
		["get", (store: ObjectStore) => store.get("x")],
		["head", (store: ObjectStore) => store.head("x")],
		["delete", (store: ObjectStore) => store.delete("x")],
		["list", (store: ObjectStore) => store.list("x")[Symbol.asyncIterator]().next()],
	] as const)("in %s is store_unavailable after its time and not before", async (_, call) => {
		const clock = createFakeClock();
		const hanging: ObjectStore = {
			description: "",
			put: never,
			get: never,
			head: never,
			delete: never,
			list: () => ({ [Symbol.asyncIterator]: () => ({ next: never }) }),
		};
		const ended = await outcome(call(patientStore(hanging, clock, 1_000)) as Promise<unknown>);
		await clock.pass(999);
		expect(ended()).toBeNull();
		await clock.pass(1);
		expect(ended()).toMatchObject(unavailable);
		expect(clock.sleepers()).toBe(0);
	});

	it("in the middle of a body is store_unavailable, however long the body took before", async () => {
		const clock = createFakeClock();
		const memory = createMemoryStore();
		await memory.put("x", bytesOf("x"));
		let at = 0;
		const store = patientStore(
			{
				...memory,
				async get(key) {
					const object = (await memory.get(key))!;
					const body = new ReadableStream<Uint8Array>({
						async pull(to) {
							await clock.sleep(at++ < 5 ? 900 : 1_000_000);
							to.enqueue(bytesOf("chunk"));
						},
					});
					return { ...object, body };
				},
			},
			clock,
			1_000,
		);
		const reader = (await store.get("x"))!.body.getReader();
		for (let chunk = 0; chunk < 5; chunk++) {
			const ended = await outcome(reader.read());
			await clock.pass(900);
			expect(ended()).toMatchObject({ done: false });
		}
		const ended = await outcome(reader.read());
		await clock.pass(1_000);
		expect(ended()).toMatchObject(unavailable);
	});

	it("is waited for by nobody else: a store that answers is as it was", async () => {
		const clock = createFakeClock();
		const store = patientStore(createMemoryStore(), clock);
		await store.put("a", bytesOf("abc"));
		expect(await readAll(store, "a")).toEqual(bytesOf("abc"));
		const keys: string[] = [];
		for await (const { key } of store.list("")) keys.push(key);
		expect(keys).toEqual(["a"]);
		await store.delete("a");
		expect(await store.head("a")).toBeNull();
		expect(clock.sleepers()).toBe(0);
	});
});
