/** From the bucket's own events through SQS to rows and receipts, with the functions as Lambda runs them. */
import { createHash } from "node:crypto";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PutObjectCommand } from "@aws-sdk/client-s3";
import {
	DeleteMessageBatchCommand,
	ReceiveMessageCommand,
	SendMessageBatchCommand,
	SendMessageCommand,
} from "@aws-sdk/client-sqs";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { bundleLambdas } from "../../infra/bundle.ts";
import {
	type AllowedCalls,
	allowedBy,
	entriesOf,
	replayCalls,
	uploadCalls,
} from "../../infra/cdk/allowed-calls.ts";
import { createIngestClient, type IngestClient } from "../../src/client/ingest-client.ts";
import type { Receipt } from "../../src/flow.ts";
import { arrowNumbers } from "../contract/arrow-bytes.ts";
import { parquetOf } from "../contract/parquet-bytes.ts";
import { superstorePath } from "../e2e/superstore.ts";
import { cliJson, query } from "../e2e/world.ts";
import {
	type BatchAnswer,
	type LambdaFunction,
	sqsEvent,
	startLambda,
	type UrlAnswer,
	urlEvent,
} from "../lambda/runtime-api.ts";
import { type EventServer, startMoto } from "./servers/moto.ts";
import {
	type AskedRequest,
	type RecordingProxy,
	startRecordingProxy,
} from "./servers/recording-proxy.ts";

const maxReceives = 3;
/** 1,000 for the whole of case 27; the server takes its time. */
const events = Number(process.env.DUCKDOCK_EVENTS ?? 100);
const folder = mkdtempSync(join(tmpdir(), "duckdock-events-"));
const database = join(folder, "db/acme.duckdb");
const site = "https://example.lambda-url.eu-central-1.on.aws";
let server: EventServer;
let env: Record<string, string>;
let upload: LambdaFunction;
let replay: LambdaFunction;
let client: IngestClient;
let key: string;
const proxies: Partial<Record<"upload" | "replay", RecordingProxy>> = {};
const puts: string[] = [];

beforeAll(async () => {
	server = await startMoto({ maxReceives });
	env = {
		...server.env,
		DUCKDOCK_TARGET: join(folder, "db/{tenant}.duckdb"),
		DUCKDOCK_PERSISTENT_DIR: join(folder, "db"),
		DUCKDOCK_QUOTA_BYTES_PER_DAY: "1TB",
	};
	for (const by of ["upload", "replay"] as const) {
		proxies[by] = await startRecordingProxy(server.env.DUCKDOCK_S3_ENDPOINT!);
	}
	const bundles = await bundleLambdas(join(folder, "bundles"));
	const made = await cliJson(["keys", "create", "--tenant", "acme"], { env });
	upload = await startLambda({ folder: bundles.upload.folder, env: envOf(proxies.upload!) });
	replay = await startLambda({ folder: bundles.replay.folder, env: envOf(proxies.replay!) });
	key = made.json.key;
	client = createIngestClient({ url: site, key, fetch: fetchByUrl });
}, 300_000);
afterAll(async () => {
	await upload?.close();
	await replay?.close();
	for (const proxy of Object.values(proxies)) await proxy.stop();
	await server?.stop();
	rmSync(folder, { recursive: true, force: true });
});

/** A function reaches bucket and queue by a proxy of its own, which notes what it asks. */
function envOf({ endpoint }: RecordingProxy): Record<string, string> {
	return {
		...env,
		DUCKDOCK_S3_ENDPOINT: endpoint,
		AWS_ENDPOINT_URL_SQS: endpoint,
		DUCKDOCK_SQS_QUEUE_URL: server.queueUrl.replace(/^https?:\/\/[^/]+/, endpoint),
	};
}

/** A request as IAM sees it. */
function callOf({ method, path, target }: AskedRequest): [action: string, on: string] {
	if (target !== null) return [target.replace("AmazonSQS.", "sqs:"), ""];
	const { pathname, searchParams } = new URL(path, "http://server");
	const key = decodeURIComponent(pathname.slice(`/${server.bucket}/`.length));
	if (searchParams.has("list-type")) return ["s3:ListBucket", searchParams.get("prefix") ?? ""];
	if (method === "GET" || method === "HEAD") return ["s3:GetObject", key];
	if (method === "DELETE") {
		return [searchParams.has("uploadId") ? "s3:AbortMultipartUpload" : "s3:DeleteObject", key];
	}
	return ["s3:PutObject", key];
}

