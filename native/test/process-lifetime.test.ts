import { spawnSync } from "node:child_process";
import { join } from "node:path";
import process from "node:process";
import { describe, expect, test, vi } from "vitest";

vi.setConfig({ testTimeout: 320_000 });

/** Runs a program of `programs/` as a process; a hang shows as signal SIGTERM. */
function run(program: string, ...args: string[]) {
	const child = spawnSync(
		process.execPath,
		["--expose-gc", join(import.meta.dirname, "programs", `${program}.ts`), ...args],
		{ encoding: "utf8", timeout: 100_000 },
	);
	return {
		status: child.status,
		signal: child.signal,
		out: child.stdout.trim(),
		err: child.stderr,
	};
}

describe("a process", () => {
	test.each([
		["while a statement waits for a batch", "while-waiting", "pinned"],
		["while a statement waits for a batch, copied", "while-waiting", "copy"],
		["while a statement works", "while-working", "pinned"],
		["while a statement works, copied", "while-working", "copy"],
	])("may exit %s", (_when, how, memory) => {
		for (let i = 0; i < 3; i++) {
			expect(run("exit-mid-statement", how, memory)).toMatchObject({
				status: 7,
				signal: null,
				out: "exiting with rows handed over",
			});
		}
	});

	test("may die of an uncaught error while a statement waits", () => {
		const { status, signal, err } = run("exit-mid-statement", "uncaught", "pinned");
		expect({ status, signal }).toEqual({ status: 1, signal: null });
		expect(err).toContain("uncaught on purpose");
	});

	test("may end with batches queued and held", () => {
		expect(run("exit-holding-batches")).toMatchObject({
			status: 7,
			signal: null,
			out: "queued 1, held true",
		});
	});

	test("isn't kept alive by a push that waits", () => {
		expect(run("wait-for-nothing")).toMatchObject({ status: 0, signal: null, out: "waiting" });
	});
});

test("a stream that is garbage collected fails its statement, lets go of its buffers, and its view stays safe", () => {
	const { status, signal, out, err } = run("abandon");
	expect(err).toBe("");
	expect({ status, signal }).toEqual({ status: 7, signal: null });
	const lines = out.split("\n");
	expect(lines[0]).toContain(
		"halfway: Invalid Input Error: arrow_scan: get_next failed(): the stream was garbage collected",
	);
	const noColumns = "Invalid Input Error: Provided table/dataframe must have at least one column";
	expect(lines[1]).toBe(`unread, read later: ${noColumns}`);
	expect(lines[2]).toBe(`halfway, read later: ${noColumns}`);
	expect(lines[3]).toBe("ended: 6000000 rows");
});

describe("a worker", () => {
	test("loads while no other environment has the addon, and again after its end", () => {
		const { status, out, err } = run("worker-end", "alone");
		expect({ status, out, err }).toEqual({
			status: 0,
			out: "workers: 100000\nworkers: 100000",
			err: "",
		});
	});

	test("loads beside others and the main thread", () => {
		const { status, out, err } = run("worker-end", "several");
		const three = "workers: 100000, 100000, 100000";
		expect({ status, out, err }).toEqual({
			status: 0,
			out: `main: 50000\n${three}\n${three}\nmain: 50000`,
			err: "",
		});
	});

	test("may be terminated with batches queued", () => {
		const { status, out, err } = run("worker-end", "idle");
		expect({ status, out, err }).toEqual({
			status: 0,
			out: "main: 50000\nworkers: queued\nworkers: queued\nmain: 50000",
			err: "",
		});
	});

	// @duckdb/node-bindings aborts the process when a worker ends under a running statement; a statement that
	// waits for its stream must end in the same way, rather than hold up the worker's end for ever.
	test.each(["terminated", "exit"])(
		"that is ended in the middle of a statement (%s) ends as without a stream",
		(how) => {
			const plain = run("worker-end", `${how}-plain`);
			expect(plain).toMatchObject({ status: null, signal: "SIGABRT" });
			expect(run("worker-end", how)).toEqual({
				...plain,
				out: expect.stringContaining("main: 50000"),
			});
		},
	);
});

describe("memory stays flat over 200 loads", () => {
	test.each([
		["pinned", "pass"],
		["copy", "pass"],
		["pinned", "fail"],
	])("%s, %s", (how, failing) => {
		const { status, out, err } = run("leak", "200", how, failing);
		expect({ status, err }).toEqual({ status: 0, err: "" });
		const samples = JSON.parse(out) as number[];
		expect(samples).toHaveLength(20);
		const mean = (part: number[]) => part.reduce((sum, each) => sum + each, 0) / part.length;
		// One load is 2.9 MB: keeping one load in ten would show as 35 MB over the second half.
		const growth = mean(samples.slice(15)) - mean(samples.slice(5, 10));
		console.log(
			`${how}, ${failing}: ${samples.join(" ")} MiB; growth over 100 loads ${growth.toFixed(1)} MiB`,
		);
		expect(growth).toBeLessThan(15);
	});
});
