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
import { type SqsLoader, startSqsLoader } from "../../functions/replay-sqs.node.ts";
import { systemClock } from "../../src/clock.ts";
import { readConfig } from "../../src/config.ts";
import { createLog, silentLog } from "../../src/log.ts";
import { createStoreReceiptBook } from "../../src/receipt/store-receipt-book.ts";
import { dropRuleKey } from "../../src/stage/drop-key.ts";
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

it(`${files} files are loaded once each while the loader is killed now and then`, async () => {
	const store = createS3Store({ client: server.s3, bucket: server.bucket });
	const rule = { tables: ["*.*"], modes: ["append", "create"] };
	await store.put(dropRuleKey("acme"), new TextEncoder().encode(JSON.stringify(rule)));
	const receipts = createStoreReceiptBook({ store, clock: systemClock });
	for (let n = 0; n < files; n++) {
		await server.s3.send(
			new PutObjectCommand({
				Bucket: server.bucket,
				Key: `drop/acme/main/t/part=${n % 7}/file ${n}.arrow`,
				Body: arrowNumbers(1, n),
			}),
		);
	}
	/** Of every load that has ended there is an object; one request tells how many. */
	const ended = async () => {
		let count = 0;
		for await (const _ of store.list("loads/acme/")) count++;
		return count;
	};
	let killed = 0;
	let killAt = Date.now() + 1_500;
	for (const deadline = Date.now() + files * 3_000 + 60_000; ; ) {
		const done = await ended();
		if (done >= files) break;
		if (Date.now() > deadline) throw new Error(`${done} of ${files} files, ${killed} kills`);
		const pid = loader.loaderPid();
		if (pid !== undefined && killed < kills && Date.now() > killAt) {
			process.kill(pid, "SIGKILL");
			killed++;
			killAt = Date.now() + 1_500 + 2_000 * Math.random();
		}
		await sleep(100);
	}
	console.log(`${files} files, ${killed} kills`);
	expect(killed).toBeGreaterThan(0);
	const committed = async () =>
		(await receipts.history("acme", { status: "committed", limit: files + 10 })).receipts;
	expect(await committed()).toHaveLength(files);
	await loader.close();
	expect(
		await query(
			join(folder, "acme.duckdb"),
			"SELECT count(*)::INT, count(DISTINCT id)::INT FROM t",
		),
	).toEqual([[files, files]]);
	expect(await server.deadLetters()).toEqual([]);
}, 3_600_000);
