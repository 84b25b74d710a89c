/**
 * The queue's consumer in workerd on the local runtime's queues: tries, back-off and
 * dead letters, messages that are none, and the ways to a loader: an address, and the
 * service binding of a container's Worker.
 */
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import process from "node:process";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { createTestHarness } from "wrangler";
import { createIdMaker } from "../../src/stage/new-id.ts";
import { signatureHeader, verifyBody } from "../../src/trigger/signed-request.ts";

process.env.CLOUDFLARE_CF_FETCH_ENABLED = "false";
process.env.WRANGLER_SEND_METRICS = "false";
process.env.CI = "1";

const secret = "a secret for tests, long enough for all";
const maxRetries = 2;
const date = { compatibility_date: "2026-11-01" };
const newId = createIdMaker({ now: Date.now });

/** What the loader says to a job, call after call; the last one for ever. */
const script = new Map<string, { status: number; retryAfter?: number }[]>();
const calls: string[] = [];
let unsigned = 0;
const loader: Server = createServer(async (request, response) => {
	let body = "";
	for await (const chunk of request) body += chunk;
	const header = request.headers[signatureHeader.toLowerCase()] as string | undefined;
	if (!(await verifyBody(secret, body, header ?? null, Date.now()))) unsigned++;
	const { upload_id } = JSON.parse(body) as { upload_id: string };
	const answers = script.get(upload_id) ?? [{ status: 200 }];
	const { status, retryAfter } = answers.length > 1 ? answers.shift()! : answers[0]!;
	calls.push(upload_id);
	response.writeHead(status, retryAfter === undefined ? {} : { "Retry-After": retryAfter });
	response.end("{}\n");
});

let server: ReturnType<typeof createTestHarness>;
beforeAll(async () => {
	await new Promise<void>((resolve) => loader.listen(0, "127.0.0.1", resolve));
	const LOADER_URL = `http://127.0.0.1:${(loader.address() as AddressInfo).port}`;
	const consumer = { max_batch_size: 10, max_batch_timeout: 1 };
	server = createTestHarness({
		root: new URL("../..", import.meta.url).pathname,
		workers: [
			{
				config: {
					...date,
					name: "sender",
					main: "test/workerd/container-worker.ts",
					queues: { producers: [{ binding: "LOADS", queue: "loads" }] },
				},
			},
			{
				config: {
					...date,
					name: "trigger",
					main: "functions/trigger.workers.ts",
					vars: { LOADER_URL, LOADER_SECRET: secret },
					queues: {
						consumers: [
							{
								...consumer,
								queue: "loads",
								max_retries: maxRetries,
								dead_letter_queue: "loads-dead",
							},
							{ ...consumer, queue: "loads-dead" },
						],
					},
				},
			},
			{
				config: {
					...date,
					name: "without-secret",
					main: "functions/trigger.workers.ts",
					vars: { LOADER_URL },
				},
			},
			{
				config: {
					...date,
					name: "container",
					main: "test/workerd/container-worker.ts",
					vars: { LOADER_URL },
				},
			},
			{
				config: {
					...date,
					name: "bound",
					main: "functions/trigger.workers.ts",
					vars: { LOADER_SECRET: secret },
					services: [{ binding: "LOADER", service: "container" }],
				},
			},
			{
				config: {
					...date,
					name: "to-container",
					main: "functions/trigger.workers.ts",
					vars: { LOADER_SECRET: secret },
					services: [{ binding: "LOADER", service: "duckdock-loader" }],
				},
			},
			{
				configPath: "infra/wrangler.loader.toml",
				vars: { LOADER_INSTANCES: "3" },
				secrets: { LOADER_SECRET: secret },
			},
		],
	});
	await server.listen();
});
afterAll(async () => {
	await server?.close();
	loader.close();
});
beforeEach(() => server.clearLogs());

const jobOf = (upload_id: string) => ({ tenant: "acme", upload_id });
const callsOf = (id: string) => calls.filter((one) => one === id).length;

async function send(...bodies: unknown[]): Promise<void> {
	// biome-ignore lint/suspicious/noExplicitAny: the harness types what it does not know as any
	const env = (await server.getWorker("sender").getEnv()) as any;
	for (const body of bodies) await env.LOADS.send(body, { contentType: "json" });
}

/** The consumer alone, past the queue: what it did with each message. */
async function deliver(worker: string, messages: { body: unknown; attempts?: number }[]) {
	const consumer = await server.getWorker(worker).getExport();
	// biome-ignore lint/suspicious/noExplicitAny: likewise
	return (consumer as any).queue(
		"loads",
		messages.map(({ body, attempts = 1 }, at) => ({
			id: `m${at}`,
			timestamp: new Date(),
			attempts,
			body,
		})),
	) as Promise<{
		explicitAcks: string[];
		retryMessages: { msgId: string; delaySeconds?: number }[];
	}>;
}

