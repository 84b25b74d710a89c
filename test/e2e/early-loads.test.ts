/** Uploads that are loaded while they arrive, and processes that die or wait meanwhile. */
import { readdir, readFile } from "node:fs/promises";
import process from "node:process";
import { tableFromArrays, tableToIPC } from "apache-arrow";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { createWorld, type Json, query, type World } from "./world.ts";

const rows = 2_000_000;
const partBytes = 4 * 1024 * 1024;
const table = tableFromArrays({
	id: Int32Array.from({ length: rows }, (_, at) => at),
	x: Float64Array.from({ length: rows }, (_, at) => at * 1.5),
	y: Float64Array.from({ length: rows }, (_, at) => at * 2.5),
});
const stream = new Uint8Array(tableToIPC(table, "stream"));
const parts = Array.from({ length: Math.ceil(stream.length / partBytes) }, (_, at) =>
	stream.slice(at * partBytes, (at + 1) * partBytes),
);

let world: World;
beforeEach(async () => {
	world = await createWorld();
	await world.start();
});
afterEach(() => world.end());

async function call(method: string, path: string, body: BodyInit | null = null, headers = {}) {
	const response = await fetch(world.url + path, {
		method,
		body,
		headers: {
			Authorization: `Bearer ${world.key}`,
			...(typeof body === "string" ? { "Content-Type": "application/json" } : {}),
			...headers,
		},
	});
	const text = await response.text();
	return { status: response.status, json: (text === "" ? null : JSON.parse(text)) as Json };
}

async function metric(name: string): Promise<number> {
	const text = await (await fetch(`${world.url}/metrics`)).text();
	return Number(
		text
			.split("\n")
			.find((line) => line.startsWith(`${name} `))
			?.split(" ")
			.at(-1),
	);
}
const outcomes = (outcome: string) => metric(`duckdock_early_loads_total{outcome="${outcome}"}`);

async function until(holds: () => Promise<boolean>, what: string): Promise<void> {
	for (const deadline = Date.now() + 60_000; !(await holds().catch(() => false)); ) {
		if (Date.now() > deadline) throw new Error(`not in time: ${what}`);
		await new Promise((next) => setTimeout(next, 20));
	}
}

/** All parts but the last are there, and the loader is at them. */
async function sendMost(): Promise<string> {
	await until(async () => (await fetch(`${world.url}/readyz`)).ok, "there is a loader");
	const created = await call("POST", "/v1/uploads", JSON.stringify({ table: "events" }));
	const path = `/v1/uploads/${created.json.upload_id}`;
	for (const [at, part] of parts.slice(0, -1).entries()) {
		const put = await call("PUT", `${path}/parts/${at + 1}`, part);
		expect(put.status, JSON.stringify(put.json)).toBe(204);
	}
	await until(async () => (await metric("duckdock_early_loads_open")) === 1, "it has begun");
	return path;
}
async function complete(path: string) {
	const put = await call("PUT", `${path}/parts/${parts.length}`, parts.at(-1)!);
	expect(put.status, JSON.stringify(put.json)).toBe(204);
	const body = JSON.stringify({ parts: parts.length });
	return call("POST", `${path}/complete`, body, { Prefer: "wait=120" });
}
const inTable = "SELECT count(*)::INT, (SELECT count(*)::INT FROM _duckdock.loads) FROM events";

describe("an upload that is loaded while it arrives", () => {
	it("is committed when it is complete", async () => {
		const path = await sendMost();
		const { status, json } = await complete(path);
		expect(status, JSON.stringify(json)).toBe(200);
		expect(json).toMatchObject({ rows_inserted: rows, parts: parts.length, attempts: 1 });
		expect(await outcomes("committed")).toBe(1);
		await world.stop();
		expect(await query(world.database, inTable)).toEqual([[rows, 1]]);
	});

	it("survives the loader's death as any other, and counts it", async () => {
		const path = await sendMost();
		const children = await loaders();
		expect(children).toHaveLength(1);
		process.kill(children[0]!, "SIGKILL");
		await until(async () => (await outcomes("loader died")) === 1, "the death is seen");
		const { status, json } = await complete(path);
		expect(status, JSON.stringify(json)).toBe(200);
		expect(json).toMatchObject({ rows_inserted: rows, attempts: 2 });
		expect(await outcomes("committed")).toBe(0);
		await world.stop();
		expect(await query(world.database, inTable)).toEqual([[rows, 1]]);
	});

	it("leaves nothing when everything dies, and can go on afterwards", async () => {
		const path = await sendMost();
		await world.kill();
		const tables = "SELECT count(*)::INT FROM duckdb_tables() WHERE schema_name = 'main'";
		const views = "SELECT count(*)::INT FROM duckdb_views() WHERE NOT internal";
		expect(await query(world.database, `SELECT (${tables}), (${views})`)).toEqual([[0, 0]]);
		await world.start();
		const { status, json } = await complete(path);
		expect(status, JSON.stringify(json)).toBe(200);
		await world.stop();
		expect(await query(world.database, inTable)).toEqual([[rows, 1]]);
	});

	it("that says no more lets the database go, where nothing of it is to be seen", async () => {
		await sendMost();
		await until(async () => (await outcomes("given up")) === 1, "it is given up");
		const tables = "SELECT count(*)::INT FROM duckdb_tables() WHERE schema_name = 'main'";
		await until(async () => (await query(world.database, tables))[0]![0] === 0, "the file is free");
	});
});

async function loaders(): Promise<number[]> {
	const found: number[] = [];
	for (const pid of (await readdir("/proc")).filter((name) => /^\d+$/.test(name))) {
		const command = await readFile(`/proc/${pid}/cmdline`, "utf8").catch(() => "");
		if (command.includes("replay.child.ts") && command.includes(world.folder)) {
			found.push(Number(pid));
		}
	}
	return found;
}
