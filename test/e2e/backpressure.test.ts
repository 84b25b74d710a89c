/** A slow client, a slow store and a slow target: who waits is told so, and nothing grows without bound. */
import { mkdtempSync, rmSync } from "node:fs";
import { request } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { afterEach, describe, expect, it } from "vitest";
import { type Service, type ServiceOptions, startService } from "../../functions/all.node.ts";
import { systemClock } from "../../src/clock.ts";
import { readConfig } from "../../src/config.ts";
import { silentLog } from "../../src/log.ts";
import { createFsStore } from "../../src/stage/stores/fs-store.ts";
import { createKey } from "../../src/tenant/keys.ts";
import { arrowNumbers } from "../contract/arrow-bytes.ts";

let folder: string;
let service: Service;
let key: string;

async function start(options: Partial<ServiceOptions> = {}, env: Record<string, string> = {}) {
	folder = mkdtempSync(join(tmpdir(), "duckdock-pressure-"));
	const store = await createFsStore({ folder: join(folder, "objects") });
	key = (await createKey(store, systemClock, { tenant: "acme" })).key;
	const config = readConfig({
		DUCKDOCK_STORE: `file:${join(folder, "objects")}`,
		DUCKDOCK_TARGET: join(folder, "db/{tenant}.duckdb"),
		DUCKDOCK_LISTEN: "127.0.0.1:0",
		...env,
	});
	service = await startService(config, { log: silentLog, ...options });
	while ((await fetch(`${service.url}/readyz`)).status !== 200) {
		await new Promise((next) => setTimeout(next, 50));
	}
}
afterEach(async () => {
	await service.close();
	rmSync(folder, { recursive: true, force: true });
});

const ingest = (table: string, body: BodyInit, headers: Record<string, string> = {}) =>
	fetch(`${service.url}/v1/ingest/${table}`, {
		method: "POST",
		body,
		headers: { Authorization: `Bearer ${key}`, ...headers },
		...(body instanceof ReadableStream ? { duplex: "half" } : {}),
	} as RequestInit);

const statusOf = async (id: string) => {
	const answer = await fetch(`${service.url}/v1/loads/${id}`, {
		headers: { Authorization: `Bearer ${key}` },
	});
	return ((await answer.json()) as { status: string }).status;
};

describe("a target that is slow", () => {
	it("makes the queue full: 429 busy with a time to wait, before a body is read, and what was taken is loaded", async () => {
		await start({ queueCapacity: 3 });
		expect((await ingest("events", arrowNumbers(1))).status).toBe(200);
		const loader = service.loaderPid()!;
		process.kill(loader, "SIGSTOP");
		const taken: string[] = [];
		try {
			for (let n = 0; n < 3; n++) {
				const answer = await ingest("events", arrowNumbers(1), { Prefer: "respond-async" });
				expect(answer.status).toBe(202);
				taken.push(((await answer.json()) as { load_id: string }).load_id);
			}
			// A body that would never end: it is refused without being read.
			const endless = new ReadableStream({ pull: (to) => to.enqueue(new Uint8Array(65_536)) });
			const refused = await ingest("events", endless);
			expect(refused.status).toBe(429);
			expect(Number(refused.headers.get("Retry-After"))).toBeGreaterThan(0);
			expect(await refused.json()).toMatchObject({ code: "busy", retryable: true });
		} finally {
			process.kill(loader, "SIGCONT");
		}
		for (const id of taken) {
			await expect.poll(() => statusOf(id), { timeout: 30_000 }).toBe("committed");
		}
		expect((await ingest("events", arrowNumbers(1))).status).toBe(200);
	});
});

describe("a store that is slow", () => {
	it("slows the caller down and holds little of the body in memory", async () => {
		let passed = 0;
		await start(
			{
				aroundStore: (store) => ({
					...store,
					put(name, body, options) {
						if (!name.includes("/parts/") || body instanceof Uint8Array) {
							return store.put(name, body, options);
						}
						const slow = new TransformStream<Uint8Array, Uint8Array>(
							{
								async transform(chunk, to) {
									passed += chunk.length;
									await new Promise((next) => setTimeout(next, 2));
									to.enqueue(chunk);
								},
							},
							{ highWaterMark: 1 },
							{ highWaterMark: 0 },
						);
						return store.put(name, body.pipeThrough(slow), options);
					},
				}),
			},
			{ DUCKDOCK_PART_BYTES: "8MiB" },
		);
		const total = 64 * 1024 * 1024;
		let sent = 0;
		let furthestAhead = 0;
		const { hostname, port } = new URL(service.url);
		const status = await new Promise<number>((resolve, reject) => {
			const call = request(
				{
					hostname,
					port,
					path: "/v1/ingest/slow",
					method: "POST",
					headers: { Authorization: `Bearer ${key}`, "Content-Length": total },
				},
				(answer) => answer.resume().on("end", () => resolve(answer.statusCode!)),
			);
			call.on("error", reject);
			const head = arrowNumbers(1);
			const pump = () => {
				while (sent < total) {
					const chunk = new Uint8Array(Math.min(65_536, total - sent));
					if (sent === 0) chunk.set(head);
					sent += chunk.length;
					furthestAhead = Math.max(furthestAhead, sent - passed);
					if (!call.write(chunk)) {
						call.once("drain", pump);
						return;
					}
				}
				call.end();
			};
			pump();
		});
		// The bytes after the stream are no Arrow: staged whole, then refused by the loader.
		expect([200, 400, 422]).toContain(status);
		expect(passed).toBe(total);
		expect(furthestAhead).toBeLessThan(16 * 1024 * 1024);
	}, 120_000);
});

describe("a client that is slow", () => {
	it("is waited for while others are served", async () => {
		await start();
		const bytes = arrowNumbers(100);
		let at = 0;
		const slow = ingest(
			"slow",
			new ReadableStream({
				async pull(to) {
					await new Promise((next) => setTimeout(next, 20));
					if (at >= bytes.length) return to.close();
					to.enqueue(bytes.subarray(at, at + 16));
					at += 16;
				},
			}),
		);
		const started = performance.now();
		for (let n = 0; n < 5; n++) expect((await ingest("fast", arrowNumbers(3))).status).toBe(200);
		const others = performance.now() - started;
		const answer = await slow;
		expect(answer.status).toBe(200);
		expect(await answer.json()).toMatchObject({ rows_inserted: 100 });
		expect(others).toBeLessThan(30_000);
	}, 120_000);
});
