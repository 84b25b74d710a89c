import { existsSync, mkdtempSync, rmSync, utimesSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { createFileTurns, type FileTurns } from "../../../../src/insert/duckdb/file-turns.ts";
import { putSign, removeSign } from "../../../../src/insert/duckdb/waiting-sign.ts";
import { createFakeClock, type FakeClock, settle } from "../../fake-clock.ts";

const never = new AbortController().signal;
let folder: string;
let file: string;
let clock: FakeClock;
let turns: FileTurns;
let events: string[];

beforeEach(() => {
	folder = mkdtempSync(join(tmpdir(), "duckdock-turns-"));
	file = join(folder, "acme.duckdb");
	clock = createFakeClock();
	events = [];
	turns = createFileTurns({
		clock,
		turnMs: 2_000,
		giveWay: () => void events.push("asked"),
		async letGo(pause) {
			events.push("let go");
			await pause();
			turns.gone();
			events.push("passed on");
		},
	});
	turns.attached(file);
});
afterEach(() => {
	turns.gone();
	rmSync(folder, { recursive: true });
});

/** Another process looks for the file, now. */
function another(): void {
	putSign(file);
	const now = clock.now() / 1_000;
	utimesSync(`${file}.waiting`, now, now);
}

/** Another process waits when the file's holder looks for it. */
async function anotherWaits(): Promise<void> {
	await clock.pass(1_900);
	another();
	await clock.pass(100);
}

describe("turns with a database file", () => {
	it("let a load begin at once while nobody waits", async () => {
		const leave = await turns.take(never);
		await clock.pass(60_000);
		leave();
		expect(events).toEqual([]);
	});

	it("pass the file on when what runs has ended, and no load begins meanwhile", async () => {
		const leave = await turns.take(never);
		await anotherWaits();
		expect(events).toEqual(["asked"]);
		let begun = false;
		const next = turns.take(never).then((leaveToo) => {
			begun = true;
			return leaveToo;
		});
		await settle();
		expect(begun).toBe(false);
		another();
		leave();
		await settle();
		expect(events).toEqual(["asked", "let go"]);
		// Whoever waited has the file now and takes its sign away.
		removeSign(file);
		await clock.pass(20);
		expect(events).toEqual(["asked", "let go", "passed on"]);
		(await next)();
	});

	it("ask again and again those that can wait", async () => {
		const leave = await turns.take(never);
		await anotherWaits();
		for (let n = 2; n < 5; n++) {
			another();
			await clock.pass(250);
			expect(events).toHaveLength(n);
		}
		leave();
	});

	it("are forgotten where nobody waits any more, and what waited here goes on", async () => {
		const leave = await turns.take(never);
		await anotherWaits();
		const next = turns.take(never);
		// It died: its sign is not renewed.
		await clock.pass(3_000);
		(await next)();
		leave();
		await settle();
		expect(events.filter((event) => event !== "asked")).toEqual([]);
	});

	it("wait no longer than a second for who does not come", async () => {
		await anotherWaits();
		const next = turns.take(never);
		for (let n = 0; n < 60; n++) {
			another();
			await clock.pass(20);
		}
		(await next)();
		expect(events).toEqual(["let go", "passed on"]);
	});

	it("are not waited for by a load that is told to stop", async () => {
		const leave = await turns.take(never);
		await anotherWaits();
		const stop = new AbortController();
		const next = turns.take(stop.signal);
		stop.abort(new Error("stopped"));
		await expect(next).rejects.toThrow("stopped");
		leave();
	});

	it("leave no sign and see none where the file is several processes' at a time", async () => {
		turns.gone();
		another();
		turns.attached(null);
		await clock.pass(60_000);
		expect(events).toEqual([]);
		removeSign(file);
		removeSign(file);
		expect(existsSync(`${file}.waiting`)).toBe(false);
		// A folder that isn't there is no error.
		putSign(join(folder, "missing/acme.duckdb"));
	});
});
