/** Limits of tenants on the whole service: counted by the loader in the ledger, told to who asks too much. */
import { afterEach, describe, expect, test } from "vitest";
import type { Environment } from "../../src/config.ts";
import type { Receipt } from "../../src/flow.ts";
import { readUsage } from "../../src/tenant/usage.ts";
import { arrowNumbers } from "./arrow-bytes.ts";
import { type NodeService, startNodeService } from "./node-service.ts";

let service: NodeService | null = null;
afterEach(async () => {
	await service?.stop();
	service = null;
});

async function start(environment: Environment) {
	service = await startNodeService({ environment });
	return askerOf(service);
}

async function askerOf({ url, makeKey }: NodeService) {
	const keys = new Map<string, string>();
	for (const tenant of ["acme", "quiet"]) keys.set(tenant, await makeKey({ tenant }));
	return (tenant: string, path: string, init: RequestInit = {}) =>
		fetch(url + path, {
			...init,
			headers: { Authorization: `Bearer ${keys.get(tenant)}`, ...init.headers },
		});
}

const load = (rows: number, headers: Record<string, string> = {}) => ({
	method: "POST",
	body: arrowNumbers(rows),
	headers,
});

async function refusal(answer: Response) {
	const { code } = (await answer.json()) as { code: string };
	return { status: answer.status, code, wait: Number(answer.headers.get("retry-after")) };
}

describe("quotas on Node", () => {
	test("rows of a day that are used up are 429 until midnight, for that tenant alone", async () => {
		const ask = await start({ DUCKDOCK_QUOTA_ROWS_PER_DAY: "1000" });
		expect((await ask("acme", "/v1/ingest/t", load(1_000))).status).toBe(200);
		await expect
			.poll(async () => (await readUsage(service!.store, "acme", Date.now())).rows, {
				timeout: 10_000,
			})
			.toBe(1_000);
		// A first look lasts as long as a key's; a new process has not looked yet.
		service = await service!.restart();
		const again = await askerOf(service);
		const answer = await refusal(await again("acme", "/v1/ingest/t", load(1)));
		expect(answer).toMatchObject({ status: 429, code: "quota_exceeded" });
		expect(answer.wait).toBeGreaterThan(0);
		expect(answer.wait).toBeLessThanOrEqual(86_400);
		expect((await again("quiet", "/v1/ingest/t", load(1))).status).toBe(200);
		expect((await again("acme", "/v1/loads")).status).toBe(200);
	});

	test("open uploads are bounded, and closing one makes room", async () => {
		const ask = await start({ DUCKDOCK_QUOTA_OPEN_UPLOADS: "3" });
		const body = new TextEncoder().encode('{"table":"t"}');
		const open = () => ask("acme", "/v1/uploads", { method: "POST", body });
		const ids: string[] = [];
		for (let at = 0; at < 3; at++) {
			ids.push(((await (await open()).json()) as { upload_id: string }).upload_id);
		}
		expect(await refusal(await open())).toMatchObject({ code: "quota_exceeded" });
		expect((await ask("acme", `/v1/uploads/${ids[0]}`, { method: "DELETE" })).status).toBe(204);
		expect((await open()).status).toBe(201);
		expect((await ask("quiet", "/v1/uploads", { method: "POST", body })).status).toBe(201);
	});

	test("uploads that take appends are open uploads too, until the last append", async () => {
		const ask = await start({ DUCKDOCK_QUOTA_OPEN_UPLOADS: "1" });
		const begin = () =>
			ask("acme", "/v1/ingest/t", { method: "POST", headers: { "Upload-Complete": "?0" } });
		const first = await begin();
		expect(first.status).toBe(201);
		expect(await refusal(await begin())).toMatchObject({ code: "quota_exceeded" });
		const last = await ask("acme", first.headers.get("location")!, {
			method: "PATCH",
			body: arrowNumbers(3),
			headers: {
				"Content-Type": "application/partial-upload",
				"Upload-Offset": "0",
				"Upload-Complete": "?1",
			},
		});
		expect(last.status).toBe(200);
		expect((await begin()).status).toBe(201);
	});

	test("loads in parallel are bounded, and there is room again when one ends", async () => {
		const ask = await start({ DUCKDOCK_QUOTA_PARALLEL_LOADS: "2" });
		const results = await Promise.all(
			Array.from({ length: 12 }, () => ask("acme", "/v1/ingest/t", load(10))),
		);
		const statuses = results.map(({ status }) => status);
		expect(statuses.filter((status) => status === 200).length).toBeGreaterThanOrEqual(2);
		expect(statuses.filter((status) => status === 429).length).toBeGreaterThan(0);
		expect((await ask("acme", "/v1/ingest/t", load(10))).status).toBe(200);
	});

	test("requests a minute are told on every answer and refused when used up", async () => {
		const ask = await start({ DUCKDOCK_QUOTA_REQUESTS_PER_MINUTE: "5" });
		for (let left = 4; left >= 0; left--) {
			const answer = await ask("acme", "/v1/loads");
			expect(answer.headers.get("ratelimit-policy")).toBe('"requests";q=5;w=60');
			expect(answer.headers.get("ratelimit")).toMatch(new RegExp(`^"requests";r=${left};t=\\d+$`));
		}
		const over = await ask("acme", "/v1/loads");
		expect(over.headers.get("ratelimit")).toMatch(/r=0/);
		expect(await refusal(over)).toMatchObject({ status: 429, code: "rate_limited" });
		expect((await ask("quiet", "/v1/loads")).status).toBe(200);
	});

	test("a tenant that asks without end is loaded beside a quiet one, never before it", async () => {
		const parallel = 4;
		const ask = await start({ DUCKDOCK_QUOTA_PARALLEL_LOADS: String(parallel) });
		let noisy = true;
		let refused = 0;
		// It waits for no receipt: all that it may have open is open.
		const noise = Array.from({ length: 4 }, async () => {
			while (noisy) {
				const answer = await ask("acme", "/v1/ingest/t", load(1_000, { Prefer: "respond-async" }));
				await answer.arrayBuffer();
				if (answer.status !== 429) continue;
				refused++;
				await new Promise((resolve) => setTimeout(resolve, 10));
			}
		});
		await expect.poll(() => refused).toBeGreaterThan(0);
		const quiet: { from: number; to: number }[] = [];
		for (let at = 0; at < 100; at++) {
			const from = Date.now();
			expect((await ask("quiet", "/v1/ingest/t", load(10))).status).toBe(200);
			quiet.push({ from, to: Date.now() });
		}
		noisy = false;
		await Promise.all(noise);
		const history = (await (await ask("acme", "/v1/loads?status=committed&limit=1000")).json()) as {
			loads: Receipt[];
		};
		const committed = history.loads.map((receipt) => Date.parse(receipt.committed_at!));
		/** Of the noisy tenant's loads, those that were committed while a quiet one was under way. */
		const passed = quiet
			.map(({ from, to }) => committed.filter((at) => at >= from && at <= to).length)
			.sort((a, b) => a - b);
		const p99 = passed[98]!;
		console.log(
			`loads of a noisy tenant (${committed.length}, ${refused} refused) while one of a quiet one was open: ` +
				`median ${passed[50]}, p99 ${p99}`,
		);
		expect(committed.length).toBeGreaterThan(0);
		// What it had open, and what took its place meanwhile.
		expect(p99).toBeLessThanOrEqual(2 * parallel);
	});
});
