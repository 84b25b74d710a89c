import type { DuckDBConnection } from "@duckdb/node-api";
import { describe, expect, test } from "vitest";
import { createEngineThreads } from "../../../../src/insert/duckdb/engine-threads.ts";

/** A connection on which statements take a moment; `fails`: what none of them survives. */
function connectionTo(said: string[], fails?: Error): DuckDBConnection {
	const run = async (sql: string) => {
		await new Promise((resolve) => setTimeout(resolve, 1));
		said.push(sql);
		if (fails) throw fails;
	};
	return { run } as unknown as DuckDBConnection;
}

describe("the threads of an instance", () => {
	test("are all there while one load or several want them, and one again after the last", async () => {
		const said: string[] = [];
		const threads = createEngineThreads(4);
		const [first, second] = await Promise.all([
			threads.raise(connectionTo(said)),
			threads.raise(connectionTo(said)),
		]);
		expect(said).toEqual(["SET GLOBAL threads = 4"]);
		await first();
		expect(said).toHaveLength(1);
		await second();
		expect(said).toEqual(["SET GLOBAL threads = 4", "SET GLOBAL threads = 1"]);
	});

	test("stay for a load that comes while the one before it gives them back", async () => {
		const said: string[] = [];
		const threads = createEngineThreads(4);
		const lower = await threads.raise(connectionTo(said));
		const lowering = lower();
		const raising = threads.raise(connectionTo(said));
		await lowering;
		await (await raising)();
		expect(said.at(-1)).toBe("SET GLOBAL threads = 1");
		expect(said.filter((sql) => sql.endsWith("= 4")).length).toBe(
			said.filter((sql) => sql.endsWith("= 1")).length,
		);
	});

	test("are left as they are where there is one or the number isn't ours", async () => {
		for (const all of [1, null]) {
			const said: string[] = [];
			await (await createEngineThreads(all).raise(connectionTo(said)))();
			expect(said).toEqual([]);
		}
	});

	test("that can't be changed fail no load, and are tried again by the next one", async () => {
		const said: string[] = [];
		const threads = createEngineThreads(4);
		await (await threads.raise(connectionTo(said, new Error("the instance is lost"))))();
		await threads.raise(connectionTo(said));
		expect(said).toEqual(["SET GLOBAL threads = 4", "SET GLOBAL threads = 4"]);
	});
});
