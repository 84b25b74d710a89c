/** The whole service with a real S3 server as its object store: uploads, loads, receipts, history. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { superstorePath } from "../e2e/superstore.ts";
import { call, cliJson, createWorld, query, type World } from "../e2e/world.ts";
import { type S3Server, startSeaweedfs } from "./servers/seaweedfs.ts";

const rows = 9_994;

let server: S3Server;
let world: World;
beforeAll(async () => {
	server = await startSeaweedfs();
	world = await createWorld({
		...server.env,
		DUCKDOCK_STORE: `s3://${server.bucket}/staging`,
	});
	await world.start();
});
afterAll(async () => {
	await world?.end();
	await server?.stop();
});

it("loads a request's body through the bucket, once for each key", async () => {
	const body = readFileSync(superstorePath);
	const headers = { "Idempotency-Key": "one", "Content-Type": "application/octet-stream" };
	const first = await call(world, "POST", "/v1/ingest/sales", { body, headers });
	expect(first.json).toMatchObject({ status: "committed", rows_inserted: rows });
	const again = await call(world, "POST", "/v1/ingest/sales", { body, headers });
	expect(again.headers.get("Idempotency-Replayed")).toBe("true");
	expect(again.json).toEqual(first.json);
});

it("takes the parts of a push, loads them and tells of them in the history", async () => {
	const pushed = await cliJson(
		["push", superstorePath, "--table", "raw.sales", "--part-size", "300000", "--parallel", "4"],
		{ env: world.env },
	);
	expect(pushed).toMatchObject({ code: 0, json: { status: "committed", rows_inserted: rows } });
	expect(pushed.json.parts).toBeGreaterThan(3);
	const history = await cliJson(["history", "--table", "raw.sales"], { env: world.env });
	expect(history.json).toHaveLength(1);
});

it("passes the doctor's laws of the store", async () => {
	const doctor = await cliJson(["doctor"], { env: world.env });
	expect(doctor.json).toMatchObject({ ok: true });
});

it("finishes after a kill what was staged before it", async () => {
	const body = readFileSync(superstorePath);
	const headers = { Prefer: "respond-async", "Content-Type": "application/octet-stream" };
	const taken = await call(world, "POST", "/v1/ingest/later", { body, headers });
	expect(taken.status).toBe(202);
	await world.kill();
	await world.start();
	const location = taken.headers.get("Location")!;
	let receipt = await call(world, "GET", location);
	for (let round = 0; round < 200 && receipt.json.status !== "committed"; round++) {
		await new Promise((wake) => setTimeout(wake, 200));
		receipt = await call(world, "GET", location);
	}
	expect(receipt.json).toMatchObject({ status: "committed", rows_inserted: rows });
	await world.stop();
	const database = join(world.folder, "db/acme.duckdb");
	expect(await query(database, "SELECT count(*)::INT FROM later")).toEqual([[rows]]);
	expect(await query(database, "SELECT count(*)::INT FROM raw.sales")).toEqual([[rows]]);
});