/** What goes to the function's URL becomes its event; parts go to the bucket. One at a time, as a process of Lambda's serves. */
let turn: Promise<unknown> = Promise.resolve();
async function fetchByUrl(input: RequestInfo | URL, init: RequestInit = {}): Promise<Response> {
	const request = new Request(input, init);
	if (!request.url.startsWith(site)) {
		puts.push(request.url);
		return fetch(input, init);
	}
	const body = request.body === null ? undefined : new Uint8Array(await request.arrayBuffer());
	const headers = { ...Object.fromEntries(request.headers), prefer: "wait=0" };
	const path = request.url.slice(site.length);
	const mine = turn.then(() =>
		upload.invoke<UrlAnswer>(urlEvent(request.method, path, headers, body)),
	);
	turn = mine.catch(() => {});
	const answer = await mine;
	const bytes = Buffer.from(answer.body ?? "", answer.isBase64Encoded ? "base64" : "utf8");
	const empty = answer.statusCode === 204 || answer.statusCode === 304;
	return new Response(empty ? null : bytes, { status: answer.statusCode, headers: answer.headers });
}

/** Lambda's poller of SQS: batches to the function, and what it didn't name is deleted. */
async function pump(until: () => Promise<boolean>, ms = 60_000): Promise<void> {
	const { queueUrl: QueueUrl, sqs } = server;
	for (const deadline = Date.now() + ms; !(await until()); ) {
		if (Date.now() > deadline) throw new Error(`not in ${ms} ms: ${replay.output().slice(-4_000)}`);
		const { Messages = [] } = await sqs.send(
			new ReceiveMessageCommand({
				QueueUrl,
				MaxNumberOfMessages: 10,
				WaitTimeSeconds: 0,
				MessageSystemAttributeNames: ["ApproximateReceiveCount"],
			}),
		);
		if (Messages.length === 0) {
			await new Promise((wake) => setTimeout(wake, 50));
			continue;
		}
		const event = sqsEvent(
			...Messages.map(({ MessageId, Body, Attributes, ReceiptHandle }) => ({
				id: MessageId!,
				body: Body!,
				receives: Number(Attributes?.ApproximateReceiveCount),
				handle: ReceiptHandle!,
			})),
		);
		const { batchItemFailures } = await replay.invoke<BatchAnswer>(event, 60_000);
		const failed = new Set(batchItemFailures.map(({ itemIdentifier }) => itemIdentifier));
		const Entries = Messages.filter(({ MessageId }) => !failed.has(MessageId!)).map(
			({ ReceiptHandle }, at) => ({ Id: String(at), ReceiptHandle: ReceiptHandle! }),
		);
		if (Entries.length > 0) {
			await sqs.send(new DeleteMessageBatchCommand({ QueueUrl, Entries }));
		}
	}
}

const empty = async () => (await server.waiting()) === 0;

async function drop(key: string, bytes: Uint8Array): Promise<void> {
	await server.s3.send(new PutObjectCommand({ Bucket: server.bucket, Key: key, Body: bytes }));
}

async function history(table: string): Promise<Receipt[]> {
	const found: Receipt[] = [];
	for await (const receipt of client.loads({ table })) found.push(receipt);
	return found.reverse();
}

