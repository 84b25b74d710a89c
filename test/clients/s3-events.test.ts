/** From the bucket's own events through SQS to rows and receipts, with the functions as Lambda runs them. */
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
import { createIngestClient, type IngestClient } from "../../src/client/ingest-client.ts";
import type { Receipt } from "../../src/flow.ts";
import { arrowNumbers } from "../contract/arrow-bytes.ts";
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
const puts: string[] = [];

beforeAll(async () => {
	server = await startMoto({ maxReceives });
	env = {
		...server.env,
		DUCKDOCK_TARGET: join(folder, "db/{tenant}.duckdb"),
		DUCKDOCK_PERSISTENT_DIR: join(folder, "db"),
	};
	const bundles = await bundleLambdas(join(folder, "bundles"));
	const made = await cliJson(["keys", "create", "--tenant", "acme"], { env });
	upload = await startLambda({ folder: bundles.upload.folder, env });
	replay = await startLambda({ folder: bundles.replay.folder, env });
	client = createIngestClient({ url: site, key: made.json.key, fetch: fetchByUrl });
}, 300_000);
afterAll(async () => {
	await upload?.close();
	await replay?.close();
	await server?.stop();
	rmSync(folder, { recursive: true, force: true });
});

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
});
