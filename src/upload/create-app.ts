/**
 * The service as a Hono app: a request in, an answer out, on any runtime.
 *
 * Order: request id > route > key > rate > query and body > right > handler, and
 * around all of it the headers, counts and the one audit line of each request.
 * Nothing below the rights runs for a caller who doesn't hold them.
 */
import { Hono } from "hono";
import { asIngestError, IngestError } from "../errors.ts";
import { createUploadSizes } from "../stage/upload-sizes.ts";
import type { Principal } from "../tenant/key-store.ts";
import { rateLimitHeaders } from "../tenant/request-rate.ts";
import { errorAnswer } from "./answers.ts";
import type { AppDeps } from "./app-deps.ts";
import { authorise } from "./authorise.ts";
import { corsHeaders, preflightAnswer } from "./cors.ts";
import { matchRoute } from "./match-route.ts";
import { assertSentOnce, readRequestId, readTraceparent } from "./read-headers.ts";
import { readJsonBody, readQuery } from "./read-input.ts";
import { informer } from "./resumable-headers.ts";
import { type Call, isBytesBody, type Route } from "./route.ts";
import { routes } from "./routes.ts";
import { securityHeaders } from "./security-headers.ts";

/** What is known of a request so far; the audit line is made of it. */
interface Progress {
	requestId: string;
	route: Route | null;
	principal: Principal | null;
	outcome: string;
	noted: { load_id?: string; table?: string };
	/** For the answer, whatever it is. */
	headers: Record<string, string>;
}

export function createApp(given: AppDeps): Hono {
	const deps: AppDeps = { ...given, uploadSizes: createUploadSizes() };
	const app = new Hono();
	app.all("*", async (c) => {
		const started = deps.clock.now();
		const request = c.req.raw;
		const progress: Progress = {
			requestId: readRequestId(request.headers),
			route: null,
			principal: null,
			outcome: "ok",
			noted: {},
			headers: {},
		};
		const url = new URL(request.url);
		const answer = await answerRequest(deps, request, url, c.env, progress).catch((error) =>
			refuse(deps, request, url, progress, error),
		);
		finish(deps, request, url, answer, progress, deps.clock.now() - started);
		return withHeaders(deps, request, url, answer, progress);
	});
	return app;
}

async function answerRequest(
	deps: AppDeps,
	request: Request,
	url: URL,
	env: unknown,
	progress: Progress,
): Promise<Response> {
	assertSentOnce(deps.rawHeaders?.(env) ?? []);
	// RFC 9110, section 9.3.2: HEAD is GET without the content; Hono takes that away.
	const method = request.method === "HEAD" ? "GET" : request.method;
	const match = matchRoute(routes, method, url.pathname);
	if (match.kind !== "found") {
		return unmatched(deps, request, url, progress, match.kind === "no_path" ? null : match.routes);
	}
	const { route, params } = match;
	progress.route = route;
	const principal = await identify(deps, request, route);
	progress.principal = principal;
	await takeRequest(deps, principal, progress);
	const log = deps.log.with({
		request_id: progress.requestId,
		...(principal === null ? {} : { tenant: principal.tenant, key_id: principal.keyId }),
	});
	const call: Call = {
		deps,
		request,
		openBody: () => (deps.bodyOf ? deps.bodyOf(request, env) : request.body),
		requestId: progress.requestId,
		traceparent: readTraceparent(request.headers),
		params,
		query: readQuery(route.query, url.searchParams),
		body:
			route.body === null || isBytesBody(route.body)
				? null
				: await readJsonBody(route.body, request, deps.clock),
		principal,
		log,
		note: (fields) => Object.assign(progress.noted, fields),
		setHeaders: (headers) => Object.assign(progress.headers, headers),
		inform: informer(deps, request, env),
	};
	const granted = await authorise(route, call, env);
	if (!route.takes || principal === null) return route.handler(call, granted);
	const takes = typeof route.takes === "function" ? route.takes(call) : route.takes;
	const ended = await deps.quotas?.assertRoom(principal.tenant, takes);
	let answer: Response | null = null;
	try {
		answer = await route.handler(call, granted);
		return answer;
	} finally {
		// 202: it goes on without us, and the loader tells when it is over.
		if (answer?.status !== 202) ended?.();
	}
}

