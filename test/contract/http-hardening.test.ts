/** What arrives on the socket that no HTTP library would send: refused, bounded, and nobody else is hurt. */
import { once } from "node:events";
import { request as httpRequest } from "node:http";
import { connect, type Socket } from "node:net";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Clock, systemClock } from "../../src/clock.ts";
import { arrowNumbers } from "./arrow-bytes.ts";
import { type MemoryService, startMemoryService } from "./memory-service.ts";

let service: MemoryService;
let key: string;
beforeAll(async () => {
	service = await startMemoryService();
	key = await service.makeKey({ tenant: "acme" });
});
afterAll(() => service?.stop());

async function open(): Promise<{ socket: Socket; text: () => string; closed: () => boolean }> {
	const url = new URL(service.url);
	const socket = connect(Number(url.port), url.hostname);
	let received = "";
	let closed = false;
	socket.on("data", (chunk) => {
		received += chunk.toString("latin1");
	});
	socket.on("error", () => {});
	socket.on("close", () => {
		closed = true;
	});
	await once(socket, "connect");
	return { socket, text: () => received, closed: () => closed };
}

async function until(condition: () => boolean, ms = 3_000): Promise<boolean> {
	const end = Date.now() + ms;
	while (!condition() && Date.now() < end) await new Promise((resolve) => setTimeout(resolve, 10));
	return condition();
}

async function send(text: string | Buffer): Promise<string> {
	const { socket, text: received, closed } = await open();
	socket.write(text);
	await until(() => closed() || /\r\n\r\n/.test(received()));
	await new Promise((resolve) => setTimeout(resolve, 30));
	socket.destroy();
	return received();
}

const statuses = (text: string) =>
	[...text.matchAll(/HTTP\/1\.1 (\d{3})/g)].map(([, code]) => Number(code));
const auth = () => `Host: x\r\nAuthorization: Bearer ${key}\r\n`;

describe("smuggling shapes", () => {
	const inner = "GET /v1/loads HTTP/1.1\r\nHost: x\r\n\r\n";
	test.each([
		["both lengths", "Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"],
		["two different lengths", "Content-Length: 0\r\nContent-Length: 4\r\n\r\n"],
		["a list of lengths", "Content-Length: 0, 4\r\n\r\n"],
		["a signed length", "Content-Length: +4\r\n\r\nabcd"],
		["a hexadecimal length", "Content-Length: 0x4\r\n\r\nabcd"],
		["an unknown coding last", "Transfer-Encoding: chunked, xchunked\r\n\r\n0\r\n\r\n"],
		["a space before the colon", "Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n"],
		["obsolete folding", "Transfer-Encoding:\r\n chunked\r\n\r\n0\r\n\r\n"],
		["a bare line feed", "X: y\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"],
		["a NUL in a header", "X: a\0b\r\nContent-Length: 0\r\n\r\n"],
		["a broken chunk size", "Transfer-Encoding: chunked\r\n\r\nzz\r\nabc\r\n0\r\n\r\n"],
		["a chunk longer than it says", "Transfer-Encoding: chunked\r\n\r\n1\r\nabc\r\n0\r\n\r\n"],
	])("%s: no answer but a refusal, and no second request is seen", async (_, rest) => {
		const answer = await send(`POST /v1/ingest/smuggled HTTP/1.1\r\n${auth()}${rest}${inner}`);
		const seen = statuses(answer);
		expect(seen.length).toBeLessThanOrEqual(1);
		for (const status of seen) expect(status).toBeGreaterThanOrEqual(400);
	});

	test.each([
		["no Host", "GET /healthz HTTP/1.1\r\n\r\n"],
		["two Hosts", "GET /healthz HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n"],
		[
			"two keys",
			"GET /v1/loads HTTP/1.1\r\nHost: a\r\nAuthorization: a\r\nAuthorization: b\r\n\r\n",
		],
		["a Host that is none", "GET /healthz HTTP/1.1\r\nHost: a b@c/\r\n\r\n"],
		["no HTTP at all", "hello\r\n\r\n"],
		["a path that is none", "GET healthz HTTP/1.1\r\nHost: a\r\n\r\n"],
	])("%s is 400", async (_, text) => {
		expect(statuses(await send(text))).toEqual([400]);
	});

	test("an absolute target is answered for its path alone", async () => {
		const answer = await send("GET http://evil.example/healthz HTTP/1.1\r\nHost: x\r\n\r\n");
		expect(statuses(answer)[0]).toBeLessThan(500);
	});
});

