/**
 * The loader on AWS Lambda: a batch of SQS messages in, the ids of those that are to
 * come again out. https://docs.aws.amazon.com/lambda/latest/dg/services-sqs-errorhandling.html
 *
 * Messages are events of the bucket or jobs by name. A schedule calls the same function
 * to sweep: what was lost on the way is sent again, what is over is removed.
 *
 * Time: a while before the platform ends the process nothing new is begun, later what
 * runs is cut short and rolled back. Both go back to the queue, to come at once.
 */
import { tmpdir } from "node:os";
import process from "node:process";
import { ChangeMessageVisibilityCommand } from "@aws-sdk/client-sqs";
import { systemClock } from "../src/clock.ts";
import { readConfig } from "../src/config.ts";
import { asIngestError } from "../src/errors.ts";
import { createDuckdbSink } from "../src/insert/duckdb/duckdb-sink.ts";
import { createLog } from "../src/log.ts";
import { createStoreReceiptBook } from "../src/receipt/store-receipt-book.ts";
import { nodeCodecs } from "../src/replay/node-codecs.ts";
import { createStagedReader } from "../src/replay/open-reader.ts";
import { createParquetCopies } from "../src/replay/parquet-copies.ts";
import { takeParquet } from "../src/replay/parquet-drops.ts";
import { runReplayLoop } from "../src/replay/replay-loop.ts";
import type { ReplayDeps } from "../src/replay/replay-one.ts";
import { createIdMaker } from "../src/stage/new-id.ts";
import { hasQuotas } from "../src/tenant/limits-of-tenants.ts";
import { type BatchJob, createBatchQueue } from "../src/trigger/queues/batch-queue.ts";
import { sweep } from "../src/trigger/sweep.ts";
import { engineOptions } from "./engine-options.node.ts";
import { createQueueClient, openSqsQueue } from "./open-sqs-queue.node.ts";
import { openStores } from "./open-stores.node.ts";
import { takeBucketEvents } from "./take-bucket-events.ts";

interface SqsRecord {
	messageId: string;
	receiptHandle: string;
	body: string;
	attributes?: { ApproximateReceiveCount?: string };
}
export interface LambdaEvent {
	Records?: SqsRecord[];
	/** `aws.events`: the schedule. */
	source?: string;
}
export interface LambdaContext {
	getRemainingTimeInMillis(): number;
}
export interface BatchResponse {
	batchItemFailures: { itemIdentifier: string }[];
}

const clock = systemClock;
const config = readConfig(process.env);
const log = createLog(config.logLevel, (line) => console.log(line));
const { sqsQueueUrl } = config;
const countUsage = hasQuotas(config.quotas);
const { store, dropStore } = await openStores(config);
const receipts = createStoreReceiptBook({ store, clock });
const queueClient = createQueueClient();

const copies = createParquetCopies(tmpdir(), nodeCodecs.createSha256);
const sink = createDuckdbSink({
	target: config.target.template,
	singleTenant: config.singleTenant,
	...engineOptions(config),
	threadPoolSize: Number(process.env.UV_THREADPOOL_SIZE ?? 4),
	tempDirectory: "/tmp/duckdb",
	parquetFolder: copies.folder,
	clock,
	log,
});
const reader = createStagedReader(config.limits);

const loader: ReplayDeps = {
	store,
	dropStore,
	receipts,
	clock,
	log,
	newId: createIdMaker(clock),
	createSha256: nodeCodecs.createSha256,
	deathsFromLeases: true,
	sink,
	...reader,
	...takeParquet(reader, { copies, sink, limits: config.limits }),
};
const takeEvents = takeBucketEvents(config, { store, dropStore, receipts, clock, log });

/** Of the time that is left at the start; at most so many milliseconds. */
const share = (leftMs: number, part: number, atMostMs: number) => Math.min(leftMs * part, atMostMs);

const timeout = (ms: number) => AbortSignal.timeout(Math.max(0, Math.floor(ms)));

export async function handler(event: LambdaEvent, context: LambdaContext): Promise<BatchResponse> {
	const leftMs = context.getRemainingTimeInMillis();
	const stop = timeout(leftMs - share(leftMs, 0.3, 60_000));
	const cut = timeout(leftMs - share(leftMs, 0.15, 20_000));
	if (event.source === "aws.events") {
		await sweepOnce(stop);
		return { batchItemFailures: [] };
	}
	const failures = new Map<string, { record: SqsRecord; againMs: number }>();
	/** By name: a load that several messages ask for runs once. */
	const jobs = new Map<string, BatchJob & { records: SqsRecord[] }>();
	const take = async (record: SqsRecord) => {
		const attempt = Number(record.attributes?.ApproximateReceiveCount ?? 1);
		try {
			for (const job of await takeEvents(record.body)) {
				const name = `${job.tenant}/${job.upload_id}`;
				const known = jobs.get(name);
				if (known === undefined) jobs.set(name, { job, attempt, records: [record] });
				else known.records.push(record);
			}
		} catch (thrown) {
			const error = asIngestError(thrown);
			log.error("a message was not taken", {
				message_id: record.messageId,
				code: error.code,
				error: error.message,
			});
			failures.set(record.messageId, { record, againMs: 1_000 * 2 ** Math.min(attempt, 8) });
		}
	};
	await Promise.all((event.Records ?? []).map(take));
	const batch = [...jobs.values()];
	const queue = createBatchQueue(batch, { clock, stop });
	await runReplayLoop(loader, queue, stop, { cut, countUsage });
	for (const [at, againMs] of (await queue.results).entries()) {
		if (againMs === null) continue;
		for (const record of batch[at]!.records) failures.set(record.messageId, { record, againMs });
	}
	await Promise.all([...failures.values()].map(({ record, againMs }) => hide(record, againMs)));
	return { batchItemFailures: [...failures.keys()].map((itemIdentifier) => ({ itemIdentifier })) };
}

/** So that the message comes again after its own pause and not after the whole visibility timeout. */
async function hide({ receiptHandle, messageId }: SqsRecord, againMs: number): Promise<void> {
	if (sqsQueueUrl === null) return;
	try {
		await queueClient.send(
			new ChangeMessageVisibilityCommand({
				QueueUrl: sqsQueueUrl,
				ReceiptHandle: receiptHandle,
				VisibilityTimeout: Math.min(43_200, Math.ceil(againMs / 1_000)),
			}),
		);
	} catch (error) {
		log.warn("a message comes again late", { message_id: messageId, error: String(error) });
	}
}

async function sweepOnce(stop: AbortSignal): Promise<void> {
	const queue =
		sqsQueueUrl === null ? null : openSqsQueue(sqsQueueUrl, { log, take: async () => [] });
	const isIdle = queue !== null && (await queue.waiting()) === 0;
	const { removed, sent, uploads } = await sweep(
		{
			store,
			receipts,
			clock,
			log,
			limits: config.limits,
			send: isIdle ? (job) => queue.send(job, { again: true }) : null,
			// A message may be with a loader for as long as a function runs.
			noticeMs: 30 * 60_000,
		},
		stop,
	);
	log.info("swept", { uploads, sent, removed: removed.length });
}
