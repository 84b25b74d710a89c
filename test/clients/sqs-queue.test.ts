/** The queue on SQS against a server of its API: the promises of every queue, and what is SQS's own. */
import { SendMessageCommand } from "@aws-sdk/client-sqs";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Clock, systemClock } from "../../src/clock.ts";
import type { ReplayJob } from "../../src/flow.ts";
import { silentLog } from "../../src/log.ts";
import { createSqsQueue, type SqsQueue } from "../../src/trigger/queues/sqs-queue.ts";
import { readS3Message } from "../../src/trigger/s3-event.ts";
import { describeReplayQueue } from "../contract/replay-queue.ts";
import { type EventServer, startMoto } from "./servers/moto.ts";

let server: EventServer;
let queues = 0;
beforeAll(async () => {
	server = await startMoto({ maxReceives: 3 });
});
afterAll(() => server?.stop());

const places = { store: { bucket: "lake", prefix: "" }, drop: { bucket: "lake", prefix: "" } };

async function open(visibilitySeconds = 2): Promise<SqsQueue & { url: string }> {
	const url = await server.createQueue(`queue-${++queues}`);
	return { ...consumerOf(url, visibilitySeconds), url };
}

function consumerOf(url: string, visibilitySeconds: number, clock: Clock = systemClock): SqsQueue {
	return createSqsQueue({
		client: server.sqs,
		queueUrl: url,
		clock,
		log: silentLog,
		bucketAnnounces: true,
		visibilitySeconds,
		take: async (body) =>
			readS3Message(body, places).flatMap((notice) => (notice.kind === "load" ? [notice.job] : [])),
	});
}

describeReplayQueue("SQS", {
	open: () => open(),
	// A message that a request took which nobody waited for comes again after its visibility timeout.
	patienceMs: 10_000,
	exceptions: {
		"a job that waited while others were taken is delivered as attempt 1":
			"messages come ten at a time, and SQS counts that those were received which are given back",
	},
});

const job: ReplayJob = { tenant: "acme", upload_id: "01JDXM2Q6V8Z3T4R5W6Y7A8B9C" };
const put = (url: string, MessageBody: string) =>
	server.sqs.send(new SendMessageCommand({ QueueUrl: url, MessageBody }));
const manifest = (id: string) => ({
	eventName: "ObjectCreated:Put",
	s3: { bucket: { name: "lake" }, object: { key: `uploads/acme/${id}/manifest.json`, eTag: "e" } },
});

describe("the queue on SQS", () => {
	it("sends nothing that the bucket announces itself", async () => {
		const queue = await open();
		await queue.send(job);
		expect(await queue.waiting()).toBe(0);
		await queue.send(job, { again: true });
		expect(await queue.waiting()).toBe(1);
	});

	it("deletes a message of several loads with the last of them, and brings all again where one is to come again", async () => {
		const queue = await open();
		const ids = ["A", "B"].map((end) => `01JDXM2Q6V8Z3T4R5W6Y7A8B9${end}`);
		await put(queue.url, JSON.stringify({ Records: ids.map(manifest) }));
		const stop = new AbortController();
		const seen: string[] = [];
		for await (const delivery of queue.receive(stop.signal)) {
			seen.push(`${delivery.job.upload_id.at(-1)}${delivery.attempt}`);
			if (seen.length === 1) await delivery.retry(0);
			else await delivery.ack();
			if (seen.length === 4) stop.abort();
		}
		expect(seen).toEqual(["A1", "B1", "A2", "B2"]);
		expect(await queue.waiting()).toBe(0);
	});

	it("keeps a message hidden for as long as its load runs", async () => {
		const queue = await open(3);
		await queue.send(job, { again: true });
		const stop = new AbortController();
		let deliveries = 0;
		for await (const delivery of queue.receive(stop.signal)) {
			deliveries++;
			// Twice the time after which it would come again.
			await new Promise((wake) => setTimeout(wake, 6_000));
			expect(await queue.waiting()).toBe(0);
			await delivery.ack();
			stop.abort();
		}
		expect(deliveries).toBe(1);
		expect(await queue.waiting()).toBe(0);
	});

	it("brings the message of a loader that died again, counted", async () => {
		const queue = await open(1);
		await queue.send(job, { again: true });
		// Nothing that it would have done later is done.
		const dead = consumerOf(queue.url, 1, { ...systemClock, sleep: () => new Promise(() => {}) });
		for await (const _ of dead.receive(new AbortController().signal)) break;
		for await (const delivery of queue.receive(new AbortController().signal)) {
			expect(delivery.attempt).toBe(2);
			await delivery.ack();
			break;
		}
	});

	it("leaves what is no message to the dead letters, and goes on with others", async () => {
		const queue = await open(1);
		await put(queue.url, "no JSON at all");
		await queue.send(job, { again: true });
		for await (const delivery of queue.receive(new AbortController().signal)) {
			expect(delivery.job).toEqual(job);
			await delivery.ack();
			break;
		}
		await new Promise((wake) => setTimeout(wake, 2_500));
		expect(await queue.waiting()).toBe(1);
	});
});