describe("bombs", () => {
	test("headers over 16 KiB are 431", async () => {
		const answer = await send(
			`GET /healthz HTTP/1.1\r\nHost: x\r\nX: ${"a".repeat(20_000)}\r\n\r\n`,
		);
		expect(statuses(answer)).toEqual([431]);
	});

	test("a thousand small headers are taken or refused at once", async () => {
		const many = Array.from({ length: 1_000 }, (_, at) => `X-${at}: 1\r\n`).join("");
		const [status] = statuses(await send(`GET /healthz HTTP/1.1\r\nHost: x\r\n${many}\r\n`));
		expect([200, 431]).toContain(status);
	});

	test("a long path and query are refused or not found, never a fault", async () => {
		for (const path of [
			`/${"a/".repeat(5_000)}`,
			`/v1/loads?${"a=1&".repeat(2_000)}`,
			`/%${"0".repeat(9_000)}`,
		]) {
			const answer = await send(`GET ${path} HTTP/1.1\r\n${auth()}\r\n`);
			expect(statuses(answer)[0]).toBeGreaterThanOrEqual(400);
			expect(statuses(answer)[0]).toBeLessThan(500);
		}
	});
});

describe("refusals before the body", () => {
	/** A large body, sent as fast as the other side takes it; resolves with the answer. */
	function upload(headers: Record<string, string | number>, bytes: number) {
		return new Promise<{ status: number; sent: number }>((resolve, reject) => {
			let sent = 0;
			const chunk = Buffer.alloc(64 * 1024);
			const request = httpRequest(`${service.url}/v1/ingest/big`, { method: "POST", headers });
			let answered = false;
			request.on("response", (response) => {
				answered = true;
				response.resume();
				resolve({ status: response.statusCode!, sent });
				request.destroy();
			});
			request.on("error", (error) => {
				if (!answered) reject(error);
			});
			const pump = () => {
				while (!answered && !request.destroyed && sent < bytes) {
					sent += chunk.length;
					if (!request.write(chunk)) return void request.once("drain", pump);
				}
				if (!answered && !request.destroyed) request.end();
			};
			pump();
		});
	}

	test("a caller without a key is told so, not cut off, and long before 64 MiB are read", async () => {
		const answer = await upload({ "Content-Length": 64 * 2 ** 20 }, 64 * 2 ** 20);
		expect(answer.status).toBe(401);
		expect(answer.sent).toBeLessThan(32 * 2 ** 20);
	});

	test("a body that announces too much is 413 at once", async () => {
		const headers = { Authorization: `Bearer ${key}`, "Content-Length": 64 * 2 ** 20 };
		expect((await upload(headers, 64 * 2 ** 20)).status).toBe(413);
	});

	test("a chunked body that grows too much is 413 when it does", async () => {
		const headers = { Authorization: `Bearer ${key}`, "Transfer-Encoding": "chunked" };
		expect((await upload(headers, 64 * 2 ** 20)).status).toBe(413);
	});

	test("Expect: 100-continue is answered", async () => {
		const body = arrowNumbers();
		const { socket, text } = await open();
		socket.write(
			`POST /v1/ingest/expected HTTP/1.1\r\n${auth()}Content-Length: ${body.length}\r\nExpect: 100-continue\r\n\r\n`,
		);
		await until(() => text().includes("100 Continue"));
		socket.write(body);
		await until(() => statuses(text()).length === 2);
		expect(statuses(text())).toEqual([100, 200]);
		socket.destroy();
	});
});

describe("callers that stop", () => {
	test("in the middle of a body are given up, and nothing is staged", async () => {
		const slow = await startMemoryService({
			deps: { clock: fastClock() },
		});
		try {
			const own = await slow.makeKey({ tenant: "acme" });
			const url = new URL(slow.url);
			const socket = connect(Number(url.port), url.hostname);
			let received = "";
			socket.on("data", (chunk) => {
				received += chunk.toString("latin1");
			});
			socket.on("error", () => {});
			const upload = await fetch(`${slow.url}/v1/uploads`, {
				method: "POST",
				headers: { Authorization: `Bearer ${own}`, "Content-Type": "application/json" },
				body: '{"table":"slow"}',
			});
			const { upload_id } = (await upload.json()) as { upload_id: string };
			socket.write(
				`PUT /v1/uploads/${upload_id}/parts/1 HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${own}\r\nContent-Length: 1000\r\n\r\nabc`,
			);
			expect(await until(() => statuses(received).length > 0, 10_000)).toBe(true);
			expect(statuses(received)).toEqual([400]);
			expect(received).toContain('"truncated_stream"');
			const parts: string[] = [];
			for await (const { key } of slow.store.list("uploads/acme/"))
				if (/parts/.test(key)) parts.push(key);
			expect(parts).toEqual([]);
			socket.destroy();
		} finally {
			await slow.stop();
		}
	});

	test("two hundred idle connections keep nobody else from an answer", async () => {
		const idle = await Promise.all(Array.from({ length: 200 }, () => open()));
		for (const { socket } of idle) socket.write("GET /healthz HTTP/1.1\r\nHost: x\r\nX-Slow: ");
		expect((await fetch(`${service.url}/healthz`)).status).toBe(200);
		expect(idle.filter(({ socket }) => !socket.destroyed)).toHaveLength(200);
		for (const { socket } of idle) socket.destroy();
	});
});

/** Twenty times as fast as the real one. */
function fastClock(): Clock {
	const start = Date.now();
	return {
		now: () => start + (Date.now() - start) * 20,
		sleep: (ms, signal) => systemClock.sleep(ms / 20, signal),
	};
}
