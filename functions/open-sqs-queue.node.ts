/** The queue of a bucket's events, with region and credentials as AWS tools find them. */
import { SQSClient } from "@aws-sdk/client-sqs";
import { systemClock } from "../src/clock.ts";
import type { ReplayJob } from "../src/flow.ts";
import type { Log } from "../src/log.ts";
import { createSqsQueue, type SqsQueue } from "../src/trigger/queues/sqs-queue.ts";

/** Tries of one request. */
const maxAttempts = 5;

export function createQueueClient(): SQSClient {
	return new SQSClient({ maxAttempts });
}

export function openSqsQueue(
	queueUrl: string,
	{ log, take }: { log: Log; take: (body: string) => Promise<ReplayJob[]> },
): SqsQueue {
	const client = createQueueClient();
	return createSqsQueue({ client, queueUrl, clock: systemClock, log, take, bucketAnnounces: true });
}