/** `rate_limited`; the headers go on every answer. */
async function takeRequest(
	deps: AppDeps,
	principal: Principal | null,
	progress: Progress,
): Promise<void> {
	if (principal === null || !deps.rate) return;
	const state = await deps.rate.take(principal.keyId);
	progress.headers = rateLimitHeaders(state);
	if (state.allowed) return;
	const limit = state.limit === null ? "so many" : String(state.limit);
	throw new IngestError("rate_limited", `a key has ${limit} requests a minute here, all are used`, {
		retryAfterSeconds: state.resetSeconds,
	});
}

/** Null on open routes, and for `/metrics` without a key: its right looks at the peer. */
async function identify(deps: AppDeps, request: Request, route: Route): Promise<Principal | null> {
	if (route.right === "open") return null;
	const authorization = request.headers.get("authorization");
	if (route.right === "metrics" && authorization === null) return null;
	return deps.keyStore.authenticate(authorization);
}

/** 404 and 405 are `bad_request`; OPTIONS tells what a path takes. */
function unmatched(
	deps: AppDeps,
	request: Request,
	url: URL,
	progress: Progress,
	others: readonly Route[] | null,
): Response {
	if (others === null) {
		const error = new IngestError("bad_request", `there is no route ${shown(url.pathname)}`);
		return refuse(deps, request, url, progress, error, 404);
	}
	const allow = others.map(({ method }) => method);
	const methods = [...allow, ...(allow.includes("GET") ? ["HEAD"] : []), "OPTIONS"].join(", ");
	if (request.method === "OPTIONS") {
		for (const route of others) Object.assign(progress.headers, route.options?.(deps));
		return preflightAnswer(methods);
	}
	const error = new IngestError(
		"bad_request",
		`${shown(url.pathname)} takes ${methods}, not ${request.method}`,
	);
	return refuse(deps, request, url, progress, error, 405, { Allow: methods });
}

function refuse(
	deps: AppDeps,
	request: Request,
	url: URL,
	progress: Progress,
	thrown: unknown,
	status?: number,
	headers: Record<string, string> = {},
): Response {
	const gone = request.signal?.aborted && !(thrown instanceof IngestError);
	const error = gone
		? new IngestError("truncated_stream", "the caller went away", { cause: thrown })
		: asIngestError(thrown);
	progress.outcome = error.code;
	if (error.code === "internal") {
		deps.log.error("request failed", {
			request_id: progress.requestId,
			route: progress.route?.id,
			error: error.message,
			stack: (error.cause instanceof Error ? error.cause : error).stack,
		});
	}
	const context = {
		instance: url.pathname,
		request_id: progress.requestId,
		...(status === undefined ? {} : { status }),
	};
	const { limits, maxRequestBytes } = deps;
	// What the platform before us lets through is no more than its own limit.
	const maxPartBytes = Math.min(limits.maxPartBytes, maxRequestBytes ?? Number.POSITIVE_INFINITY);
	return errorAnswer(error, { ...limits, maxPartBytes }, context, headers);
}

/** The audit line and the counts. */
function finish(
	deps: AppDeps,
	request: Request,
	url: URL,
	answer: Response,
	progress: Progress,
	ms: number,
): void {
	const route = progress.route?.id ?? "none";
	const tenant = progress.principal?.tenant ?? null;
	const outcome =
		answer.status < 400 ? "ok" : progress.outcome === "ok" ? "failed" : progress.outcome;
	deps.metrics?.countRequest({ route, tenant, outcome });
	deps.metrics?.observeSeconds(route, ms / 1000);
	// Whoever asks for health every second is no news.
	const level = progress.route?.right === "open" && answer.status < 400 ? "debug" : "info";
	deps.log[level]("request", {
		request_id: progress.requestId,
		route,
		method: request.method,
		path: shown(url.pathname),
		tenant,
		key_id: progress.principal?.keyId ?? null,
		outcome,
		status: answer.status,
		...progress.noted,
		ms,
	});
}

function withHeaders(
	deps: AppDeps,
	request: Request,
	url: URL,
	answer: Response,
	progress: Progress,
): Response {
	const headers = new Headers(answer.headers);
	headers.set("X-Request-Id", progress.requestId);
	for (const [name, value] of Object.entries(progress.headers)) headers.set(name, value);
	for (const [name, value] of securityHeaders(url, headers)) headers.set(name, value);
	for (const [name, value] of corsHeaders(deps.corsOrigins ?? [], request, headers)) {
		headers.set(name, value);
	}
	return new Response(answer.body, { status: answer.status, headers });
}

const shown = (pathname: string) => pathname.slice(0, 300);
