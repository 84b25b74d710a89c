/** What the logs of a whole run say, service and loader, and what they never do. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { parseKeyToken } from "../../src/tenant/key-token.ts";
import { arrowNumbers } from "../contract/arrow-bytes.ts";
import { createWorld, type Json, type World } from "./world.ts";

const traceparent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
const idempotencyKey = "idem-secret-81923";
let world: World;

beforeAll(async () => {
	world = await createWorld({ DUCKDOCK_LOG: "debug" });
	await world.start();
});
afterAll(() => world?.end());

const ask = (path: string, init: RequestInit = {}) =>
	fetch(world.url + path, {
		...init,
		headers: { Authorization: `Bearer ${world.key}`, ...init.headers },
	});

const lines = () =>
	world
		.log()
		.split("\n")
		.filter((line) => line.startsWith("{"));
const said = () => lines().map((line) => JSON.parse(line) as Json);

test("each decision is one line: who, what, how it ended, under which request id", async () => {
	const headers = { "X-Request-Id": "audit-1", "Idempotency-Key": idempotencyKey, traceparent };
	const loaded = await ask("/v1/ingest/t", { method: "POST", body: arrowNumbers(), headers });
	const { load_id } = (await loaded.json()) as Json;
	await ask("/v1/ingest/_duckdock.t", {
		method: "POST",
		body: arrowNumbers(),
		headers: { "X-Request-Id": "audit-2" },
	});
	await fetch(`${world.url}/v1/loads`, { headers: { "X-Request-Id": "audit-3" } });
	const key_id = parseKeyToken(world.key)!.keyId;
	const of = (id: string) =>
		said().filter((line) => line.request_id === id && line.message === "request");
	await expect.poll(() => of("audit-3")).toHaveLength(1);
	expect(of("audit-1")).toHaveLength(1);
	expect(of("audit-1")[0]).toMatchObject({
		route: "ingest",
		method: "POST",
		tenant: "acme",
		key_id,
		outcome: "ok",
		status: 200,
		load_id,
	});
	expect(of("audit-2")).toMatchObject([{ outcome: "forbidden_table", status: 403, key_id }]);
	expect(of("audit-3")).toMatchObject([{ outcome: "unauthenticated", status: 401, tenant: null }]);
	const loader = said().filter((line) => line.process === "loader" && line.load_id === load_id);
	expect(loader).toContainEqual(expect.objectContaining({ request_id: "audit-1" }));
});

test("the request's id and trace are staged with the load", () => {
	const manifests = filesUnder(join(world.folder, "objects"))
		.map((path) => readFileSync(path, "latin1"))
		.filter((text) => text.includes('"request_id":"audit-1"'));
	expect(manifests.some((text) => text.includes(traceparent))).toBe(true);
});

test("no log line and no stored object holds a key's secret, no line an Idempotency-Key", async () => {
	// Also what fails, and what is asked for with a secret in the wrong place.
	const { secret } = parseKeyToken(world.key)!;
	await fetch(`${world.url}/v1/loads?key=${world.key}`, {
		headers: { Authorization: `Basic ${world.key}` },
	});
	await ask("/v1/uploads", { method: "POST", body: `{"table":"x","key":"${world.key}"}` });
	await ask("/v1/ingest/t", {
		method: "POST",
		body: new TextEncoder().encode("no Arrow at all, but some bytes"),
		headers: { "Idempotency-Key": `${idempotencyKey}-2` },
	});
	expect(said().some((line) => line.process === "loader")).toBe(true);
	expect(world.log()).not.toContain(secret);
	expect(world.log()).not.toContain(idempotencyKey);
	const stored = filesUnder(join(world.folder, "objects"));
	expect(stored.length).toBeGreaterThan(5);
	for (const path of stored) expect(readFileSync(path, "latin1")).not.toContain(secret);
});

function filesUnder(folder: string): string[] {
	return readdirSync(folder, { recursive: true, withFileTypes: true })
		.filter((entry) => entry.isFile())
		.map((entry) => join(entry.parentPath, entry.name));
}
