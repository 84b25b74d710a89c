/**
 * One HTTP request that is tried until it has an answer.
 *
 * Every request that goes through here may be repeated: reads, parts (last bytes
 * win), complete (same count, same answer), and creations that carry a key.
 * Tried again: no connection, 408, 429 and 5xx, after the answer's `Retry-After` or
 * a jittered exponential back-off. Other answers are the caller's.
 */
import type { Problem } from "../flow.ts";
import { ConnectionError, ProblemError } from "./client-errors.ts";

export interface HttpOptions {
	/** `https://host` or with a path before `/v1`. */
	url: string;
	/** `dk_…`; absent: no Authorization header. */
	key?: string | undefined;
	fetch?: typeof fetch;
	/** Tries of one request before its failure is the caller's. */
	maxTries?: number;
	/** First back-off; it doubles to `maxDelayMs`. */
	baseDelayMs?: number;
	maxDelayMs?: number;
	/** Told before each wait. */
	onRetry?: (event: RetryEvent) => void;
}

export interface RetryEvent {
	request: string;
	attempt: number;
	delayMs: number;
	reason: string;
}

export interface HttpRequest {
	method: string;
	/** From `/v1` on; an absolute URL is taken as it is and gets no Authorization header. */
	path: string;
	headers?: Record<string, string>;
	body?: Uint8Array<ArrayBuffer> | Blob | string;
	/** Statuses that are answers; all others throw a ProblemError. */
	accept?: readonly number[];
	signal?: AbortSignal | undefined;
}

export interface HttpAnswer {
	status: number;
	headers: Headers;
	/** Parsed JSON; null when the body is empty. */
	json: unknown;
}

export type SendRequest = (request: HttpRequest) => Promise<HttpAnswer>;

const retriedStatuses = new Set([408, 425, 429, 500, 502, 503, 504]);

export function createSendRequest(options: HttpOptions): SendRequest {
	const base = options.url.replace(/\/+$/, "");
	const doFetch = options.fetch ?? fetch;
	const maxTries = options.maxTries ?? 8;
	const baseDelayMs = options.baseDelayMs ?? 200;
	const maxDelayMs = options.maxDelayMs ?? 15_000;

	return async (request) => {
		const absolute = /^https?:/.test(request.path);
		const url = absolute ? request.path : base + request.path;
		const headers = new Headers(request.headers);
		if (options.key !== undefined && !absolute) {
			headers.set("Authorization", `Bearer ${options.key}`);
		}
		for (let attempt = 1; ; attempt += 1) {
			request.signal?.throwIfAborted();
			let failure: Error;
			try {
				const response = await doFetch(url, {
					method: request.method,
					headers,
					body: request.body ?? null,
					signal: request.signal ?? null,
				});
				const answer = await readAnswer(response, request, absolute);
				if (!(answer instanceof ProblemError)) return answer;
				if (!retriedStatuses.has(answer.problem.status) || !answer.problem.retryable) throw answer;
				failure = answer;
			} catch (error) {
				request.signal?.throwIfAborted();
				if (error instanceof ProblemError) throw error;
				failure = new ConnectionError(`${request.method} ${url}: ${reasonOf(error)}`, {
					cause: error,
				});
			}
			if (attempt >= maxTries) throw failure;
			const backoffMs = Math.min(maxDelayMs, baseDelayMs * 2 ** (attempt - 1));
			const asked = failure instanceof ProblemError ? failure.retryAfterSeconds : null;
			const delayMs = asked === null ? backoffMs * (0.5 + Math.random() / 2) : asked * 1000;
			options.onRetry?.({
				request: `${request.method} ${request.path}`,
				attempt,
				delayMs,
				reason: failure.message,
			});
			await pause(delayMs, request.signal);
		}
	};
}

async function readAnswer(
	response: Response,
	request: HttpRequest,
	foreign: boolean,
): Promise<HttpAnswer | ProblemError> {
	const text = await response.text();
	const accepted = request.accept?.includes(response.status) ?? response.ok;
	if (accepted && foreign)
		return { status: response.status, headers: response.headers, json: null };
	const json = parseJson(text);
	if (accepted && json !== undefined) {
		return { status: response.status, headers: response.headers, json };
	}
	const retryAfter = Number(response.headers.get("Retry-After") ?? Number.NaN);
	return new ProblemError(
		isProblem(json) ? json : strangerProblem(response, text),
		Number.isFinite(retryAfter) ? retryAfter : null,
	);
}

/** An answer that is not ours: a proxy in between, a captive portal, another service. */
function strangerProblem(response: Response, text: string): Problem {
	const says = text.trim().replace(/\s+/g, " ").slice(0, 200);
	return {
		type: "about:blank",
		title: response.statusText || `HTTP ${response.status}`,
		status: response.status,
		detail: `${response.status} that is no answer of this service${says === "" ? "" : `: ${says}`}`,
		code:
			response.status === 413 ? "too_large" : response.status < 500 ? "bad_request" : "internal",
		retryable: retriedStatuses.has(response.status),
	};
}

function isProblem(value: unknown): value is Problem {
	return (
		typeof value === "object" &&
		value !== null &&
		typeof (value as Problem).code === "string" &&
		typeof (value as Problem).detail === "string"
	);
}

/** Undefined: not JSON. */
function parseJson(text: string): unknown {
	if (text === "") return null;
	try {
		return JSON.parse(text);
	} catch {
		return undefined;
	}
}

/** Node and browsers hide why a fetch failed one or two causes deep. */
function reasonOf(error: unknown): string {
	const messages: string[] = [];
	for (let at: unknown = error; at instanceof Error && messages.length < 4; at = at.cause) {
		const code = (at as { code?: unknown }).code;
		messages.push(at.message || (typeof code === "string" ? code : at.name));
	}
	return messages.length === 0 ? String(error) : messages.join(": ");
}

/** Resolves after `ms`; rejects with the signal's reason. */
export function pause(ms: number, signal?: AbortSignal): Promise<void> {
	return new Promise((resolve, reject) => {
		signal?.throwIfAborted();
		const onAbort = () => {
			clearTimeout(timer);
			reject(signal?.reason);
		};
		const timer = setTimeout(() => {
			signal?.removeEventListener("abort", onAbort);
			resolve();
		}, ms);
		signal?.addEventListener("abort", onAbort, { once: true });
	});
}
