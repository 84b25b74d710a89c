/**
 * Lambda's side of the Runtime API, and a process that a function's bundle runs in as it
 * does there: its own folder, its own environment, one invocation at a time, ended at
 * its deadline. https://docs.aws.amazon.com/lambda/latest/dg/runtimes-api.html
 */
import { type ChildProcess, spawn } from "node:child_process";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import process from "node:process";

export interface LambdaFunction {
	/** From the process's start to the first question for work. */
	coldStartMs: number;
	/** The handler's answer; throws what it threw, or that its time was over. */
	invoke<T>(event: unknown, timeoutMs?: number): Promise<T>;
	output(): string;
	/** As a platform takes a process away: without a word. */
	kill(): void;
	close(): Promise<void>;
}

export interface LambdaOptions {
	folder: string;
	env: Record<string, string>;
	memoryMb?: number;
}

const bootstrap = join(import.meta.dirname, "bootstrap.mjs");

export async function startLambda({ folder, env }: LambdaOptions): Promise<LambdaFunction> {
	let waiting: ServerResponse | null = null;
	let asked = Promise.withResolvers<void>();
	let current: PromiseWithResolvers<unknown> | null = null;
	let requests = 0;
	let output = "";

	const server = createServer(async (request, response) => {
		const path = request.url!.replace("/2018-06-01/runtime", "");
		if (path === "/invocation/next") {
			waiting = response;
			asked.resolve();
			return;
		}
		const body = await textOf(request);
		response.writeHead(202).end();
		if (path.endsWith("/response")) current?.resolve(JSON.parse(body));
		else {
			const error = new Error(`${path}: ${body}`);
			if (path === "/init/error") asked.reject(error);
			else current?.reject(error);
		}
	});
	await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
	const { port } = server.address() as AddressInfo;
	let child: ChildProcess;
	let coldStartMs = 0;

	async function start(): Promise<void> {
		const began = performance.now();
		asked = Promise.withResolvers();
		child = spawn(process.execPath, [bootstrap], {
			cwd: folder,
			// Nothing of who runs the tests comes in.
			env: {
				PATH: "/usr/bin:/bin",
				TZ: ":UTC",
				LAMBDA_TASK_ROOT: folder,
				AWS_LAMBDA_FUNCTION_NAME: "duckdock",
				AWS_LAMBDA_RUNTIME_API: `127.0.0.1:${port}`,
				UV_THREADPOOL_SIZE: "8",
				...env,
			},
			stdio: ["ignore", "pipe", "pipe"],
		});
		const mine = child;
		for (const stream of [mine.stdout!, mine.stderr!]) {
			stream.on("data", (chunk) => {
				output += chunk;
			});
		}
		mine.on("close", (code, signal) => {
			if (mine !== child) return;
			waiting = null;
			const error = new Error(`the function's process ended (${code ?? signal}): ${output}`);
			asked.reject(error);
			current?.reject(error);
		});
		await asked.promise;
		coldStartMs = performance.now() - began;
	}
	await start();

	return {
		get coldStartMs() {
			return coldStartMs;
		},
		async invoke<T>(event: unknown, timeoutMs = 30_000): Promise<T> {
			// The platform starts a new process where the last one ended.
			if (child.exitCode !== null || child.signalCode !== null) await start();
			else await asked.promise;
			current = Promise.withResolvers<unknown>();
			asked = Promise.withResolvers();
			asked.promise.catch(() => {});
			waiting!.writeHead(200, {
				"Content-Type": "application/json",
				"Lambda-Runtime-Aws-Request-Id": `request-${++requests}`,
				"Lambda-Runtime-Deadline-Ms": String(Date.now() + timeoutMs),
			});
			waiting!.end(JSON.stringify(event));
			const over = setTimeout(() => child.kill("SIGKILL"), timeoutMs);
			try {
				return (await current.promise) as T;
			} finally {
				clearTimeout(over);
				current = null;
			}
		},
		output: () => output,
		kill: () => void child.kill("SIGKILL"),
		async close() {
			const ended = new Promise<void>((resolve) =>
				child.exitCode === null && child.signalCode === null
					? child.once("close", () => resolve())
					: resolve(),
			);
			asked.promise.catch(() => {});
			child.kill("SIGKILL");
			await ended;
			server.closeAllConnections();
			await new Promise((resolve) => server.close(resolve));
		},
	};
}

async function textOf(request: IncomingMessage): Promise<string> {
	let text = "";
	for await (const chunk of request) text += chunk;
	return text;
}

/** As a function URL or API Gateway's HTTP API hands a request over (payload 2.0). */
export function urlEvent(
	method: string,
	path: string,
	headers: Record<string, string> = {},
	body?: Uint8Array | string,
): unknown {
	const [rawPath, rawQueryString = ""] = path.split("?");
	const names = Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]);
	return {
		version: "2.0",
		routeKey: "$default",
		rawPath,
		rawQueryString,
		headers: { host: "example.lambda-url.eu-central-1.on.aws", ...Object.fromEntries(names) },
		requestContext: {
			accountId: "anonymous",
			apiId: "example",
			domainName: "example.lambda-url.eu-central-1.on.aws",
			http: { method, path: rawPath, protocol: "HTTP/1.1", sourceIp: "127.0.0.1", userAgent: "" },
			requestId: "r",
			routeKey: "$default",
			stage: "$default",
			time: "30/Nov/2026:12:00:00 +0000",
			timeEpoch: 0,
		},
		...(body === undefined ? {} : { body: Buffer.from(body).toString("base64") }),
		isBase64Encoded: body !== undefined,
	};
}

export interface UrlAnswer {
	statusCode: number;
	headers: Record<string, string>;
	body: string;
	isBase64Encoded?: boolean;
}

/** As SQS's event source hands messages over. */
export function sqsEvent(
	...messages: { id: string; body: unknown; receives?: number; handle?: string }[]
): unknown {
	return {
		Records: messages.map(({ id, body, receives = 1, handle = `handle-${id}` }) => ({
			messageId: id,
			receiptHandle: handle,
			body: typeof body === "string" ? body : JSON.stringify(body),
			attributes: { ApproximateReceiveCount: String(receives) },
			eventSource: "aws:sqs",
			eventSourceARN: "arn:aws:sqs:eu-central-1:123456789012:loads",
		})),
	};
}

export interface BatchAnswer {
	batchItemFailures: { itemIdentifier: string }[];
}
