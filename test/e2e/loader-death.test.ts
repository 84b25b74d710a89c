/** The loader dies, the service dies, answers are lost: nothing is, and nothing is doubled. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { tableFromArrays, tableToIPC } from "apache-arrow";
import { afterAll, afterEach, beforeEach, describe, expect, it } from "vitest";
import { type Service, startService } from "../../functions/all.node.ts";
import { systemClock } from "../../src/clock.ts";
import { readConfig } from "../../src/config.ts";
import { createLog } from "../../src/log.ts";
import { createFsStore } from "../../src/stage/stores/fs-store.ts";
import { createKey } from "../../src/tenant/keys.ts";
import { arrowNumbers } from "../contract/arrow-bytes.ts";
import { type Json, query } from "./world.ts";

const folders: string[] = [];
let folder: string;
let service: Service;
let key: string;
let log: string;

const config = (more: Record<string, string> = {}) =>
	readConfig({
		DUCKDOCK_STORE: `file:${join(folder, "objects")}`,
		DUCKDOCK_TARGET: join(folder, "db/{tenant}.duckdb"),
		DUCKDOCK_LISTEN: "127.0.0.1:0",
		...more,
	});
const start = async () => {
	service = await startService(config(), {
		log: createLog("info", (line) => {
			log += `${line}\n`;
		}),
		sweepEveryMs: 500,
	});
};

beforeEach(async () => {
	folder = mkdtempSync(join(tmpdir(), "duckdock-death-"));
	folders.push(folder);
	log = "";
	const store = await createFsStore({ folder: join(folder, "objects") });
	const rights = ["append", "create", "replace", "read"] as const;
	key = (await createKey(store, systemClock, { tenant: "acme", rights })).key;
	await start();
});
afterEach(() => service.close());
afterAll(() => {
	for (const one of folders) rmSync(one, { recursive: true, force: true });
});

async function call(
	method: string,
	path: string,
	body: Uint8Array<ArrayBuffer> | string | null = null,
	headers: Record<string, string> = {},
): Promise<{ status: number; headers: Headers; json: Json }> {
	const response = await fetch(service.url + path, {
		method,
		body,
		headers: {
			Authorization: `Bearer ${key}`,
			...(typeof body === "string" ? { "Content-Type": "application/json" } : {}),
			...headers,
		},
	});
	const text = await response.text();
	return {
		status: response.status,
		headers: response.headers,
		json: text === "" ? null : JSON.parse(text),
	};
}

const rows = async (table: string) =>
	(await query(join(folder, "db/acme.duckdb"), `SELECT count(*)::INT FROM "${table}"`))[0]![0];

/** Some seconds of work for the loader. */
function largeStream(): Uint8Array<ArrayBuffer> {
	const count = 2_000_000;
	const table = tableFromArrays({
		id: Int32Array.from({ length: count }, (_, at) => at),
		x: Float64Array.from({ length: count }, (_, at) => at * 1.5),
		y: Float64Array.from({ length: count }, (_, at) => at * 2.5),
	});
	return new Uint8Array(tableToIPC(table, "stream"));
}

async function until(holds: () => boolean | Promise<boolean>, what: string): Promise<void> {
	for (const deadline = Date.now() + 60_000; !(await holds()); ) {
		if (Date.now() > deadline) throw new Error(`not in time: ${what}`);
		await new Promise((next) => setTimeout(next, 10));
	}
}

const isLoading = async (id: string) =>
	(await call("GET", `/v1/loads/${id}`)).json.status === "loading";

