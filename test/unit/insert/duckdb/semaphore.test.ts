import { describe, expect, test } from "vitest";
import { createSemaphore } from "../../../../src/insert/duckdb/semaphore.ts";

const signal = new AbortController().signal;
const soon = () => new Promise((resolve) => setTimeout(resolve, 0));

describe("semaphore", () => {
	test("lets in as many as it has places, in order, and a second release does nothing", async () => {
		const semaphore = createSemaphore(2);
		const entered: number[] = [];
		const releases: (() => void)[] = [];
		for (let n = 0; n < 4; n++) {
			void semaphore.acquire(signal).then((release) => {
				entered.push(n);
				releases[n] = release;
			});
		}
		await soon();
		expect(entered).toEqual([0, 1]);
		releases[1]!();
		releases[1]!();
		await soon();
		expect(entered).toEqual([0, 1, 2]);
		releases[0]!();
		await soon();
		expect(entered).toEqual([0, 1, 2, 3]);
	});

	test("one that gives up keeps no place", async () => {
		const semaphore = createSemaphore(1);
		const first = await semaphore.acquire(signal);
		const abort = new AbortController();
		const reason = new Error("enough");
		const second = semaphore.acquire(abort.signal);
		const third = semaphore.acquire(signal);
		abort.abort(reason);
		await expect(second).rejects.toBe(reason);
		first();
		(await third)();
		(await semaphore.acquire(signal))();
	});
});
