import { describe, expect, it } from "vitest";
import { createLeaseTerms, type LeaseOptions, takeLease } from "../../../src/replay/lease.ts";
import { leaseIsHeld, readLeases } from "../../../src/stage/lease-object.ts";
import { createIdMaker } from "../../../src/stage/new-id.ts";
import type { ObjectStore } from "../../../src/stage/object-store.ts";
import { createMemoryStore } from "../../../src/stage/stores/memory-store.ts";
import { createFakeClock } from "../fake-clock.ts";

const id = "01JDXM2Q6V8Z3T4R5W6Y7A8B9C";

function world() {
	const clock = createFakeClock();
	const store = createMemoryStore({ now: clock.now });
	const newId = createIdMaker(clock);
	const take = (over: Partial<LeaseOptions> = {}) => takeLease({ ...deps, ...over }, "acme", id);
	const deps: LeaseOptions = { store, clock, newId, leaseMs: 30_000 };
	return { clock, store, take };
}

describe("a lease", () => {
	it("is taken by one of ten at one moment", async () => {
		const { take } = world();
		const takers = await Promise.allSettled(Array.from({ length: 10 }, () => take()));
		expect(takers.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
		for (const taker of takers) {
			if (taker.status === "rejected") expect(taker.reason.code).toBe("load_in_progress");
		}
	});

	it("is renewed while its owner works, and gone once it is released", async () => {
		const { clock, store, take } = world();
		const lease = await take();
		await clock.pass(300_000);
		await expect(take()).rejects.toMatchObject({ code: "load_in_progress" });
		await lease.assertOwned();
		await lease.release();
		expect(await readLeases(store, "acme", id)).toEqual([]);
		expect(clock.sleepers()).toBe(0);
		await (await take()).release();
	});

	it("costs a write to take, two reads to look at and a removal to let go", async () => {
		const { store, take } = world();
		const asked: string[] = [];
		const counting = new Proxy(store, {
			get(target, name: keyof ObjectStore) {
				if (typeof target[name] === "function") asked.push(name);
				return target[name];
			},
		});
		const lease = await take({ store: counting });
		await lease.assertOwned();
		await lease.release();
		expect(asked.sort()).toEqual(["delete", "get", "head", "put"]);
	});

	it("has owner and end in common with what its loader takes in the same second", async () => {
		const { clock, store } = world();
		const options = { store, clock, newId: createIdMaker(clock) };
		const terms = createLeaseTerms(options);
		const uploads = ["A", "B", "C"].map((last) => `01JDXM2Q6V8Z3T4R5W6Y7A8B9${last}`);
		for (const upload of uploads) {
			await takeLease({ ...options, terms }, "acme", upload);
			await clock.pass(700);
		}
		const [a, b, c] = await Promise.all(
			uploads.map(async (upload) => (await readLeases(store, "acme", upload))[0]!),
		);
		expect(b).toEqual(a);
		expect(c!.owner).not.toBe(a!.owner);
		expect(Date.parse(c!.expires_at)).toBeGreaterThan(Date.parse(a!.expires_at));
	});

	it("is renewed by one request, and by an owner whose answer was lost", async () => {
		const { clock, store, take } = world();
		const asked: string[] = [];
		let lose = false;
		const counting: ObjectStore = {
			...store,
			async put(...args) {
				asked.push("put");
				const info = await store.put(...args);
				if (lose) throw new Error("the answer is lost");
				return info;
			},
			get: (...args) => {
				asked.push("get");
				return store.get(...args);
			},
			head: (key) => {
				asked.push("head");
				return store.head(key);
			},
		};
		const lease = await take({ store: counting });
		asked.splice(0);
		await clock.pass(30_001);
		expect(asked).toEqual(["put", "put", "put"]);
		lose = true;
		await clock.pass(10_000);
		lose = false;
		await clock.pass(60_000);
		expect(lease.signal.aborted).toBe(false);
		await lease.assertOwned();
		await lease.release();
	});

	it("of a dead owner is taken over after its time, and not before", async () => {
		const { clock, store, take } = world();
		const dead = { ...clock, sleep: () => new Promise<void>(() => {}) };
		await take({ clock: dead });
		await clock.pass(29_000);
		await expect(take()).rejects.toMatchObject({ code: "load_in_progress" });
		await clock.pass(1_001);
		const next = await take();
		expect(next.generation).toBe(2);
		await next.release();
		expect(await readLeases(store, "acme", id)).toEqual([]);
	});

	it("of a process that is surely gone is taken over at once", async () => {
		const { take } = world();
		const process = { name: "host/1", isGone: () => false };
		await take({ process });
		await expect(take({ process })).rejects.toMatchObject({ code: "load_in_progress" });
		const next = await take({ process: { name: "host/2", isGone: (name) => name === "host/1" } });
		expect(next.generation).toBe(2);
	});

	it("that was taken over is seen as lost by its old owner, before COMMIT and at its next renewal", async () => {
		const { clock, take } = world();
		const sleeper = createFakeClock(clock.now());
		const old = await take({ clock: sleeper });
		await clock.pass(31_000);
		const next = await take();
		await expect(old.assertOwned()).rejects.toMatchObject({ code: "load_in_progress" });
		await sleeper.pass(10_001);
		expect(old.signal.aborted).toBe(true);
		await next.assertOwned();
		await old.release();
		await next.assertOwned();
	});

	it("whose owner's clock jumps ahead is taken over early, and the old owner sees it", async () => {
		const { clock, take } = world();
		const old = await take();
		const ahead = createFakeClock(clock.now() + 3_600_000);
		const next = await take({ clock: ahead });
		await expect(old.assertOwned()).rejects.toMatchObject({ code: "load_in_progress" });
		await next.assertOwned();
	});

	it("is not owned by an old generation when its number was given anew", async () => {
		const { clock, take } = world();
		const sleeper = createFakeClock(clock.now());
		const old = await take({ clock: sleeper });
		await clock.pass(31_000);
		await (await take()).release();
		const third = await take();
		expect(third.generation).toBe(1);
		await expect(old.assertOwned()).rejects.toMatchObject({ code: "load_in_progress" });
		sleeper.jump(60_000);
		await old.release();
		await third.assertOwned();
	});

	it("that can't be renewed because the store is down is lost when its time is over", async () => {
		const { clock, store, take } = world();
		let down = false;
		const broken = {
			...store,
			put: (...args: Parameters<ObjectStore["put"]>) => {
				if (down) throw new Error("down");
				return store.put(...args);
			},
		};
		const lease = await take({ store: broken });
		down = true;
		await clock.pass(29_000);
		expect(lease.signal.aborted).toBe(false);
		await clock.pass(12_000);
		expect(lease.signal.aborted).toBe(true);
		expect(leaseIsHeld(await readLeases(store, "acme", id), clock.now())).toBe(false);
	});
});
