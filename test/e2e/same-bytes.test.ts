import { tableFromArrays, tableToIPC } from "apache-arrow";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { superstoreBytes } from "./superstore.ts";
import { call, createWorld, type Json, query, type World } from "./world.ts";

let world: World;
beforeAll(async () => {
	world = await createWorld();
	await world.start();
});
afterAll(() => world.end());

type Order = "ascending" | "descending" | "shuffled";

async function inOneRequest(bytes: Uint8Array, table: string): Promise<Json> {
	const { status, json } = await call(world, "POST", `/v1/ingest/${table}?mode=replace`, {
		body: bytes,
	});
	expect(status, JSON.stringify(json)).toBe(200);
	return json;
}

async function inParts(
	bytes: Uint8Array,
	table: string,
	partSize: number,
	order: Order,
): Promise<Json> {
	const created = await call(world, "POST", "/v1/uploads", {
		body: JSON.stringify({ table, mode: "replace" }),
	});
	expect(created.status, JSON.stringify(created.json)).toBe(201);
	const path = `/v1/uploads/${created.json.upload_id}`;
	const numbers = Array.from({ length: Math.ceil(bytes.length / partSize) }, (_, at) => at + 1);
	if (order === "descending") numbers.reverse();
	if (order === "shuffled") numbers.sort((a, b) => ((a * 7919) % 1009) - ((b * 7919) % 1009));
	const send = async () => {
		for (let n = numbers.shift(); n !== undefined; n = numbers.shift()) {
			const body = bytes.slice((n - 1) * partSize, n * partSize);
			const put = await call(world, "PUT", `${path}/parts/${n}`, { body });
			expect(put.status, JSON.stringify(put.json)).toBe(204);
		}
	};
	const parts = numbers.length;
	await Promise.all(Array.from({ length: 8 }, send));
	const done = await call(world, "POST", `${path}/complete`, {
		body: JSON.stringify({ parts }),
		headers: { Prefer: "wait=50" },
	});
	expect(done.status, JSON.stringify(done.json)).toBe(200);
	expect(done.json.parts).toBe(parts);
	return done.json;
}

/** A receipt without what tells one upload of the same bytes from another. */
function essence(receipt: Json): Json {
	const { load_id, parts, started_at, committed_at, duration_ms, created_table, source, ...rest } =
		receipt;
	return rest;
}

describe("the same bytes", () => {
	it("give the same receipt and rows as one request and as parts of 64 KiB and 8 MiB in any order", async () => {
		const bytes = superstoreBytes();
		const one = await inOneRequest(bytes, "sales");
		const rows = await query(
			world.database,
			"SELECT md5(string_agg(hash(t)::VARCHAR, '' ORDER BY rowid)) FROM sales t",
		);
		for (const [size, order] of [
			[64 * 1024, "ascending"],
			[64 * 1024, "descending"],
			[64 * 1024, "shuffled"],
			[8 * 1024 * 1024, "ascending"],
		] as const) {
			expect(essence(await inParts(bytes, "sales", size, order))).toEqual(essence(one));
			expect(
				await query(
					world.database,
					"SELECT md5(string_agg(hash(t)::VARCHAR, '' ORDER BY rowid)) FROM sales t",
				),
			).toEqual(rows);
		}
	});

	it("give the same receipt and rows as parts of one byte", async () => {
		const table = tableFromArrays({ id: Int32Array.of(1, 2, 3), name: ["a", "b", "a"] });
		const bytes = tableToIPC(table, "stream");
		const one = await inOneRequest(bytes, "tiny");
		for (const order of ["ascending", "shuffled"] as const) {
			expect(essence(await inParts(bytes, "tiny", 1, order))).toEqual(essence(one));
		}
		expect(await query(world.database, "SELECT id, name FROM tiny ORDER BY rowid")).toEqual([
			[1, "a"],
			[2, "b"],
			[3, "a"],
		]);
	});
});
