import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, expect, test } from "vitest";
import { nodeClient } from "../../../src/cli/node-client.ts";

const bytes = new Uint8Array(3_000_000).map((_, i) => i * 7);
let server: Server;
let url: string;
let seen: { method: string | undefined; headers: IncomingMessage["headers"]; body: Buffer }[] = [];
let answer: (request: IncomingMessage, response: ServerResponse) => void;

beforeAll(async () => {
	server = createServer(async (request, response) => {
		const chunks: Buffer[] = [];
		for await (const chunk of request) chunks.push(chunk);
		seen.push({ method: request.method, headers: request.headers, body: Buffer.concat(chunks) });
		answer(request, response);
	});
	await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
	url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterAll(() => {
	server.closeAllConnections();
	return new Promise((resolve) => server.close(resolve));
});

const put = (path: string, init: RequestInit = {}) => {
	seen = [];
	return nodeClient.fetch(url + path, { method: "PUT", body: bytes, ...init });
};

test("bytes arrive as they are, with their length and the headers that were given", async () => {
	answer = (_, response) => response.writeHead(204).end();
	const { status, body } = await put("/part", { headers: { "Content-Digest": "sha-256=:x:" } });
	expect({ status, body }).toEqual({ status: 204, body: null });
	expect(seen[0]!.method).toBe("PUT");
	expect(seen[0]!.headers).toMatchObject({
		"content-length": String(bytes.length),
		"content-digest": "sha-256=:x:",
	});
	expect(Buffer.compare(seen[0]!.body, bytes)).toBe(0);
});

test("an answer is a Response: status, headers, text", async () => {
	answer = (_, response) =>
		response.writeHead(503, { "Retry-After": "3" }).end(JSON.stringify({ code: "busy" }));
	const response = await put("/part");
	expect(response.status).toBe(503);
	expect(response.headers.get("Retry-After")).toBe("3");
	expect(await response.json()).toEqual({ code: "busy" });
});

test("a redirect is followed, and the bytes go where it leads", async () => {
	answer = (request, response) =>
		request.url === "/part"
			? response.writeHead(307, { Location: "/elsewhere" }).end()
			: response.writeHead(200).end("there");
	expect(await (await put("/part")).text()).toBe("there");
	expect(Buffer.compare(seen.at(-1)!.body, bytes)).toBe(0);
});

test("who stops or finds nobody gets an error that says so", async () => {
	const stop = new AbortController();
	answer = () => stop.abort();
	await expect(put("/part", { signal: stop.signal })).rejects.toThrow(/abort/i);
	answer = (request) => request.socket.destroy();
	await expect(put("/part")).rejects.toMatchObject({ code: "ECONNRESET" });
	await expect(
		nodeClient.fetch("http://127.0.0.1:1/part", { method: "PUT", body: bytes }),
	).rejects.toMatchObject({ code: "ECONNREFUSED" });
});

test("a body that is none of bytes goes by the runtime's own fetch", async () => {
	answer = (_, response) => response.writeHead(200).end();
	expect((await put("/part", { body: "text" })).status).toBe(200);
	expect(seen[0]!.body.toString()).toBe("text");
});

test("the digest is that of every runtime", async () => {
	const expected = new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));
	expect(Buffer.compare(nodeClient.sha256(bytes), expected)).toBe(0);
});
