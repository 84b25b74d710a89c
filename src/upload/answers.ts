/** Answers in the forms that the contract has: JSON, problem, nothing. */
import { IngestError } from "../errors.ts";
import type { Problem } from "../flow.ts";
import type { Limits } from "../limits.ts";
import { type ProblemContext, problemOf, retryAfterSeconds } from "./problem-json.ts";
import { uploadLimit } from "./resumable-headers.ts";
import type { Call } from "./route.ts";

export function jsonAnswer(
	value: unknown,
	status = 200,
	headers: Record<string, string> = {},
): Response {
	return new Response(`${JSON.stringify(value)}\n`, {
		status,
		headers: { "Content-Type": "application/json", ...headers },
	});
}

export function emptyAnswer(headers: Record<string, string> = {}): Response {
	return new Response(null, { status: 204, headers });
}

/** With the headers that belong to the code: Retry-After, Upload-Limit, WWW-Authenticate. */
export function errorAnswer(
	error: IngestError,
	limits: Limits,
	context: ProblemContext,
	headers: Record<string, string> = {},
): Response {
	const problem = problemOf(error, context);
	const seconds = retryAfterSeconds(error);
	return problemAnswer(problem, limits, {
		...(seconds === null ? {} : { "Retry-After": String(seconds) }),
		...headers,
	});
}

export function problemAnswer(
	problem: Problem,
	limits: Limits,
	headers: Record<string, string> = {},
): Response {
	return new Response(`${JSON.stringify(problem)}\n`, {
		status: problem.status,
		headers: {
			"Content-Type": "application/problem+json",
			...(problem.status === 413 ? { "Upload-Limit": limitOf(limits) } : {}),
			...(problem.status === 401 ? { "WWW-Authenticate": challenge(problem) } : {}),
			...headers,
		},
	});
}

/** 404 for what this deployment doesn't have: the code is `bad_request`, there is nothing to find. */
export function notHereAnswer(call: Call, detail: string): Response {
	const context = {
		status: 404,
		request_id: call.requestId,
		instance: new URL(call.request.url).pathname,
	};
	return errorAnswer(new IngestError("bad_request", detail), call.deps.limits, context);
}

const limitOf = ({ maxUploadBytes, maxPartBytes }: Limits) =>
	uploadLimit({ maxUploadBytes, maxAppendBytes: maxPartBytes });

/** https://www.rfc-editor.org/rfc/rfc6750#section-3.1 */
function challenge(problem: Problem): string {
	return problem.code === "key_expired"
		? 'Bearer realm="duckdock", error="invalid_token", error_description="expired"'
		: 'Bearer realm="duckdock"';
}
