import { expect, test } from "vitest";
import type { BatchSink } from "../../../src/insert/batch-sink.ts";
import { silentLog } from "../../../src/log.ts";
import { createUsageBook } from "../../../src/replay/usage-book.ts";
import { createMemoryStore } from "../../../src/stage/stores/memory-store.ts";
import { inProgress, readUsage } from "../../../src/tenant/usage.ts";
import { createFakeClock } from "../fake-clock.ts";

function setUp() {
	const clock = createFakeClock();
	const store = createMemoryStore(clock);
	const ledger = { bytes: 0, rows: 0, locked: false, asked: [] as string[] };
	const sink = {
		open: async () => {
			if (ledger.locked) throw new Error("another program holds the file");
			return {
				sumSince: async (since: string) => {
					ledger.asked.push(since);
					return { bytes: ledger.bytes, rows: ledger.rows };
				},
				close: async () => {},
			};
		},
		close: async () => {},
	} as unknown as BatchSink;
	let made = 0;
	const book = () => {
		const name = `loader-${++made}`;
		return createUsageBook({ sink, store, clock, log: silentLog, newId: () => name });
	};
	const open = async () => {
		const now = clock.now();
		return inProgress(await readUsage(store, "acme", now), now);
	};
	return { clock, store, ledger, book, open, usage: () => readUsage(store, "acme", clock.now()) };
}

test("an end writes what the ledger sums since midnight", async () => {
	const { clock, ledger, book, usage } = setUp();
	const one = book();
	one.begin("acme", 7);
	await clock.pass(2_000);
	Object.assign(ledger, { bytes: 70, rows: 3 });
	one.end("acme", 7);
	await clock.pass(2_000);
	expect(await usage()).toMatchObject({ day: "2026-11-30", bytes: 70, rows: 3, loaders: {} });
	expect(new Set(ledger.asked)).toEqual(new Set(["2026-11-30T00:00:00Z"]));
});

test("a begin is told though the ledger can't be opened, and the count follows when it can", async () => {
	const { clock, ledger, book, open, usage } = setUp();
	Object.assign(ledger, { bytes: 70, rows: 3, locked: true });
	const one = book();
	one.begin("acme", 7);
	await clock.pass(2_000);
	expect(await open()).toEqual({ loads: 1, bytes: 7 });
	expect(await usage()).toMatchObject({ rows: 0 });
	ledger.locked = false;
	await clock.pass(2_000);
	expect(await usage()).toMatchObject({ bytes: 70, rows: 3 });
});

test("two loaders tell of their loads side by side, and neither takes the other's away", async () => {
	const { clock, book, open } = setUp();
	const [one, two] = [book(), book()];
	one.begin("acme", 7);
	two.begin("acme", 5);
	two.begin("acme", 5);
	await clock.pass(2_000);
	expect(await open()).toEqual({ loads: 3, bytes: 17 });
	one.end("acme", 7);
	await clock.pass(2_000);
	expect(await open()).toEqual({ loads: 2, bytes: 10 });
});

test("a load that lasts is told of again and again; of a loader that is gone it is over after a minute", async () => {
	const { clock, book, open } = setUp();
	book().begin("acme", 7);
	await clock.pass(120_000);
	expect(await open()).toEqual({ loads: 1, bytes: 7 });
	clock.jump(60_000);
	expect(await open()).toEqual({ loads: 0, bytes: 0 });
});

test("what is told is told once more two seconds later, and then there is silence", async () => {
	const { clock, book, usage } = setUp();
	const one = book();
	one.begin("acme", 7);
	one.end("acme", 7);
	const ended = clock.now();
	await clock.pass(10_000);
	const { written_at } = await usage();
	expect(Date.parse(written_at) - ended).toBeGreaterThanOrEqual(2_000);
	expect(clock.sleepers()).toBe(0);
	await clock.pass(60_000);
	expect((await usage()).written_at).toBe(written_at);
});

test("flush writes what is open at the end and ends the signs of life", async () => {
	const { clock, book, open } = setUp();
	const one = book();
	one.begin("acme", 7);
	one.end("acme", 7);
	await one.flush();
	expect(await open()).toEqual({ loads: 0, bytes: 0 });
	expect(clock.sleepers()).toBe(0);
});
