import { describe, expect, test } from "vitest";
import { createTableLocks, type LockRequest } from "../../../../src/insert/duckdb/table-locks.ts";

const signal = new AbortController().signal;
const shared = (key: string): LockRequest => ({ key, exclusive: false });
const alone = (key: string): LockRequest => ({ key, exclusive: true });
const soon = () => new Promise((resolve) => setTimeout(resolve, 0));

function recorder() {
	const locks = createTableLocks();
	const held: string[] = [];
	const releases = new Map<string, () => void>();
	return {
		held,
		locks,
		take(name: string, requests: LockRequest[], of = signal) {
			return locks.acquire(requests, of).then((lock) => {
				held.push(name);
				releases.set(name, lock.release);
				return lock;
			});
		},
		async release(name: string) {
			releases.get(name)!();
			await soon();
		},
	};
}

describe("table locks", () => {
	test("appends share a table, a replace waits for them and keeps later ones waiting", async () => {
		const at = recorder();
		for (const [name, request] of [
			["append 1", shared("t")],
			["append 2", shared("t")],
			["replace", alone("t")],
			["append 3", shared("t")],
			["other table", alone("u")],
		] as const) {
			void at.take(name, [request]);
		}
		await soon();
		expect(at.held).toEqual(["append 1", "append 2", "other table"]);
		await at.release("append 1");
		expect(at.held).toHaveLength(3);
		await at.release("append 2");
		expect(at.held.at(-1)).toBe("replace");
		await at.release("replace");
		expect(at.held.at(-1)).toBe("append 3");
	});

	test("several keys are taken at once, so that two who want the same never wait for each other", async () => {
		const at = recorder();
		void at.take("a and b", [alone("a"), alone("b")]);
		void at.take("b and a", [alone("b"), alone("a")]);
		void at.take("c", [alone("c")]);
		await soon();
		expect(at.held).toEqual(["a and b", "c"]);
		await at.release("a and b");
		expect(at.held.at(-1)).toBe("b and a");
	});

	test("whoever did not wait is told so", async () => {
		const { locks } = recorder();
		const first = await locks.acquire([alone("t")], signal);
		const second = locks.acquire([alone("t")], signal);
		first.release();
		expect([first.waited, (await second).waited]).toEqual([false, true]);
	});

	test("one that gives up lets those behind it pass, and a second release does nothing", async () => {
		const at = recorder();
		const abort = new AbortController();
		const reason = new Error("enough");
		void at.take("append", [shared("t")]);
		const waiting = at.take("replace", [alone("t")], abort.signal);
		void at.take("append 2", [shared("t")]);
		abort.abort(reason);
		await expect(waiting).rejects.toBe(reason);
		expect(at.held).toEqual(["append", "append 2"]);
		await at.release("append");
		await at.release("append");
		void at.take("replace 2", [alone("t")]);
		await soon();
		expect(at.held).toEqual(["append", "append 2"]);
	});

	test("one table asked for twice, once alone, is had alone", async () => {
		const at = recorder();
		void at.take("both", [shared("t"), alone("t")]);
		void at.take("append", [shared("t")]);
		await soon();
		expect(at.held).toEqual(["both"]);
	});
});
