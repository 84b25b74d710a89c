/** Uploads that are interrupted and go on by the draft of resumable uploads: real sales data, real processes, rows read by another one. */
import { type ClientRequest, request } from "node:http";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { superstore, superstoreBytes } from "./superstore.ts";
import { call, createWorld, type Json, query, type World } from "./world.ts";

const bytes = superstoreBytes();
const total = bytes.length;

let world: World;
beforeAll(async () => {
	world = await createWorld({ DUCKDOCK_PART_BYTES: "128KiB" });
	await world.start();
});
afterAll(() => world.end());

async function begin(table: string): Promise<string> {
	const { status, headers } = await call(world, "POST", `/v1/ingest/${table}`, {
		headers: { "Upload-Complete": "?0", "Upload-Length": String(total) },
	});
	expect(status).toBe(201);
	return headers.get("location")!;
}

const appendHeaders = (offset: number) => ({
	"Content-Type": "application/partial-upload",
	"Upload-Offset": String(offset),
	"Upload-Complete": "?1",
});

async function offsetOf(upload: string): Promise<number> {
	const { headers } = await call(world, "HEAD", upload);
	expect(headers.get("upload-complete")).toBe("?0");
	expect(headers.get("upload-length")).toBe(String(total));
	return Number(headers.get("upload-offset"));
}

const append = (upload: string, offset: number) =>
	call(world, "PATCH", upload, { headers: appendHeaders(offset), body: bytes.subarray(offset) });

/** An append of everything that stands still after `sent` bytes. */
function hangingAppend(upload: string, sent: number): ClientRequest {
	const hanging = request(world.url + upload, {
		method: "PATCH",
		headers: {
			...appendHeaders(0),
			Authorization: `Bearer ${world.key}`,
			"Content-Length": total,
		},
	});
	hanging.on("error", () => {});
	hanging.write(bytes.subarray(0, sent));
	return hanging;
}

/** Asks without disturbing the append that runs. */
async function durable(upload: string, atLeast: number): Promise<void> {
	for (;;) {
		const { json } = await call(world, "GET", upload);
		if (json.offset >= atLeast) return;
		await new Promise((resolve) => setTimeout(resolve, 20));
	}
}

async function expectRows(table: string, { json, status }: { json: Json; status: number }) {
	expect([status, json.status, json.rows_inserted]).toEqual([200, "committed", superstore.rows]);
	const [row] = await query(
		world.database,
		`SELECT count(*)::INT, count(DISTINCT columns_hash)::INT > 9000
		 FROM (SELECT hash(t) AS columns_hash FROM ${table} t)`,
	);
	expect(row).toEqual([superstore.rows, true]);
}

describe("an upload that is interrupted", () => {
	it("by its client goes on with what had come", async () => {
		const upload = await begin("cut_by_client");
		const hanging = hangingAppend(upload, 700_000);
		await durable(upload, 3 * 128 * 1024);
		hanging.destroy();
		const offset = await offsetOf(upload);
		expect(offset).toBeGreaterThanOrEqual(3 * 128 * 1024);
		expect(offset).toBeLessThanOrEqual(700_000);
		await expectRows("cut_by_client", await append(upload, offset));
	});

	it("whose client is silent goes on at once for who asks again", async () => {
		const upload = await begin("silent_client");
		const hanging = hangingAppend(upload, 700_000);
		await durable(upload, 3 * 128 * 1024);
		const offset = await offsetOf(upload);
		expect(offset).toBeGreaterThanOrEqual(3 * 128 * 1024);
		expect(offset).toBeLessThanOrEqual(700_000);
		await expectRows("silent_client", await append(upload, offset));
		hanging.destroy();
	});

	it("by the death of the service goes on with the parts that were durable", async () => {
		const upload = await begin("killed_service");
		const hanging = hangingAppend(upload, 900_000);
		await durable(upload, 3 * 128 * 1024);
		await world.kill();
		hanging.destroy();
		await world.start();
		const offset = await offsetOf(upload);
		expect(offset).toBeGreaterThanOrEqual(3 * 128 * 1024);
		expect(offset).toBeLessThanOrEqual(900_000);
		await expectRows("killed_service", await append(upload, offset));
	});

	it("after its last byte tells by HEAD that it is a load, whose receipt is there", async () => {
		const upload = await begin("lost_answer");
		const last = request(world.url + upload, {
			method: "PATCH",
			headers: { ...appendHeaders(0), Authorization: `Bearer ${world.key}` },
		});
		last.on("error", () => {});
		last.end(bytes, () => setTimeout(() => last.destroy(), 50));
		let answer = await call(world, "HEAD", upload);
		while (answer.headers.get("upload-complete") === "?0") {
			// Refused where the first one has come further meanwhile.
			await append(upload, Number(answer.headers.get("upload-offset")));
			answer = await call(world, "HEAD", upload);
		}
		expect(answer.headers.get("upload-complete")).toBe("?1");
		const load = answer.headers.get("content-location")!;
		let receipt = (await call(world, "GET", load)).json;
		while (receipt.status !== "committed") {
			await new Promise((resolve) => setTimeout(resolve, 50));
			receipt = (await call(world, "GET", load)).json;
		}
		await expectRows("lost_answer", { status: 200, json: receipt });
	});
});
