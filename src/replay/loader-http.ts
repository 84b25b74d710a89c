/**
 * The loader's HTTP side: signed names of jobs in, an answer once the load is final.
 *
 *   POST /v1/replay {tenant, upload_id}   200 final · 202 still running · 401 · 429 busy · 503 draining
 *   GET /healthz                          200
 */
import type { Clock } from "../clock.ts";
import { asIngestError } from "../errors.ts";
import type { ReplayJob } from "../flow.ts";
import type { Log } from "../log.ts";
import { isFinal, type ReceiptBook } from "../receipt/receipt-book.ts";
import { loaderPath } from "../trigger/call-loader.ts";
import { jobOfMessage } from "../trigger/r2-event.ts";
import { signatureHeader, verifyBody } from "../trigger/signed-request.ts";
import { problemKinds } from "../upload/problem-json.ts";

/** A job is two names. */
const maxBodyBytes = 4_096;

export interface LoaderHttpDeps {
	secret: string;
	clock: Clock;
	log: Log;
	receipts: Pick<ReceiptBook, "read" | "waitFor">;
	queue: { send(job: ReplayJob): Promise<void> };
	isReady(): boolean;
	/** How long a request waits for its load: less than who calls has patience. */
	patienceMs: number;
	draining: AbortSignal;
}

export function createLoaderHttp(deps: LoaderHttpDeps): (request: Request) => Promise<Response> {
	/** Jobs of this process; asked for again, they are waited for and not sent twice. */
	const running = new Map<string, Promise<void>>();

	async function take(request: Request): Promise<Response> {
		const body = await readText(request);
		if (body === null) return answer(413, "a job is two names");
		const header = request.headers.get(signatureHeader);
		if (!(await verifyBody(deps.secret, body, header, deps.clock.now()))) {
			deps.log.warn("a request without a good signature was refused");
			return answer(401, "the signature is not good");
		}
		const job = jobOfMessage(parse(body));
		if (job === null) return answer(200, "names no load");
		if (deps.draining.aborted) return answer(503, "draining", 10);
		const name = `${job.tenant}/${job.upload_id}`;
		const known = await deps.receipts.read(job.tenant, job.upload_id);
		if (known === null) return answer(200, "there is no such load");
		if (isFinal(known.status)) return answer(200, known.status);
		if (!running.has(name)) await send(name, job);
		const receipt = await waitFor(job);
		return receipt === null ? answer(202, "running", 30) : answer(200, receipt.status);
	}

	async function send(name: string, job: ReplayJob): Promise<void> {
		await deps.queue.send(job);
		const never = new AbortController().signal;
		const ended = deps.receipts.waitFor(job.tenant, job.upload_id, never).then(() => {
			running.delete(name);
		});
		ended.catch(() => running.delete(name));
		running.set(name, ended);
	}

	async function waitFor(job: ReplayJob) {
		const over = new AbortController();
		deps.clock.sleep(deps.patienceMs, over.signal).then(
			() => over.abort(),
			() => {},
		);
		const signal = AbortSignal.any([over.signal, deps.draining]);
		try {
			return await deps.receipts.waitFor(job.tenant, job.upload_id, signal);
		} finally {
			over.abort();
		}
	}

	return async (request) => {
		const { pathname } = new URL(request.url);
		if (request.method === "GET" && pathname === "/healthz") {
			return deps.isReady() && !deps.draining.aborted
				? answer(200, "ok")
				: answer(503, "not ready", 5);
		}
		if (request.method !== "POST" || pathname !== loaderPath) return answer(404, "not here");
		try {
			return await take(request);
		} catch (thrown) {
			const error = asIngestError(thrown);
			deps.log.error("a job was not taken", { code: error.code, error: error.message });
			return answer(problemKinds[error.code].status, error.code, error.retryAfterSeconds ?? 5);
		}
	};
}

async function readText(request: Request): Promise<string | null> {
	let text = "";
	let size = 0;
	const decoder = new TextDecoder();
	for await (const chunk of (request.body ?? []) as unknown as AsyncIterable<Uint8Array>) {
		size += chunk.length;
		if (size > maxBodyBytes) return null;
		text += decoder.decode(chunk, { stream: true });
	}
	return text + decoder.decode();
}

function parse(text: string): unknown {
	try {
		return JSON.parse(text);
	} catch {
		return null;
	}
}

function answer(status: number, detail: string, retryAfter?: number): Response {
	const headers = {
		"Content-Type": "application/json",
		...(retryAfter === undefined ? {} : { "Retry-After": String(Math.ceil(retryAfter)) }),
	};
	return new Response(`${JSON.stringify({ detail })}\n`, { status, headers });
}
