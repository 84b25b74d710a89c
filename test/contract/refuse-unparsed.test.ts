/** A request that no app sees is answered as the app would: it was a bare 400 without id or body once. */
import { once } from "node:events";
import { createServer, type Server } from "node:http";
import { type AddressInfo, connect } from "node:net";
import { afterAll, beforeAll, expect, test } from "vitest";
import { refuseUnparsed } from "../../functions/refuse-unparsed.node.ts";
import { serverOptions } from "../../src/upload/node-server-options.ts";

let server: Server;
beforeAll(async () => {
	server = createServer(serverOptions, (request) => request.resume());
	server.on("clientError", refuseUnparsed);
	await once(server.listen(0, "127.0.0.1"), "listening");
});
afterAll(() => server.close());

async function answerTo(text: string): Promise<string> {
	const socket = connect((server.address() as AddressInfo).port, "127.0.0.1");
	socket.end(text);
	let answer = "";
	for await (const chunk of socket) answer += chunk;
	return answer;
}

const post = "POST /v1/ingest/t HTTP/1.1\r\nHost: x\r\n";
test.each([
	[
		"a body cut short of its length",
		`${post}Content-Length: 9\r\n\r\nabc`,
		400,
		"truncated_stream",
	],
	[
		"a chunked body cut",
		`${post}Transfer-Encoding: chunked\r\n\r\n9\r\nabc`,
		400,
		"truncated_stream",
	],
	["two lengths", `${post}Content-Length: 1\r\nContent-Length: 2\r\n\r\na`, 400, "bad_request"],
	["no HTTP at all", "GARBAGE\r\n\r\n", 400, "bad_request"],
	["headers without end", `${post}X: ${"x".repeat(20_000)}\r\n\r\n`, 431, "bad_request"],
])("%s is a problem with a request id", async (_, text, status, code) => {
	const [head, body] = (await answerTo(text)).split("\r\n\r\n") as [string, string];
	expect(head).toContain(`HTTP/1.1 ${status} `);
	expect(head).toContain("Content-Type: application/problem+json");
	const id = /X-Request-Id: ([\w-]+)/.exec(head)?.[1];
	expect(JSON.parse(body)).toMatchObject({ code, status, request_id: id, retryable: false });
});
