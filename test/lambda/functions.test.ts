/** The functions' bundles as Lambda runs them: through its Runtime API, in a process of their own. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DuckDBInstance } from "@duckdb/node-api";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Bundles, bundleLambdas } from "../../infra/bundle.ts";
import { arrowStream } from "../contract/arrow-bytes.ts";
import { cliJson, query } from "../e2e/world.ts";
import {
	type LambdaFunction,
	sqsEvent,
	startLambda,
	type UrlAnswer,
	urlEvent,
} from "./runtime-api.ts";

const folder = mkdtempSync(join(tmpdir(), "duckdock-lambda-"));
const database = join(folder, "db/acme.duckdb");
const env = {
	DUCKDOCK_STORE: `file:${join(folder, "objects")}`,
	DUCKDOCK_TARGET: join(folder, "db/{tenant}.duckdb"),
	DUCKDOCK_PERSISTENT_DIR: join(folder, "db"),
	DUCKDOCK_FSYNC: "off",
	AWS_REGION: "eu-central-1",
};
let bundles: Bundles;
let upload: LambdaFunction;
let replay: LambdaFunction;
let auth: Record<string, string>;

beforeAll(async () => {
	bundles = await bundleLambdas(join(folder, "bundles"));
	const made = await cliJson(["keys", "create", "--tenant", "acme"], { env });
	auth = { Authorization: `Bearer ${made.json.key}` };
	upload = await startLambda({ folder: bundles.upload.folder, env });
	replay = await startLambda({ folder: bundles.replay.folder, env });
}, 120_000);
afterAll(async () => {
	await upload?.close();
	await replay?.close();
	rmSync(folder, { recursive: true, force: true });
});

const call = (method: string, path: string, body?: Uint8Array | string, more = {}) =>
	upload.invoke<UrlAnswer>(urlEvent(method, path, { ...auth, ...more }, body));

/** Staged and not waited for; its id. */
async function stage(table: string): Promise<string> {
	const answer = await call("POST", `/v1/ingest/${table}`, arrowStream(3), {
		Prefer: "respond-async",
	});
	expect(answer.statusCode).toBe(202);
	return JSON.parse(answer.body).load_id;
}

const receiptOf = async (id: string) => JSON.parse((await call("GET", `/v1/loads/${id}`)).body);

describe("the functions on Lambda", () => {
	it("are small enough, and their start is told", () => {
		console.log(
			`upload ${(bundles.upload.bytes / 1e6).toFixed(1)} MB, up in ${Math.round(upload.coldStartMs)} ms; ` +
				`replay ${(bundles.replay.bytes / 1e6).toFixed(1)} MB, up in ${Math.round(replay.coldStartMs)} ms`,
		);
		expect(bundles.upload.bytes).toBeLessThan(5e6);
		expect(bundles.replay.bytes).toBeLessThan(250 * 1024 * 1024);
	});

	it("have the pages beside them, and nothing else of their folder", async () => {
		for (const [path, text] of [
			["/docs", 'spec-url="/openapi.json"'],
			["/docs/openapi-explorer.min.js", "OpenAPI Explorer"],
			["/console", "/console/src/console/console.ts"],
			["/console/src/console/console.ts", "import"],
		] as const) {
			const answer = await call("GET", path);
			expect([path, answer.statusCode]).toEqual([path, 200]);
			expect(answer.body).toContain(text);
		}
		for (const path of ["/docs/index.mjs", "/docs/..%2f..%2findex.mjs", "/docs/docs.html"]) {
			expect((await call("GET", path)).statusCode).toBe(404);
		}
	});

	it("stage a base64 body, load it from a message, and answer with the receipt", async () => {
		const id = await stage("events");
		const answer = await replay.invoke(
			sqsEvent({ id: "m1", body: { tenant: "acme", upload_id: id } }),
		);
		expect(answer).toEqual({ batchItemFailures: [] });
		expect(await receiptOf(id)).toMatchObject({ status: "committed", rows_inserted: 3 });
		expect(await query(database, "SELECT count(*)::INT FROM events")).toEqual([[3]]);
	});

	it("give back the messages of a batch that failed, and no others", async () => {
		const ids = [await stage("a"), await stage("b")];
		const job = (at: number) => ({ tenant: "acme", upload_id: ids[at] });
		const answer = await replay.invoke(
			sqsEvent(
				{ id: "good", body: job(0) },
				{ id: "garbage", body: "{" },
				{ id: "test", body: { Service: "Amazon S3", Event: "s3:TestEvent" } },
				{ id: "also good", body: job(1) },
				{ id: "twice", body: job(1) },
			),
		);
		expect(answer).toEqual({ batchItemFailures: [{ itemIdentifier: "garbage" }] });
		for (const id of ids) expect((await receiptOf(id)).status).toBe("committed");
		expect(await query(database, "SELECT count(*)::INT FROM b")).toEqual([[3]]);
	});

	it("end before their time is over and give the message back, whose load then runs", {
		retry: 2,
	}, async () => {
		const id = await stage("later");
		const event = sqsEvent({ id: "slow", body: { tenant: "acme", upload_id: id } });
		// A file that somebody else holds is waited for longer than this function may run.
		await query(database, "SELECT 1");
		const holder = await DuckDBInstance.create(database);
		const began = Date.now();
		expect(await replay.invoke(event, 5_000)).toEqual({
			batchItemFailures: [{ itemIdentifier: "slow" }],
		});
		expect(Date.now() - began).toBeLessThan(5_000);
		holder.closeSync();
		expect(await replay.invoke(event)).toEqual({ batchItemFailures: [] });
		expect(await receiptOf(id)).toMatchObject({ status: "committed", rows_inserted: 3 });
	});

	it("load once what a process that died had begun", async () => {
		const id = await stage("once");
		const event = sqsEvent({ id: "m", body: { tenant: "acme", upload_id: id } });
		const died = replay.invoke(event).catch((error: Error) => error);
		await new Promise((wake) => setTimeout(wake, 30));
		replay.kill();
		await died;
		// Where it died holding the lease, the message comes again until that is over.
		await expect
			.poll(() => replay.invoke(event), { timeout: 90_000, interval: 1_000 })
			.toEqual({ batchItemFailures: [] });
		await replay.invoke(event);
		expect(await receiptOf(id)).toMatchObject({ status: "committed" });
		expect(await query(database, "SELECT count(*)::INT FROM once")).toEqual([[3]]);
	});

	it("tell what a request may carry and refuse what is larger", async () => {
		const answer = await call("POST", "/v1/ingest/events", new Uint8Array(4_400_001));
		expect(answer.statusCode).toBe(413);
		expect(answer.headers["upload-limit"]).toMatch(/4400000/);
	});

	it("run the schedule's sweep", async () => {
		expect(await replay.invoke({ source: "aws.events", "detail-type": "Scheduled Event" })).toEqual(
			{
				batchItemFailures: [],
			},
		);
		expect(replay.output()).toContain('"swept"');
	});
});
