/** Parts that go straight into a real S3 server by the URLs that the service hands out. */
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { afterAll, beforeAll, expect, it } from "vitest";
import { superstorePath } from "../e2e/superstore.ts";
import { call, cliJson, createWorld, type Json, type World } from "../e2e/world.ts";
import { type S3Server, startSeaweedfs } from "./servers/seaweedfs.ts";

const rows = 9_994;
let server: S3Server;
let world: World;
beforeAll(async () => {
	server = await startSeaweedfs();
	world = await createWorld({
		...server.env,
		DUCKDOCK_STORE: `s3://${server.bucket}/staging`,
		DUCKDOCK_DIRECT_PARTS: "1",
	});
	await world.start();
});
afterAll(async () => {
	await world?.end();
	await server?.stop();
});

const sha256 = (bytes: Uint8Array) => createHash("sha256").update(bytes).digest("hex");
const post = (path: string, body: object, headers = {}) =>
	call(world, "POST", path, {
		body: new TextEncoder().encode(JSON.stringify(body)),
		headers: { "Content-Type": "application/json", ...headers },
	});

async function open(table: string): Promise<string> {
	const opened = await post("/v1/uploads", { table });
	expect(opened.json.parts).toBe("direct");
	return opened.json.upload_id;
}

async function urlsOf(id: string, parts: { n: number; bytes: Uint8Array }[]) {
	const wanted = parts.map(({ n, bytes }) => ({ n, size: bytes.length, sha256: sha256(bytes) }));
	const answer = await post(`/v1/uploads/${id}/parts`, { parts: wanted });
	expect(answer.status).toBe(200);
	return answer.json.urls as { n: number; url: string; headers: Record<string, string> }[];
}

const put = (url: { url: string; headers: Record<string, string> }, bytes: Uint8Array) =>
	fetch(url.url, { method: "PUT", headers: url.headers, body: bytes as BodyInit });

it("are one load, in any order and sent again", async () => {
	const bytes = new Uint8Array(readFileSync(superstorePath));
	const middle = Math.floor(bytes.length / 2);
	const parts = [
		{ n: 1, bytes: bytes.slice(0, middle) },
		{ n: 2, bytes: bytes.slice(middle) },
	];
	const id = await open("sales");
	const [one, two] = await urlsOf(id, parts);
	expect((await put(two!, parts[1]!.bytes)).status).toBe(200);
	expect((await put(one!, parts[0]!.bytes)).status).toBe(200);
	const [again] = await urlsOf(id, [parts[1]!]);
	expect((await put(again!, parts[1]!.bytes)).status).toBe(200);
	const state = (await call(world, "GET", `/v1/uploads/${id}`)).json;
	expect(state.parts).toEqual(
		parts.map(({ n, bytes: part }) => ({ n, size: part.length, sha256: sha256(part) })),
	);
	const done = await post(`/v1/uploads/${id}/complete`, { parts: 2 }, { Prefer: "wait=60" });
	expect(done.json).toMatchObject({ status: "committed", rows_inserted: rows, parts: 2 });
	expect((await post(`/v1/uploads/${id}/parts`, { parts: [part(1)] })).json.code).toBe(
		"upload_completed",
	);
});

it("take the command line's push", async () => {
	const pushed = await cliJson(
		["push", superstorePath, "--table", "pushed", "--part-size", "300000", "--parallel", "3"],
		{ env: world.env },
	);
	expect(pushed).toMatchObject({ code: 0, json: { status: "committed", rows_inserted: rows } });
});

it("with other bytes than were announced load nothing", async () => {
	const bytes = new Uint8Array(readFileSync(superstorePath));
	const id = await open("other");
	const [url] = await urlsOf(id, [{ n: 1, bytes }]);
	const wrong = bytes.slice();
	wrong[wrong.length - 9]! ^= 1;
	const stored = await put(url!, wrong);
	const done = await post(`/v1/uploads/${id}/complete`, { parts: 1 }, { Prefer: "wait=60" });
	// A server that checks has nothing; where it doesn't, the loader does.
	expect(done.json.code).toBe(stored.ok ? "digest_mismatch" : "missing_parts");
	expect((await call(world, "GET", "/v1/tables/other")).status).toBe(404);
});

it("are refused when they are too large, none, or too many", async () => {
	const id = await open("refused");
	const code = async (parts: Json[]) =>
		(await post(`/v1/uploads/${id}/parts`, { parts })).json.code;
	expect(await code([part(1, 96 * 2 ** 20)])).toBe("too_large");
	expect(await code([part(0)])).toBe("bad_request");
	expect(await code([part(10_001)])).toBe("bad_request");
	expect(await code([part(1), part(1)])).toBe("bad_request");
	expect(await code(Array.from({ length: 1_001 }, (_, at) => part(at + 1)))).toBe("bad_request");
});

const part = (n: number, size = 1) => ({ n, size, sha256: "0".repeat(64) });
