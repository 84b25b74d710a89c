/** The laws of the store, kept by the R2 driver inside workerd on R2's local runtime. */
import { request as httpRequest } from "node:http";
import process from "node:process";
import { Readable } from "node:stream";
import { afterAll, beforeAll } from "vitest";
import { createTestHarness } from "wrangler";
import { type ErrorCode, IngestError } from "../../src/errors.ts";
import type { ObjectInfo, ObjectStore } from "../../src/stage/object-store.ts";
import { describeObjectStore } from "../contract/object-store.ts";

process.env.CLOUDFLARE_CF_FETCH_ENABLED = "false";
process.env.WRANGLER_SEND_METRICS = "false";
process.env.CI = "1";

const server = createTestHarness({
	root: new URL("../..", import.meta.url).pathname,
	workers: [
		{
			config: {
				name: "store",
				main: "test/workerd/store-worker.ts",
				compatibility_date: "2026-11-01",
				compatibility_flags: ["enable_request_signal"],
				r2_buckets: [{ binding: "OBJECTS", bucket_name: "suite" }],
			},
		},
	],
});
let url: URL;
beforeAll(async () => {
	url = (await server.listen()).url;
});
afterAll(() => server.close());

interface Answer {
	status: number;
	headers: Record<string, string | string[] | undefined>;
	body: Readable;
}

/** A body that fails is a connection that breaks, as it would be for a caller. */
function ask(
	call: object,
	body: Uint8Array | ReadableStream<Uint8Array> | null,
	signal?: AbortSignal,
): Promise<Answer> {
	const target = new URL(`/?call=${encodeURIComponent(JSON.stringify(call))}`, url);
	return new Promise((resolve, reject) => {
		const request = httpRequest(target, {
			method: body === null ? "GET" : "PUT",
			...(body instanceof Uint8Array ? { headers: { "Content-Length": body.length } } : {}),
			...(signal ? { signal } : {}),
		});
		request.on("response", (response) =>
			resolve({ status: response.statusCode!, headers: response.headers, body: response }),
		);
		request.on("error", reject);
		if (body === null || body instanceof Uint8Array) request.end(body ?? undefined);
		else {
			const source = Readable.fromWeb(body as never);
			source.on("error", (error) => request.destroy(error));
			source.pipe(request);
		}
	});
}

async function json<T>(answer: Answer): Promise<T> {
	const chunks: Buffer[] = [];
	for await (const chunk of answer.body) chunks.push(chunk as Buffer);
	const value = JSON.parse(Buffer.concat(chunks).toString());
	if (answer.status === 200) return value as T;
	throw new IngestError(value.code as ErrorCode, value.message);
}

const store: ObjectStore = {
	description: "r2 in workerd",
	async put(key, body, { signal, ...options } = {}) {
		const stream = body instanceof ReadableStream;
		return json<ObjectInfo | null>(
			await ask({ method: "put", key, stream, options }, body, signal),
		);
	},
	async get(key, { signal, ...options } = {}) {
		const answer = await ask({ method: "get", key, options }, null, signal);
		const info = answer.headers["x-info"];
		if (typeof info !== "string") return json<null>(answer);
		return {
			info: JSON.parse(decodeURIComponent(info)) as ObjectInfo,
			body: Readable.toWeb(answer.body) as ReadableStream<Uint8Array>,
		};
	},
	head: async (key) => json(await ask({ method: "head", key }, null)),
	async delete(key) {
		await json(await ask({ method: "delete", key }, null));
	},
	async *list(key, options = {}) {
		yield* await json<ObjectInfo[]>(await ask({ method: "list", key, options }, null));
	},
};

describeObjectStore("R2 in workerd", { open: async () => store, pageSize: 1_000 });
