/**
 * A server that sends its own notifications: S3 to SQS to dead letters, by moto from
 * PyPI. It checks neither signatures nor checksums; the S3 driver is held to those by
 * SeaweedFS.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { createServer } from "node:net";
import {
	CreateBucketCommand,
	PutBucketNotificationConfigurationCommand,
	S3Client,
} from "@aws-sdk/client-s3";
import {
	CreateQueueCommand,
	GetQueueAttributesCommand,
	type Message,
	ReceiveMessageCommand,
	SQSClient,
} from "@aws-sdk/client-sqs";
import { pythonWith } from "../python-venv.ts";

export interface EventServer {
	bucket: string;
	queueUrl: string;
	s3: S3Client;
	sqs: SQSClient;
	/** What a service's process needs to reach it. */
	env: Record<string, string>;
	/** A queue of its own, without dead letters; its URL. */
	createQueue(name: string): Promise<string>;
	/** Messages in the queue, visible or not. */
	waiting(): Promise<number>;
	deadLetters(): Promise<Message[]>;
	stop(): Promise<void>;
}

const startMs = 60_000;
const region = "eu-central-1";
const credentials = { accessKeyId: "AKIADUCKDOCKTEST", secretAccessKey: "duckdock-test-secret" };

/** The bucket announces manifests and files of `drop/`; a message is received `maxReceives` times at most. */
export async function startMoto(options: { maxReceives: number }): Promise<EventServer> {
	const python = pythonWith("moto", ["moto[server]==5.2.5"]);
	const port = await freePort();
	const child = spawn(python, ["-m", "moto.server", "-H", "127.0.0.1", "-p", String(port)], {
		stdio: ["ignore", "ignore", "pipe"],
	});
	let log = "";
	child.stderr!.on("data", (text) => {
		log = (log + text).slice(-20_000);
	});
	const endpoint = `http://127.0.0.1:${port}`;
	const shared = { endpoint, region, credentials };
	const s3 = new S3Client({
		...shared,
		forcePathStyle: true,
		requestChecksumCalculation: "WHEN_REQUIRED",
		responseChecksumValidation: "WHEN_REQUIRED",
	});
	const sqs = new SQSClient(shared);
	const bucket = "lake";
	await untilReady(child, s3, bucket, () => log);

	const arnOf = async (QueueUrl: string) => {
		const names = { QueueUrl, AttributeNames: ["QueueArn" as const] };
		return (await sqs.send(new GetQueueAttributesCommand(names))).Attributes!.QueueArn!;
	};
	const dead = await sqs.send(new CreateQueueCommand({ QueueName: "dead" }));
	const created = await sqs.send(
		new CreateQueueCommand({
			QueueName: "loads",
			Attributes: {
				VisibilityTimeout: "30",
				RedrivePolicy: JSON.stringify({
					deadLetterTargetArn: await arnOf(dead.QueueUrl!),
					maxReceiveCount: options.maxReceives,
				}),
			},
		}),
	);
	const queueUrl = created.QueueUrl!;
	const QueueArn = await arnOf(queueUrl);
	const announce = (Prefix: string, Suffix?: string) => ({
		QueueArn,
		Events: ["s3:ObjectCreated:*" as const],
		Filter: {
			Key: {
				FilterRules: [
					{ Name: "prefix" as const, Value: Prefix },
					...(Suffix === undefined ? [] : [{ Name: "suffix" as const, Value: Suffix }]),
				],
			},
		},
	});
	await s3.send(
		new PutBucketNotificationConfigurationCommand({
			Bucket: bucket,
			NotificationConfiguration: {
				QueueConfigurations: [announce("uploads/", "/manifest.json"), announce("drop/")],
			},
		}),
	);
	return {
		bucket,
		queueUrl,
		s3,
		sqs,
		env: {
			AWS_ACCESS_KEY_ID: credentials.accessKeyId,
			AWS_SECRET_ACCESS_KEY: credentials.secretAccessKey,
			AWS_REGION: region,
			AWS_ENDPOINT_URL_SQS: endpoint,
			DUCKDOCK_S3_ENDPOINT: endpoint,
			DUCKDOCK_STORE: `s3://${bucket}`,
			DUCKDOCK_SQS_QUEUE_URL: queueUrl,
		},
		async createQueue(QueueName) {
			return (await sqs.send(new CreateQueueCommand({ QueueName }))).QueueUrl!;
		},
		async waiting() {
			const names = [
				"ApproximateNumberOfMessages" as const,
				"ApproximateNumberOfMessagesNotVisible" as const,
			];
			const { Attributes } = await sqs.send(
				new GetQueueAttributesCommand({ QueueUrl: queueUrl, AttributeNames: names }),
			);
			return names.reduce((sum, name) => sum + Number(Attributes?.[name] ?? 0), 0);
		},
		async deadLetters() {
			const answer = await sqs.send(
				new ReceiveMessageCommand({
					QueueUrl: dead.QueueUrl!,
					MaxNumberOfMessages: 10,
					VisibilityTimeout: 0,
				}),
			);
			return answer.Messages ?? [];
		},
		async stop() {
			const ended = new Promise((done) => child.once("close", done));
			child.kill("SIGKILL");
			await ended;
		},
	};
}

async function untilReady(
	child: ChildProcess,
	s3: S3Client,
	Bucket: string,
	log: () => string,
): Promise<void> {
	for (const deadline = Date.now() + startMs; ; ) {
		try {
			await s3.send(
				new CreateBucketCommand({
					Bucket,
					CreateBucketConfiguration: { LocationConstraint: region },
				}),
			);
			return;
		} catch (error) {
			if (child.exitCode !== null || Date.now() > deadline) {
				throw new Error(`moto does not start: ${log()}`, { cause: error });
			}
			await new Promise((wake) => setTimeout(wake, 200));
		}
	}
}

function freePort(): Promise<number> {
	return new Promise((resolve) => {
		const server = createServer().listen(0, "127.0.0.1", () => {
			const { port } = server.address() as { port: number };
			server.close(() => resolve(port));
		});
	});
}
