/** From a script through workerd, R2 and the Queue to rows in DuckDB, with what goes wrong on the way. */
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { Receipt } from "../../src/flow.ts";
import { arrowNumbers } from "../contract/arrow-bytes.ts";
import { query } from "../e2e/world.ts";
import { startWorkerService, type WorkerService } from "./worker-service.ts";
import { watchWhile, workerdOf } from "./workerd-process.ts";

let service: WorkerService;
let key: string;
beforeAll(async () => {
	service = await startWorkerService();
	key = await service.makeKey({ tenant: "acme" });
});
afterAll(() => service?.stop());

const ask = (path: string, init: RequestInit = {}) =>
	fetch(service.url + path, {
		...init,
		headers: { Authorization: `Bearer ${key}`, ...init.headers },
	});
const json = (value: object) => new TextEncoder().encode(JSON.stringify(value));

async function open(table: string): Promise<string> {
	const answer = await ask("/v1/uploads", { method: "POST", body: json({ table }) });
	return ((await answer.json()) as { upload_id: string }).upload_id;
}
const put = (id: string, n: number, body: Uint8Array<ArrayBuffer>) =>
	ask(`/v1/uploads/${id}/parts/${n}`, { method: "PUT", body });
const complete = (id: string, parts: number) =>
	ask(`/v1/uploads/${id}/complete`, {
		method: "POST",
		body: json({ parts }),
		headers: { Prefer: "wait=60" },
	});

test("parts lost, doubled and late are one load of all rows", async () => {
	const bytes = arrowNumbers(50_000);
	const cuts = [0, 1, 60_000, 100_000, 150_000, bytes.length];
	const parts = cuts.slice(1).map((end, at) => bytes.slice(cuts[at], end));
	const id = await open("events");
	// 3 is lost; 2 comes twice at once, 5 before 4, and 1 with other bytes first.
	expect((await put(id, 1, new Uint8Array([1]))).status).toBe(204);
	const twice = await Promise.all([put(id, 2, parts[1]!), put(id, 2, parts[1]!)]);
	expect(twice.map(({ status }) => status)).toEqual([204, 204]);
	await put(id, 5, parts[4]!);
	await put(id, 4, parts[3]!);
	const early = await complete(id, 5);
	expect(await early.json()).toMatchObject({ code: "missing_parts", parts: [3] });
	await put(id, 3, parts[2]!);
	await put(id, 1, parts[0]!);
	const done = await complete(id, 5);
	expect(done.status).toBe(200);
	expect(await done.json()).toMatchObject({ rows_inserted: 50_000, parts: 5 });
	expect((await put(id, 1, parts[0]!)).status).toBe(409);
	const rows = await query(
		join(service.folder, "acme.duckdb"),
		"SELECT count(*)::INT, count(DISTINCT id)::INT, min(id), max(id) FROM events",
	);
	expect(rows).toEqual([[50_000, 50_000, 0, 49_999]]);
});

test("a job that is delivered five times is one load", async () => {
	const receipt = (await (
		await ask("/v1/ingest/once", { method: "POST", body: arrowNumbers(10) })
	).json()) as Receipt;
	const job = { tenant: "acme", upload_id: receipt.load_id };
	const event = {
		account: "a",
		action: "PutObject",
		bucket: "b",
		object: { key: `uploads/acme/${receipt.load_id}/manifest.json`, size: 1, eTag: "e" },
		eventTime: new Date().toISOString(),
	};
	const results = await service.deliver([job, job, event, job, { nonsense: true }]);
	expect(results.retryMessages).toEqual([]);
	expect(results.explicitAcks).toHaveLength(5);
	const rows = await query(join(service.folder, "acme.duckdb"), "SELECT count(*)::INT FROM once");
	expect(rows).toEqual([[10]]);
	const again = (await (await ask(`/v1/loads/${receipt.load_id}`)).json()) as Receipt;
	expect(again).toEqual(receipt);
});

test("who has not the secret gets nothing loaded", async () => {
	const forged = await fetch(`${service.loaderUrl}/v1/replay`, {
		method: "POST",
		headers: { "X-Duckdock-Signature": `t=${Math.floor(Date.now() / 1000)},v1=${"0".repeat(64)}` },
		body: JSON.stringify({ tenant: "acme", upload_id: "01ARZ3NDEKTSV4RRFFQ69G5FAV" }),
	});
	expect(forged.status).toBe(401);
	const unsigned = await fetch(`${service.loaderUrl}/v1/replay`, { method: "POST", body: "{}" });
	expect(unsigned.status).toBe(401);
});

test("the Workers' logs hold no key", () => {
	const secret = key.split("_")[2]!;
	expect(service.logs()).not.toContain(secret);
	expect(service.logs()).toContain('\\"message\\":\\"request\\"');
});

test("workerd holds a bounded part of what passes through it", async () => {
	const pid = workerdOf(process.pid);
	const big = await startWorkerService({
		vars: {
			DUCKDOCK_PART_BYTES: String(8 * 2 ** 20),
			DUCKDOCK_MAX_PART_BYTES: String(95 * 2 ** 20),
			DUCKDOCK_MAX_PARTS: "1000",
			DUCKDOCK_MAX_UPLOAD_BYTES: String(2 ** 32),
		},
	});
	try {
		const own = await big.makeKey({ tenant: "acme" });
		const workerd = workerdOf(process.pid, pid)!;
		const headers = { Authorization: `Bearer ${own}` };
		const peakAfter = async (parts: number) => {
			const opened = await fetch(`${big.url}/v1/uploads`, {
				method: "POST",
				headers,
				body: json({ table: "big" }),
			});
			const { upload_id } = (await opened.json()) as { upload_id: string };
			// Its first bytes are Arrow.
			const part = new Uint8Array(32 * 2 ** 20);
			part.set(arrowNumbers(10));
			const { resident } = await watchWhile(workerd, async () => {
				for (let n = 1; n <= parts; n++) {
					const answer = await fetch(`${big.url}/v1/uploads/${upload_id}/parts/${n}`, {
						method: "PUT",
						headers,
						body: part,
					});
					expect(answer.status).toBe(204);
				}
			});
			return resident;
		};
		await peakAfter(6);
		const small = await peakAfter(4);
		const large = await peakAfter(16);
		const MiB = 2 ** 20;
		console.log(
			`workerd's peak: ${(small / MiB).toFixed(0)} MiB over 128 MiB, ${(large / MiB).toFixed(0)} MiB over 512 MiB`,
		);
		expect(large - small).toBeLessThan(64 * MiB);
	} finally {
		await big.stop();
	}
}, 600_000);
