/**
 * Two services with a loader process each on one store and one DuckDB file, which one
 * process at a time may open: they take turns. No load is lost, none doubled, and
 * neither waits until the other has nothing left to do.
 */
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { arrowNumbers } from "../contract/arrow-bytes.ts";
import { call, createWorld, query, type World } from "./world.ts";

const loadsEach = 120;
const callersEach = 3;
let first: World;
let second: World;

beforeAll(async () => {
	first = await createWorld();
	second = await createWorld({
		DUCKDOCK_STORE: first.env.DUCKDOCK_STORE!,
		DUCKDOCK_TARGET: first.env.DUCKDOCK_TARGET!,
	});
	await Promise.all([first.start(), second.start()]);
});
afterAll(async () => {
	await first?.end();
	await second?.end();
});

/** Loads one after the other from several callers, without a pause; calls back as each ends. */
async function load(world: World, by: string, ended: (by: string) => void): Promise<void> {
	let next = 0;
	const caller = async () => {
		for (let n = next++; n < loadsEach; n = next++) {
			const { status, json } = await call(world, "POST", "/v1/ingest/t", {
				body: arrowNumbers(10, 10 * n),
				headers: {
					"Content-Type": "application/octet-stream",
					"Idempotency-Key": `${by}-${n}`,
					Prefer: "wait=300",
				},
			});
			expect([by, n, status, json.detail]).toEqual([by, n, 200, undefined]);
			ended(by);
		}
	};
	await Promise.all(Array.from({ length: callersEach }, caller));
}

describe("two loaders on one DuckDB file", () => {
	it("take turns while both have work, and every load is there once", async () => {
		const order: string[] = [];
		const note = (by: string) => void order.push(by);
		await Promise.all([load(first, "first", note), load(second, "second", note)]);
		await first.stop();
		await second.stop();
		const database = join(first.folder, "db/acme.duckdb");
		expect(await query(database, "SELECT count(*)::INT, count(DISTINCT id)::INT FROM t")).toEqual([
			[2 * 10 * loadsEach, 10 * loadsEach],
		]);
		expect(
			await query(
				database,
				"SELECT count(*)::INT, count(DISTINCT load_id)::INT, sum(rows_inserted)::INT FROM _duckdock.loads",
			),
		).toEqual([[2 * loadsEach, 2 * loadsEach, 20 * loadsEach]]);
		const turns = order.filter((by, at) => by !== order[at - 1]).length;
		console.log(`${order.length} loads in ${turns} turns`);
		// When one had ended its last, the other had come to a good part of its own.
		const last = order.lastIndexOf(order.at(-1) === "first" ? "second" : "first");
		const behind = order.slice(0, last).filter((by) => by === order.at(-1)).length;
		expect(behind).toBeGreaterThan(loadsEach / 6);
	});
});