describe("a loader that is killed in the middle of a load", () => {
	it("is started again, and who waits gets the receipt of one load", async () => {
		const first = await call("POST", "/v1/ingest/big", arrowNumbers(1), {});
		expect(first.status).toBe(200);
		const answer = call("POST", "/v1/ingest/large", largeStream(), { Prefer: "respond-async" });
		const { load_id: id } = (await answer).json;
		await until(() => isLoading(id), "the load is running");
		const killed = service.loaderPid()!;
		process.kill(killed, "SIGKILL");
		// HTTP goes on as if nothing had happened.
		expect((await call("GET", "/healthz")).status).toBe(200);
		const small = await call("POST", "/v1/ingest/small", arrowNumbers(5));
		expect(small.status, JSON.stringify(small.json)).toBe(200);
		await until(
			async () => (await call("GET", `/v1/loads/${id}`)).json.status === "committed",
			"the load is committed",
		);
		expect(service.loaderPid()).not.toBe(killed);
		expect(log).toContain("the loader died and is started again");
		await service.close();
		expect(await rows("large")).toBe(2_000_000);
		expect(await rows("small")).toBe(5);
	});

	it("twice by one load marks that load failed and goes on with the next; replay runs it again", async () => {
		const staged = await call("POST", "/v1/ingest/large", largeStream(), {
			Prefer: "respond-async",
		});
		const { load_id: id } = staged.json;
		// A kill counts when the bytes were being read; the supervisor says so.
		const deaths = () =>
			log.split("\n").filter((line) => line.includes("died") && line.includes(`"open":["${id}"]`))
				.length;
		while (deaths() < 2) {
			await until(() => isLoading(id), "the load is running");
			await new Promise((next) => setTimeout(next, 100));
			const killed = service.loaderPid();
			if (killed === undefined) continue;
			process.kill(killed, "SIGKILL");
			await until(() => service.loaderPid() !== killed, "the loader's death is seen");
		}
		await until(
			async () => (await call("GET", `/v1/loads/${id}`)).json.status === "failed",
			"the load has failed",
		);
		const { json } = await call("GET", `/v1/loads/${id}`);
		expect(json.error).toMatchObject({ code: "internal", retryable: true });
		expect(json.error.detail).toContain("died 2 times");
		const next = await call("POST", "/v1/ingest/small", arrowNumbers(5));
		expect(next.status, JSON.stringify(next.json)).toBe(200);
		const replay = await call("POST", `/v1/loads/${id}/replay`);
		expect([200, 202]).toContain(replay.status);
		await until(
			async () => (await call("GET", `/v1/loads/${id}`)).json.status === "committed",
			"the replayed load is committed",
		);
		await service.close();
		expect(await rows("large")).toBe(2_000_000);
	});
});

describe("an answer that was lost", () => {
	it("is given again, a thousand times and after a restart, and no row is there twice", async () => {
		const bytes = arrowNumbers(3);
		const ask = () => call("POST", "/v1/ingest/events", bytes, { "Idempotency-Key": "order-7" });
		const first = await ask();
		expect(first.status).toBe(200);
		expect(first.headers.get("Idempotency-Replayed")).toBeNull();
		for (let round = 0; round < 100; round++) {
			if (round === 50) {
				await service.close();
				await start();
			}
			for (const again of await Promise.all(Array.from({ length: 10 }, ask))) {
				expect(again.status).toBe(200);
				expect(again.headers.get("Idempotency-Replayed")).toBe("true");
				expect(again.json).toEqual(first.json);
			}
		}
		await service.close();
		expect(await rows("events")).toBe(3);
	}, 120_000);

	it("of a load that was staged before everything was killed is found after the restart", async () => {
		const staged = await call("POST", "/v1/ingest/large", largeStream(), {
			Prefer: "respond-async",
			"Idempotency-Key": "large",
		});
		expect(staged.status).toBe(202);
		const { load_id: id } = staged.json;
		await until(() => isLoading(id), "the load is running");
		process.kill(service.loaderPid()!, "SIGKILL");
		await service.close();
		await start();
		await until(
			async () => (await call("GET", `/v1/loads/${id}`)).json.status === "committed",
			"the load is committed",
		);
		await service.close();
		expect(await rows("large")).toBe(2_000_000);
	});
});

describe("what is there of an upload", () => {
	it("never becomes less while parts are sent", async () => {
		const { json } = await call("POST", "/v1/uploads", JSON.stringify({ table: "events" }));
		const path = `/v1/uploads/${json.upload_id}`;
		let sending = true;
		const seen: number[] = [];
		const watching = (async () => {
			while (sending) seen.push((await call("GET", path)).json.parts.length);
		})().catch(() => {});
		const stream = arrowNumbers(10);
		for (let n = 1; n <= 40; n++) {
			const put = await call("PUT", `${path}/parts/${n}`, stream.slice(n - 1, n));
			expect(put.status, JSON.stringify(put.json)).toBe(204);
			if (n % 7 === 0) await call("PUT", `${path}/parts/${n}`, stream.slice(n - 1, n));
			expect((await call("GET", path)).json.parts).toHaveLength(n);
		}
		sending = false;
		await watching;
		expect(seen).toEqual([...seen].sort((a, b) => a - b));
	});
});

describe("a service that is told to stop", () => {
	it("answers who waits with 202, lets the loader end what it runs, and starts again with the rest", async () => {
		const large = call("POST", "/v1/ingest/large", largeStream());
		await until(async () => {
			const { json } = await call("GET", "/v1/loads?limit=1");
			return json !== null && log.includes("listening") && (await anyLease());
		}, "the load is running");
		await service.close();
		const answer = await large;
		expect([200, 202]).toContain(answer.status);
		await start();
		await until(async () => {
			const id = answer.json.load_id;
			return (await call("GET", `/v1/loads/${id}`)).json.status === "committed";
		}, "the load is committed");
		await service.close();
		expect(await rows("large")).toBe(2_000_000);
	});
});

async function anyLease(): Promise<boolean> {
	const store = await createFsStore({ folder: join(folder, "objects") });
	for await (const { key: name } of store.list("uploads/"))
		if (name.includes("/lease/")) return true;
	return false;
}
