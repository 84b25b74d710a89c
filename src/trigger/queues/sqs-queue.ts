/**
 * Jobs through Amazon SQS: the bucket's own events and jobs by name come out, jobs by
 * name go in.
 * https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/sqs-visibility-timeout.html
 *
 * A message stays invisible while its loads run, and is deleted when all have ended.
 * What nobody can read is left to the queue's redrive policy, which moves it to the
 * dead letters. Every receive counts there, also one that found its load running and
 * one that was given back because its loader was told to stop.
 */

import {
	ChangeMessageVisibilityCommand,
	DeleteMessageCommand,
	GetQueueAttributesCommand,
	type Message,
	ReceiveMessageCommand,
	SendMessageCommand,
	type SQSClient,
} from "@aws-sdk/client-sqs";
import type { Clock } from "../../clock.ts";
import { asIngestError, IngestError } from "../../errors.ts";
import type { ReplayJob } from "../../flow.ts";
import type { Log } from "../../log.ts";
import type { Delivery, ReplayQueue } from "../replay-queue.ts";

export interface SqsQueueOptions {
	client: SQSClient;
	queueUrl: string;
	/** What a message asks for (`takeNotices`); `bad_request` for what is none. */
	take(body: string): Promise<ReplayJob[]>;
	clock: Clock;
	log: Log;
	/** The bucket announces finished uploads itself, so only what is to run again is sent. */
	bucketAnnounces: boolean;
	/** How long a message stays away when its loader died. */
	visibilitySeconds?: number;
}

/** https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/quotas-messages.html */
const longestVisibilitySeconds = 43_200;
const longestPollSeconds = 20;
const messagesAtOnce = 10;
const defaultVisibilitySeconds = 60;
const pauseAfterErrorMs = 2_000;

export interface SqsQueue extends ReplayQueue {
	/**
	 * Messages that wait, about. While there are some, a load without a receipt is not
	 * lost but not reached yet: who sends it again only makes the queue longer.
	 */
	waiting(): Promise<number>;
}

export function createSqsQueue(options: SqsQueueOptions): SqsQueue {
	const { client, queueUrl: QueueUrl, clock, log } = options;
	const visibilitySeconds = options.visibilitySeconds ?? defaultVisibilitySeconds;

	async function hide(message: Message, seconds: number): Promise<void> {
		await client.send(
			new ChangeMessageVisibilityCommand({
				QueueUrl,
				ReceiptHandle: message.ReceiptHandle,
				VisibilityTimeout: Math.min(longestVisibilitySeconds, Math.max(0, Math.ceil(seconds))),
			}),
		);
	}

	/** Every job's delivery; the message goes with the last one. */
	async function open(message: Message): Promise<Delivery[]> {
		const attempt = Number(message.Attributes?.ApproximateReceiveCount ?? 1);
		const done = new AbortController();
		const held = keepHidden(message, done.signal);
		const end = async (work: () => Promise<unknown>) => {
			done.abort();
			await held;
			await work().catch((error) => {
				// It comes again, and its loads are found to be done.
				log.warn("a message could not be settled", { error: String(error) });
			});
		};
		const remove = () =>
			client.send(new DeleteMessageCommand({ QueueUrl, ReceiptHandle: message.ReceiptHandle }));
		let jobs: ReplayJob[];
		try {
			jobs = await options.take(message.Body ?? "");
		} catch (thrown) {
			const error = asIngestError(thrown);
			log.error("a message was not taken", {
				message_id: message.MessageId,
				code: error.code,
				error: error.message,
			});
			await end(() => hide(message, Math.min(600, 2 ** attempt)));
			return [];
		}
		let left = jobs.length;
		let againMs: number | null = null;
		const settle = async () => {
			if (--left > 0) return;
			await end(() => (againMs === null ? remove() : hide(message, againMs / 1000)));
		};
		if (jobs.length === 0) await end(remove);
		return jobs.map((job) => {
			let settled = false;
			const once = async () => {
				if (settled) return;
				settled = true;
				await settle();
			};
			return {
				job,
				attempt,
				ack: once,
				retry: (delayMs) => {
					if (!settled) againMs = Math.max(againMs ?? 0, delayMs);
					return once();
				},
			};
		});
	}

	async function keepHidden(message: Message, done: AbortSignal): Promise<void> {
		while (!done.aborted) {
			await clock.sleep((visibilitySeconds * 1000) / 3, done).catch(() => {});
			if (done.aborted) return;
			await hide(message, visibilitySeconds).catch((error) =>
				log.warn("a message could not be kept hidden", { error: String(error) }),
			);
		}
	}

	return {
		async waiting() {
			const name = "ApproximateNumberOfMessages";
			const { Attributes } = await client.send(
				new GetQueueAttributesCommand({ QueueUrl, AttributeNames: [name] }),
			);
			return Number(Attributes?.[name] ?? 0);
		},

		async send(job, { again = false } = {}) {
			if (options.bucketAnnounces && !again) return;
			try {
				const MessageBody = JSON.stringify({ tenant: job.tenant, upload_id: job.upload_id });
				await client.send(new SendMessageCommand({ QueueUrl, MessageBody }));
			} catch (cause) {
				throw new IngestError("store_unavailable", "the queue did not take the job", { cause });
			}
		},

		async *receive(signal) {
			while (!signal.aborted) {
				let messages: Message[] = [];
				try {
					const answer = await client.send(
						new ReceiveMessageCommand({
							QueueUrl,
							MaxNumberOfMessages: messagesAtOnce,
							WaitTimeSeconds: longestPollSeconds,
							VisibilityTimeout: visibilitySeconds,
							MessageSystemAttributeNames: ["ApproximateReceiveCount"],
						}),
						{ abortSignal: signal },
					);
					messages = answer.Messages ?? [];
				} catch (error) {
					if (signal.aborted) return;
					log.warn("the queue could not be asked", { error: String(error) });
					await clock.sleep(pauseAfterErrorMs, signal).catch(() => {});
				}
				const deliveries = (await Promise.all(messages.map(open))).flat();
				try {
					for (let next = deliveries.shift(); next !== undefined; next = deliveries.shift()) {
						yield next;
						if (signal.aborted) break;
					}
				} finally {
					// Nobody takes these any more: they are for the next loader, at once.
					await Promise.all(deliveries.map((delivery) => delivery.retry(0)));
				}
			}
		},
	};
}