/** Log lines of our own. */
const lines = () =>
	server
		.getLogs()
		.map((log) => (typeof log === "string" ? log : JSON.stringify(log)))
		.flatMap((text) => [...text.matchAll(/\{\\?"time.*?\}/g)].map(([line]) => line))
		.map((line) => line.replaceAll('\\"', '"'));
const linesOf = (id: string) => lines().filter((line) => line.includes(id));

test("a job that no try loads goes to the dead letters, has a last try there, and ends as an error line with the reason", async () => {
	const id = newId();
	script.set(id, [{ status: 503, retryAfter: 1 }]);
	await send(jobOf(id));
	const tries = 1 + maxRetries;
	await expect.poll(() => callsOf(id), { timeout: 60_000 }).toBe(tries + 1);
	await expect.poll(() => linesOf(id).length, { timeout: 10_000 }).toBe(tries + 1);
	const said = linesOf(id);
	expect(said.filter((line) => line.includes("to be tried again"))).toHaveLength(tries);
	const last = said.filter((line) => line.includes("was given up"));
	expect(last).toHaveLength(1);
	expect(last[0]).toContain('"level":"error"');
	expect(last[0]).toContain('"why":"the loader answered 503"');
	expect(last[0]).toContain('"queue":"loads-dead"');
});

test("a job that loads at its second try, or out of the dead letters, is not asked for again", async () => {
	const [second, dead] = [newId(), newId()];
	script.set(second, [{ status: 503, retryAfter: 1 }, { status: 200 }]);
	script.set(dead, [
		...Array.from({ length: 1 + maxRetries }, () => ({ status: 500, retryAfter: 1 })),
		{ status: 200 },
	]);
	await send(jobOf(second), jobOf(dead));
	await expect.poll(() => callsOf(dead), { timeout: 60_000 }).toBe(2 + maxRetries);
	await expect.poll(() => linesOf(dead).at(-1), { timeout: 10_000 }).toContain('"loaded"');
	expect(callsOf(second)).toBe(2);
	expect(lines().filter((line) => line.includes('"error"'))).toEqual([]);
});

test("messages that are none are dropped with an error line, and what came with them is loaded", async () => {
	const id = newId();
	const poison = [null, "text", 7, [], {}, { tenant: "../x", upload_id: id }, jobOf("x")];
	const before = calls.length;
	const result = await deliver(
		"trigger",
		[...poison, jobOf(id)].map((body) => ({ body })),
	);
	expect(result.explicitAcks).toHaveLength(poison.length + 1);
	expect(result.retryMessages).toEqual([]);
	expect(calls.slice(before)).toEqual([id]);
	const dropped = lines().filter((line) => line.includes("neither a job nor an event"));
	expect(dropped).toHaveLength(poison.length);
});

test("an event of an object that is no finished upload is nothing to be alarmed by", async () => {
	const event = (action: string, key: string) => ({
		body: { account: "a", action, bucket: "b", object: { key, size: 1, eTag: "e" } },
	});
	const id = newId();
	const before = calls.length;
	await deliver("trigger", [
		event("PutObject", `uploads/acme/${id}/parts/00001`),
		event("DeleteObject", `uploads/acme/${id}/manifest.json`),
		event("PutObject", `uploads/acme/${id}/manifest.json`),
	]);
	expect(calls.slice(before)).toEqual([id]);
	expect(lines().filter((line) => line.includes('"level":"error"'))).toEqual([]);
});

test("each try waits twice as long as the one before, unless the loader says how long", async () => {
	const id = newId();
	script.set(id, [{ status: 500 }]);
	const delays = [];
	for (const attempts of [1, 2, 3, 9]) {
		const { retryMessages } = await deliver("trigger", [{ body: jobOf(id), attempts }]);
		delays.push(retryMessages[0]?.delaySeconds);
	}
	script.set(id, [{ status: 429, retryAfter: 17 }]);
	const { retryMessages } = await deliver("trigger", [{ body: jobOf(id) }]);
	expect([...delays, retryMessages[0]?.delaySeconds]).toEqual([5, 10, 20, 600, 17]);
});

test("without a secret nothing is called and nothing is lost", async () => {
	const before = calls.length;
	const result = await deliver("without-secret", [{ body: jobOf(newId()) }, { body: null }]);
	expect(result.explicitAcks).toEqual([]);
	expect(result.retryMessages.map(({ delaySeconds }) => delaySeconds)).toEqual([60, 60]);
	expect(calls.length).toBe(before);
});

test("by a service binding a job reaches the loader signed, as it does by an address", async () => {
	const [loaded, later] = [newId(), newId()];
	script.set(later, [{ status: 503, retryAfter: 3 }]);
	const result = await deliver("bound", [{ body: jobOf(loaded) }, { body: jobOf(later) }]);
	expect(result.explicitAcks).toEqual(["m0"]);
	expect(result.retryMessages).toMatchObject([{ msgId: "m1", delaySeconds: 3 }]);
	expect([callsOf(loaded), callsOf(later)]).toEqual([1, 1]);
	expect(unsigned).toBe(0);
});

test("the container's Worker takes signed jobs alone, and where no container can be had they wait", async () => {
	const worker = server.getWorker("duckdock-loader");
	const ask = (init: RequestInit) => worker.fetch("/v1/replay", init as never);
	expect((await ask({ method: "GET" })).status).toBe(400);
	const body = JSON.stringify(jobOf(newId()));
	expect((await ask({ method: "POST", body })).status).toBe(401);
	const forged = { [signatureHeader]: `t=${Math.floor(Date.now() / 1000)},v1=${"0".repeat(64)}` };
	expect((await ask({ method: "POST", body, headers: forged })).status).toBe(401);
	const { retryMessages } = await deliver("to-container", [{ body: jobOf(newId()) }]);
	expect(retryMessages).toMatchObject([{ delaySeconds: 60 }]);
	expect(lines().some((line) => line.includes("there are no containers here"))).toBe(true);
});
