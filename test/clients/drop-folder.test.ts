/**
 * Many files in one drop folder, their events through SQS, the loader killed now and
 * then: every file is there once. `DUCKDOCK_FILES=1000` for as many as that.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { PutObjectCommand } from "@aws-sdk/client-s3";
import { afterAll, beforeAll, expect, it } from "vitest";
import { openSqsQueue } from "../../functions/open-sqs-queue.node.ts";
import { type SqsLoader, startSqsLoader } from "../../functions/replay-sqs.node.ts";
import { systemClock as clock } from "../../src/clock.ts";
import { readConfig } from "../../src/config.ts";
import { createLog, silentLog } from "../../src/log.ts";
import { createStoreReceiptBook } from "../../src/receipt/store-receipt-book.ts";
import { dropRuleKey } from "../../src/stage/drop-key.ts";
import { requestReplay } from "../../src/stage/request-replay.ts";
import { createS3Store } from "../../src/stage/stores/s3-store.ts";
import { arrowNumbers } from "../contract/arrow-bytes.ts";
import { query } from "../e2e/world.ts";
import { type EventServer, startMoto } from "./servers/moto.ts";

const files = Number(process.env.DUCKDOCK_FILES ?? 24);
const kills = Math.max(3, Math.round(files / 50));
const folder = mkdtempSync(join(tmpdir(), "duckdock-drops-"));
let server: EventServer;
let loader: SqsLoader;

beforeAll(async () => {
	server = await startMoto({ maxReceives: 100 });
	// Also for the loader's own process.
	Object.assign(process.env, server.env, {
		DUCKDOCK_TARGET: join(folder, "{tenant}.duckdb"),
		DUCKDOCK_LOG: process.env.DUCKDOCK_TEST_LOG ? "debug" : "error",
	});
	const listen = { host: "127.0.0.1", port: 0 };
	loader = await startSqsLoader(readConfig(process.env), {
		queueUrl: server.queueUrl,
		listen,
		log: process.env.DUCKDOCK_TEST_LOG
			? createLog("debug", (line) => console.error(line))
			: silentLog,
		sweepEveryMs: 5_000,
	});
});
afterAll(async () => {
	await loader?.close();
	await server?.stop();
	rmSync(folder, { recursive: true, force: true });
});

const sleep = (ms: number) => new Promise((wake) => setTimeout(wake, ms));

// Not again where it failed: what a first try left in bucket and queue would be the second's.
it(`${files} files are loaded once each while the loader is killed now and then`, {
	timeout: 3_600_000,
	retry: 0,
}, async () => {
	const store = createS3Store({ client: server.s3, bucket: server.bucket });
	const rule = { tables: ["*.*"], modes: ["append", "create"] };
	await store.put(dropRuleKey("acme"), new TextEncoder().encode(JSON.stringify(rule)));
	const receipts = createStoreReceiptBook({ store, clock });
	// It only sends: the loader has a queue of its own.
	const queue = openSqsQueue(server.queueUrl, { log: silentLog, take: async () => [] });
	const every = Math.floor(files / kills);
	for (let n = 0; n < files; n++) {
		await server.s3.send(
			new PutObjectCommand({
				Bucket: server.bucket,
				Key: `drop/acme/main/t/part=${n % 7}/file ${n}.arrow`,
				Body: arrowNumbers(1, n),
			}),
		);
		if (n % every !== every - 1) continue;
		// While files come and their events are on the way, at no moment in particular.
		await sleep(300 + 1_500 * Math.random());
		for (let pid: number | undefined; pid === undefined; await sleep(20)) {
			pid = loader.loaderPid();
			if (pid !== undefined) process.kill(pid, "SIGKILL");
		}
	}
	/** Of every load that has ended there is an object; one request tells how many. */
	const ended = async () => {
		let count = 0;
		for await (const _ of store.list("loads/acme/")) count++;
		return count;
	};
	for (const deadline = Date.now() + files * 3_000 + 60_000; ; await sleep(2_000)) {
		const done = await ended();
		if (done >= files) break;
		if (Date.now() > deadline) throw new Error(`${done} of ${files} files have ended`);
	}
	const of = async (status: "committed" | "failed") =>
		(await receipts.history("acme", { status, limit: files + 10 })).receipts;
	// What was open at two deaths may be what kills: it waits until it is asked for again.
	const refused = await of("failed");
	for (const { error, load_id } of refused) {
		expect(error).toMatchObject({ code: "internal", detail: expect.stringContaining("died") });
		await requestReplay({ store, receipts, queue, clock, log: silentLog }, "acme", load_id);
	}
	const patience = AbortSignal.timeout(120_000);
	for (const { load_id } of refused) await receipts.waitFor("acme", load_id, patience);
	console.log(
		`${files} files, ${kills} kills, ${refused.length} loads that were open at two of them`,
	);
	expect(await of("failed")).toEqual([]);
	expect(await of("committed")).toHaveLength(files);
	await loader.close();
	expect(
		await query(
			join(folder, "acme.duckdb"),
			"SELECT count(*)::INT, count(DISTINCT id)::INT FROM t",
		),
	).toEqual([[files, files]]);
	expect(await server.deadLetters()).toEqual([]);
});