describe("on S3, SQS and Lambda", () => {
	it("a push in parts straight to the bucket loads by the manifest's event", async () => {
		const bytes = readFileSync(superstorePath);
		const pushed = client.ingest("sales", bytes, { mode: "create_append", partSize: 400_000 });
		let done = false;
		pushed
			.finally(() => {
				done = true;
			})
			.catch(() => {});
		await pump(async () => done);
		expect(await pushed).toMatchObject({ status: "committed", rows_inserted: 9_994 });
		expect(puts.length).toBeGreaterThan(3);
		expect(puts.every((url) => url.includes("X-Amz-Signature="))).toBe(true);
		expect(await query(database, "SELECT count(*)::INT FROM sales")).toEqual([[9_994]]);
	});

	it("a file under drop/ loads by its event, its key decoded, and its receipt names it (case 26)", async () => {
		const rule = [
			"drop",
			"allow",
			"--tenant",
			"acme",
			"--tables",
			"*.*",
			"--modes",
			"append,create",
		];
		expect(await cliJson(rule, { env })).toMatchObject({ code: 0 });
		const key = "drop/acme/raw/events/day=1/a b+c%é.arrow";
		await drop(key, arrowNumbers(4));
		await pump(empty);
		const [receipt] = await history("raw.events");
		expect(receipt).toMatchObject({
			status: "committed",
			rows_inserted: 4,
			source: { kind: "drop", bucket: server.bucket, key },
		});
	});

	it("a Parquet file under drop/ loads by DuckDB beside the function's own bundle", async () => {
		const bytes = await parquetOf("SELECT range AS n, 'row ' || range AS t FROM range(5000)");
		const key = "drop/acme/raw/columns/x.parquet";
		await drop(key, Buffer.from(bytes));
		await pump(empty);
		const [receipt] = await history("raw.columns");
		expect(receipt).toMatchObject({ status: "committed", rows_inserted: 5_000, batches: 1 });
		expect(await query(database, "SELECT count(*)::INT, max(n)::INT FROM raw.columns")).toEqual([
			[5_000, 4_999],
		]);
	});

	it("more events of the same object change nothing (case 27)", async () => {
		const key = "drop/acme/raw/often/x.arrow";
		const info = await server.s3.send(
			new PutObjectCommand({ Bucket: server.bucket, Key: key, Body: arrowNumbers(5) }),
		);
		const object = { key, size: 1, eTag: info.ETag!.replaceAll('"', ""), sequencer: "0A" };
		const s3 = { bucket: { name: server.bucket }, object };
		const body = JSON.stringify({ Records: [{ eventName: "ObjectCreated:Put", s3 }] });
		for (let round = 0; round < events / 10; round++) {
			await server.sqs.send(
				new SendMessageBatchCommand({
					QueueUrl: server.queueUrl,
					Entries: Array.from({ length: 10 }, (_, at) => ({ Id: String(at), MessageBody: body })),
				}),
			);
		}
		await pump(empty, 1_000 * events);
		expect(await history("raw.often")).toHaveLength(1);
		expect(await query(database, "SELECT count(*)::INT FROM raw.often")).toEqual([[5]]);
		expect(await server.deadLetters()).toEqual([]);
	}, 1_200_000);

	it("a message that nobody can read ends among the dead letters, a file that can't be loaded in a receipt", async () => {
		await server.sqs.send(
			new SendMessageCommand({ QueueUrl: server.queueUrl, MessageBody: "no message of S3's" }),
		);
		await drop("drop/acme/raw/bad/x.arrow", Buffer.from("no Arrow"));
		await pump(async () => (await server.deadLetters()).length > 0, 90_000);
		expect((await server.deadLetters())[0]?.Body).toBe("no message of S3's");
		await pump(empty);
		const [failed] = await history("raw.bad");
		expect(failed).toMatchObject({ status: "failed", error: { code: "not_arrow" } });
		expect(await server.deadLetters()).toHaveLength(1);
	}, 120_000);

	it("each function asks for what its role allows, and for nothing of it in vain", async () => {
		const ask = async (method: string, path: string, body?: unknown) => {
			const response = await fetchByUrl(`${site}${path}`, {
				method,
				headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
				...(body === undefined ? {} : { body: JSON.stringify(body) }),
			});
			return [response.status, response.status === 204 ? null : await response.json()];
		};
		// What the tests before have not come to.
		expect((await ask("GET", "/readyz"))[0]).toBe(200);
		expect((await ask("GET", "/v1/tables"))[0]).toBe(200);
		expect((await ask("GET", "/v1/tables/raw.events"))[0]).toBe(200);
		const [, { upload_id: id }] = await ask("POST", "/v1/uploads", { table: "raw.dropped" });
		const bytes = arrowNumbers(3) as Uint8Array<ArrayBuffer>;
		const sha256 = createHash("sha256").update(bytes).digest("hex");
		const parts = [{ n: 1, size: bytes.length, sha256 }];
		const [, { urls }] = await ask("POST", `/v1/uploads/${id}/parts`, { parts });
		const put = await fetch(urls[0].url, { method: "PUT", headers: urls[0].headers, body: bytes });
		expect(put.status).toBe(200);
		expect((await ask("DELETE", `/v1/uploads/${id}`))[0]).toBe(204);
		const headers = { authorization: `Bearer ${key}`, "idempotency-key": "once" };
		for (const status of [202, 200]) {
			const once = { method: "POST", headers, body: bytes };
			expect((await fetchByUrl(`${site}/v1/ingest/raw.small`, once)).status).toBe(status);
			await pump(empty);
		}
		const [failed] = await history("raw.bad");
		expect((await ask("POST", `/v1/loads/${failed!.load_id}/replay`))[0]).toBe(202);
		await pump(empty);
		await replay.invoke({ source: "aws.events" }, 60_000);

		const used = { upload: new Set<string>(), replay: new Set<string>() };
		const denied: string[] = [];
		const roles: Record<keyof typeof used, AllowedCalls> = {
			upload: uploadCalls,
			replay: replayCalls,
		};
		for (const by of ["upload", "replay"] as const) {
			for (const request of proxies[by]!.asked) {
				const [action, on] = callOf(request);
				const entry = allowedBy(roles[by], action, on);
				if (entry === null) denied.push(`${by}: ${action} ${on}`);
				else used[by].add(entry);
				// A read of what isn't there is told so only to who may list it.
				const listed = allowedBy(roles[by], "s3:ListBucket", on);
				if (action === "s3:GetObject" && listed === null) denied.push(`${by}: list ${on}`);
			}
		}
		expect([...new Set(denied)]).toEqual([]);
		const rarely = {
			upload: [],
			replay: [
				// Of a table that was dropped between a load and the look at it.
				"s3:DeleteObject tables/*",
				// For a load whose event was lost, half an hour later.
				"sqs:SendMessage",
			],
		};
		const unused = (by: keyof typeof used) =>
			entriesOf(roles[by]).filter(
				(entry) => !entry.startsWith("s3:ListBucket") && !used[by].has(entry),
			);
		expect({ upload: unused("upload"), replay: unused("replay") }).toEqual(rarely);
	}, 180_000);
});
