/**
 * Who may call from a browser: the origins of the allow-list, nobody by default.
 * Keys travel in a header that no browser adds by itself, so no credentials mode
 * is ever allowed. https://fetch.spec.whatwg.org/#http-cors-protocol
 */
const exposed = [
	"Content-Location",
	"Idempotency-Replayed",
	"Location",
	"Preference-Applied",
	"RateLimit",
	"RateLimit-Policy",
	"Retry-After",
	"Upload-Complete",
	"Upload-Length",
	"Upload-Limit",
	"Upload-Offset",
	"X-Request-Id",
].join(", ");

const taken = [
	"Authorization",
	"Content-Digest",
	"Content-Encoding",
	"Content-Type",
	"Idempotency-Key",
	"Prefer",
	"Repr-Digest",
	"traceparent",
	"Upload-Complete",
	"Upload-Draft-Interop-Version",
	"Upload-Length",
	"Upload-Offset",
	"X-Request-Id",
].join(", ");

/** An OPTIONS of a path that is there; `corsHeaders` adds what a browser asked for. */
export function preflightAnswer(methods: string): Response {
	return new Response(null, { status: 204, headers: { Allow: methods } });
}

/** Empty without an Origin, and for one that isn't allowed. */
export function corsHeaders(
	origins: readonly string[],
	request: Request,
	present: Headers,
): [string, string][] {
	if (origins.length === 0) return [];
	const origin = request.headers.get("origin");
	const vary: [string, string] = [
		"Vary",
		[present.get("vary"), "Origin"].filter((name) => name !== null).join(", "),
	];
	const any = origins.includes("*");
	if (origin === null || !(any || origins.includes(origin))) return [vary];
	const headers: [string, string][] = [
		vary,
		["Access-Control-Allow-Origin", any ? "*" : origin],
		["Access-Control-Expose-Headers", exposed],
		["Cross-Origin-Resource-Policy", "cross-origin"],
	];
	if (request.method === "OPTIONS" && request.headers.has("access-control-request-method")) {
		headers.push(
			["Access-Control-Allow-Methods", present.get("allow") ?? "GET"],
			["Access-Control-Allow-Headers", taken],
			["Access-Control-Max-Age", "600"],
		);
	}
	return headers;
}
