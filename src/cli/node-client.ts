/**
 * What the client takes on Node in place of what every runtime has: the same answers, less work.
 *
 * Node's `fetch` copies the bytes of a body three times before they are sent, and `crypto.subtle` copies
 * what it digests. Measured on 1 GB in parts of 8 MiB: 4.4 s of processor time of the caller became 2.0.
 */
import { createHash } from "node:crypto";
import { once } from "node:events";
import { type IncomingMessage, request as requestHttp } from "node:http";
import { request as requestHttps } from "node:https";
import type { IngestClientOptions } from "../client/ingest-client.ts";

export const nodeClient = {
	fetch: fetchBytes,
	sha256: (bytes) => createHash("sha256").update(bytes).digest(),
} as const satisfies Pick<IngestClientOptions, "fetch" | "sha256">;

/** https://fetch.spec.whatwg.org/#redirect-status */
const redirects: ReadonlySet<number | undefined> = new Set([301, 302, 303, 307, 308]);

/** `fetch` of a body in memory. Other bodies, and redirects, are those of Node's own. */
async function fetchBytes(
	input: string | URL | Request,
	init: RequestInit = {},
): Promise<Response> {
	const { body } = init;
	if (!(body instanceof Uint8Array) || input instanceof Request) return fetch(input, init);
	const url = new URL(input);
	const request = (url.protocol === "https:" ? requestHttps : requestHttp)(url, {
		method: init.method ?? "GET",
		headers: Object.fromEntries(new Headers(init.headers)),
		...(init.signal ? { signal: init.signal } : {}),
	});
	// Of a connection that breaks when the answer is there.
	request.on("error", () => {});
	request.end(body);
	const [answer] = (await once(request, "response")) as [IncomingMessage];
	if (redirects.has(answer.statusCode)) {
		request.destroy();
		return fetch(input, init);
	}
	const chunks: Buffer[] = [];
	for await (const chunk of answer) chunks.push(chunk);
	const headers = new Headers();
	for (let at = 0; at < answer.rawHeaders.length; at += 2) {
		headers.append(answer.rawHeaders[at]!, answer.rawHeaders[at + 1]!);
	}
	const status = answer.statusCode!;
	const statusText = answer.statusMessage ?? "";
	const text = chunks.length === 0 ? null : Buffer.concat(chunks);
	return new Response(text, { status, statusText, headers });
}
