/**
 * Resumable uploads as draft-ietf-httpbis-resumable-upload-12 has them, over real
 * sockets: a section of the HTTP contract suite.
 */
import { createHash } from "node:crypto";
import { request as httpRequest } from "node:http";
import { connect } from "node:net";
import { gzipSync } from "node:zlib";
import { describe, expect, test } from "vitest";
import { arrowNumbers } from "./arrow-bytes.ts";
import type { HttpService } from "./http-service.ts";

export interface Answer {
	status: number;
	headers: Headers;
	// biome-ignore lint/suspicious/noExplicitAny: tests look at answers as their callers do
	json: any;
}

export interface ResumableWorld {
	service: HttpService;
	key: string;
	ask(
		path: string,
		asked: {
			method?: string;
			headers?: Record<string, string>;
			body?: Uint8Array<ArrayBuffer> | ReadableStream<Uint8Array>;
		},
	): Promise<Answer>;
	newTable(): string;
}

const registry = "https://iana.org/assignments/http-problem-types#";

export function describeResumable(name: string, world: () => ResumableWorld): void {
	const begin = (
		body: Uint8Array<ArrayBuffer>,
		complete: boolean,
		headers: Record<string, string> = {},
		query = "",
	) =>
		world().ask(`/v1/ingest/${world().newTable()}${query}`, {
			method: "POST",
			body,
			headers: { "Upload-Complete": complete ? "?1" : "?0", ...headers },
		});
	const append = (
		at: string,
		offset: number,
		body: Uint8Array<ArrayBuffer> | ReadableStream<Uint8Array>,
		complete: boolean,
		headers: Record<string, string> = {},
	) =>
		world().ask(at, {
			method: "PATCH",
			body,
			headers: {
				"Content-Type": "application/partial-upload",
				"Upload-Offset": String(offset),
				"Upload-Complete": complete ? "?1" : "?0",
				Prefer: "wait=30",
				...headers,
			},
		});
	const head = (at: string) => world().ask(at, { method: "HEAD" });
	const begun = async (
		body: Uint8Array<ArrayBuffer> = new Uint8Array(0),
		headers: Record<string, string> = {},
		query = "",
	) => {
		const answer = await begin(body, false, headers, query);
		expect(answer.status).toBe(201);
		return answer.headers.get("location")!;
	};
	const nothing = new Uint8Array(0);

	describe(`${name}: resumable uploads`, () => {
		test("are announced with their limits by OPTIONS, for a table and for an upload", async () => {
			const { ask, service } = world();
			const at = await begun();
			for (const [path, method] of [
				["/v1/ingest/events", "POST"],
				[at, "PATCH"],
			] as const) {
				const { status, headers } = await ask(path, { method: "OPTIONS" });
				expect([status, headers.get("accept-patch")]).toEqual([204, "application/partial-upload"]);
				expect(headers.get("allow")).toContain(method);
				const limits = limitsOf(headers);
				expect(limits["max-size"]).toBe(service.limits.maxUploadBytes);
				expect(limits["max-append-size"]).toBeGreaterThan(0);
				expect(limits["min-append-size"]).toBe(0);
				expect(limits["max-age"]).toBeGreaterThan(0);
			}
			expect((await ask("/v1/loads", { method: "OPTIONS" })).headers.get("accept-patch")).toBe(
				null,
			);
		});

		test("load what came in several requests, and answer the last one with the receipt", async () => {
			const bytes = arrowNumbers(1_000);
			const first = await begin(bytes.slice(0, 700), false, { "Upload-Length": `${bytes.length}` });
			expect(first.status).toBe(201);
			expect(first.headers.get("upload-complete")).toBe("?0");
			expect(first.headers.get("upload-offset")).toBe("700");
			const at = first.headers.get("location")!;
			expect(at).toBe(`/v1/uploads/${first.json.upload_id}`);
			expect(limitsOf(first.headers)["max-age"]).toBeGreaterThan(0);

			const open = await head(at);
			expect(open.status).toBe(200);
			expect(open.headers.get("upload-offset")).toBe("700");
			expect(open.headers.get("upload-complete")).toBe("?0");
			expect(open.headers.get("upload-length")).toBe(String(bytes.length));
			expect(limitsOf(open.headers)["max-size"]).toBe(world().service.limits.maxUploadBytes);
			expect(open.headers.get("cache-control")).toBe("no-store");

			const second = await append(at, 700, bytes.slice(700, 1_500), false);
			expect([second.status, second.headers.get("upload-complete")]).toEqual([204, "?0"]);
			expect(second.headers.get("upload-offset")).toBe("1500");

			const last = await append(at, 1_500, bytes.slice(1_500), true);
			expect([last.status, last.headers.get("upload-complete")]).toEqual([200, "?1"]);
			expect(last.json).toMatchObject({
				load_id: first.json.upload_id,
				status: "committed",
				rows_inserted: 1_000,
				parts: 3,
			});
			expect(last.json.repr_digest).toBe(digestOf(bytes));
			const done = await head(at);
			expect(done.headers.get("upload-complete")).toBe("?1");
			expect(done.headers.get("upload-offset")).toBe(String(bytes.length));
			expect(done.headers.get("content-location")).toBe(`/v1/loads/${first.json.upload_id}`);
		});

		test("may begin without bytes and end without bytes, of a length that nobody announced", async () => {
			const bytes = arrowNumbers(40);
			const at = await begun();
			expect((await head(at)).headers.get("upload-length")).toBeNull();
			const stream = new Blob([bytes]).stream();
			expect((await append(at, 0, stream, false)).status).toBe(204);
			const done = await append(at, bytes.length, nothing, true);
			expect([done.status, done.json.rows_inserted]).toEqual([200, 40]);
		});

		test("of more bytes than a part has are cut into parts", async () => {
			const { partBytes } = world().service.limits;
			if (partBytes > 2 ** 20) return;
			const bytes = arrowNumbers(Math.ceil(partBytes));
			const at = await begun(bytes.slice(0, partBytes + 10));
			const done = await append(at, partBytes + 10, bytes.slice(partBytes + 10), true);
			expect(done.status).toBe(200);
			expect(done.json.rows_inserted).toBe(partBytes);
			expect(done.json.parts).toBe(2 + Math.ceil((bytes.length - partBytes - 10) / partBytes));
		});

		test("in one request are the request that they would be without", async () => {
			const done = await begin(arrowNumbers(5), true);
			expect([done.status, done.headers.get("upload-complete")]).toEqual([200, "?1"]);
			expect(done.json).toMatchObject({ status: "committed", rows_inserted: 5, parts: 1 });
			const malformed = await world().ask(`/v1/ingest/${world().newTable()}`, {
				method: "POST",
				body: arrowNumbers(5),
				headers: { "Upload-Complete": "no" },
			});
			expect([malformed.status, malformed.headers.get("upload-complete")]).toEqual([200, null]);
		});

		test("of zero bytes, and of what is no Arrow, are not_arrow by their load or before", async () => {
			const at = await begun();
			const none = await append(at, 0, nothing, true);
			expect([none.status, none.json.code]).toEqual([400, "not_arrow"]);
			const text = new TextEncoder().encode("a,b\n1,2\n".repeat(20));
			const other = await append(await begun(), 0, text, true);
			expect(other.json.code).toBe("not_arrow");
		});

		test("answer 202 to who does not wait", async () => {
			const done = await append(await begun(), 0, arrowNumbers(3), true, {
				Prefer: "respond-async",
			});
			expect([done.status, done.headers.get("upload-complete")]).toEqual([202, "?1"]);
			expect(done.headers.get("location")).toBe(`/v1/loads/${done.json.load_id}`);
		});

		test("take an append at their offset alone, and tell it", async () => {
			const bytes = arrowNumbers(10);
			const at = await begun(bytes.slice(0, 100));
			for (const offset of [0, 99, 101, 5_000]) {
				const { status, headers, json } = await append(at, offset, bytes.slice(100), true);
				expect([offset, status, json.code]).toEqual([offset, 409, "offset_mismatch"]);
				expect(json.type).toBe(`${registry}mismatching-upload-offset`);
				expect([json["expected-offset"], json["provided-offset"]]).toEqual([100, offset]);
				expect(headers.get("upload-offset")).toBe("100");
				expect(headers.get("upload-complete")).toBe("?0");
			}
			expect((await append(at, 100, bytes.slice(100), true)).json.rows_inserted).toBe(10);
		});

		test("that are complete take no more, and say so by the draft's type", async () => {
			const at = await begun();
			const { json } = await append(at, 0, arrowNumbers(2), true);
			for (const body of [nothing, arrowNumbers(2)]) {
				const again = await append(at, json.bytes, body, true);
				expect([again.status, again.json.code]).toEqual([409, "upload_completed"]);
				expect(again.json.type).toBe(`${registry}completed-upload`);
				expect(again.json.load_id).toBe(json.load_id);
			}
			const deleted = await world().ask(at, { method: "DELETE" });
			expect(deleted.json.code).toBe("upload_completed");
		});

		test("keep to the length that was announced", async () => {
			const bytes = arrowNumbers(100);
			const wrong = (answer: Answer) => {
				expect([answer.status, answer.json.code]).toEqual([400, "bad_request"]);
				expect(answer.json.type).toBe(`${registry}inconsistent-upload-length`);
			};
			const whole = { "Upload-Length": String(bytes.length) };
			const other = { "Upload-Length": String(bytes.length + 1) };
			wrong(await begin(bytes, true, other));
			const at = await begun(bytes.slice(0, 10), whole);
			wrong(await append(at, 10, bytes.slice(10, 20), false, other));
			wrong(await append(at, 10, bytes.slice(10, 20), true));
			wrong(await append(at, 10, bytes, false));
			// Not announced by Content-Length, so it is seen when it is there.
			wrong(await append(at, 10, new Blob([bytes.slice(10, 20)]).stream(), true));
			expect((await head(at)).headers.get("upload-offset")).toBe("20");
			expect((await append(at, 20, bytes.slice(20), true)).json.rows_inserted).toBe(100);

			const later = await begun(bytes.slice(0, 10));
			expect((await append(later, 10, nothing, false, whole)).status).toBe(204);
			expect((await head(later)).headers.get("upload-length")).toBe(String(bytes.length));
			wrong(await append(later, 10, nothing, false, other));
			// "marking the upload resource invalid and rejecting any further interaction with it"
			const more = new Uint8Array(bytes.length);
			wrong(await append(later, 10, new Blob([more]).stream(), false));
			expect((await append(later, 10, bytes.slice(10), true)).json.code).toBe("upload_expired");
		});

		test("over the limit are refused, announced or not, with Upload-Limit", async () => {
			const { maxUploadBytes } = world().service.limits;
			const announced = await begin(nothing, false, { "Upload-Length": `${maxUploadBytes + 1}` });
			expect([announced.status, announced.json.code]).toEqual([413, "too_large"]);
			expect(limitsOf(announced.headers)["max-size"]).toBe(maxUploadBytes);
			if (maxUploadBytes > 2 ** 24) return;
			const bytes = new Uint8Array(maxUploadBytes - 100);
			bytes.set(arrowNumbers(1));
			const at = await begun(bytes);
			const more = await append(at, bytes.length, new Uint8Array(200), false);
			expect([more.status, more.json.code]).toEqual([413, "too_large"]);
			expect(limitsOf(more.headers)["max-append-size"]).toBe(maxUploadBytes);
		});

		test("are asked for with the headers and the type that belong to them", async () => {
			const at = await begun();
			const patch = (headers: Record<string, string>) =>
				world().ask(at, { method: "PATCH", body: arrowNumbers(1), headers });
			const type = { "Content-Type": "application/partial-upload" };
			const offset = { "Upload-Offset": "0" };
			const complete = { "Upload-Complete": "?1" };
			expect((await patch({ ...type, ...offset })).json.code).toBe("bad_request");
			expect((await patch({ ...type, ...complete })).json.code).toBe("bad_request");
			expect((await patch({ ...type, ...complete, "Upload-Offset": "-1" })).json.code).toBe(
				"bad_request",
			);
			const arrow = { "Content-Type": "application/vnd.apache.arrow.stream" };
			for (const headers of [arrow, {}, { ...type, "Content-Encoding": "gzip" }]) {
				const answer = await patch({ ...headers, ...offset, ...complete });
				expect([answer.status, answer.json.code]).toEqual([415, "unsupported_media_type"]);
			}
			expect((await head(at)).headers.get("upload-offset")).toBe("0");
		});

		test("can be given up; then they take nothing", async () => {
			const at = await begun(arrowNumbers(3));
			for (let time = 0; time < 2; time++) {
				expect((await world().ask(at, { method: "DELETE" })).status).toBe(204);
			}
			expect((await head(at)).status).toBe(410);
			expect((await append(at, 0, arrowNumbers(3), true)).json.code).toBe("upload_expired");
		});

		test("are no uploads in numbered parts, nor the other way round", async () => {
			const { ask } = world();
			const at = await begun();
			const put = await ask(`${at}/parts/1`, { method: "PUT", body: arrowNumbers(1) });
			expect([put.status, put.json.code]).toEqual([400, "bad_request"]);
			const body = new TextEncoder().encode('{"parts":1}');
			const json = { "Content-Type": "application/json" };
			const complete = await ask(`${at}/complete`, { method: "POST", headers: json, body });
			expect([complete.status, complete.json.code]).toEqual([400, "bad_request"]);
			const table = new TextEncoder().encode(`{"table":"${world().newTable()}"}`);
			const parts = await ask("/v1/uploads", { method: "POST", headers: json, body: table });
			const numbered = parts.headers.get("location")!;
			const appended = await append(numbered, 0, arrowNumbers(1), true);
			expect([appended.status, appended.json.code]).toEqual([400, "bad_request"]);
			expect((await head(numbered)).headers.get("upload-offset")).toBeNull();
			const state = await ask(at, {});
			expect(state.json).toMatchObject({ state: "open", mode: "appends", offset: 0, length: null });
		});

		test("may be gzip all together: offsets are of the coded bytes", async () => {
			const coded = new Uint8Array(gzipSync(arrowNumbers(500)));
			const at = await begun(coded.slice(0, 50), { "Content-Encoding": "gzip" });
			const done = await append(at, 50, coded.slice(50), true, { Prefer: "respond-async" });
			expect(done.status).toBe(202);
			expect((await head(at)).headers.get("upload-offset")).toBe(String(coded.length));
		});

		test("keep nothing of an append whose digest is another", async () => {
			const bytes = arrowNumbers(20);
			const at = await begun(bytes.slice(0, 100));
			const bad = await append(at, 100, bytes.slice(100), true, {
				"Content-Digest": digestOf(bytes),
			});
			expect([bad.status, bad.json.code]).toEqual([400, "digest_mismatch"]);
			expect(bad.headers.get("upload-offset")).toBe("100");
			const good = await append(at, 100, bytes.slice(100), true, {
				"Content-Digest": digestOf(bytes.slice(100)),
			});
			expect(good.json.rows_inserted).toBe(20);
		});

		test("with a key that was used are its load's receipt", async () => {
			const bytes = arrowNumbers(7);
			const { ask, newTable } = world();
			const table = newTable();
			const headers = { "Idempotency-Key": `resumed-${table}` };
			const whole = await ask(`/v1/ingest/${table}`, { method: "POST", body: bytes, headers });
			const first = await ask(`/v1/ingest/${table}`, {
				method: "POST",
				body: bytes,
				headers: { ...headers, "Upload-Complete": "?0" },
			});
			const done = await append(first.headers.get("location")!, bytes.length, nothing, true);
			expect([done.status, done.json]).toEqual([200, whole.json]);
			expect(done.headers.get("idempotency-replayed")).toBe("true");
		});

		test("of two appends at one offset take one", async () => {
			const bytes = arrowNumbers(2_000);
			const at = await begun();
			const both = await Promise.all([1, 2].map(() => append(at, 0, bytes, false)));
			const statuses = both.map(({ status }) => status).sort();
			expect(statuses).toEqual([204, 409]);
			const done = await append(at, bytes.length, nothing, true);
			expect(done.json).toMatchObject({ rows_inserted: 2_000, repr_digest: digestOf(bytes) });
		});

		test("go on where a connection was cut, and load each row once", async () => {
			const bytes = arrowNumbers(20_000);
			const at = await begun();
			await cutAppend(world(), at, 0, bytes, Math.floor(bytes.length / 2));
			let offset = Number((await head(at)).headers.get("upload-offset"));
			expect(offset).toBeLessThanOrEqual(bytes.length / 2);
			let done: Answer;
			do {
				done = await append(at, offset, bytes.slice(offset), true);
				// Where nobody can end the append that was cut, it may still have told its bytes.
				offset = Number(done.headers.get("upload-offset"));
			} while (done.status === 409);
			expect(done.status).toBe(200);
			expect(done.json).toMatchObject({ rows_inserted: 20_000, repr_digest: digestOf(bytes) });
		});

		test("tell where they are ahead of the answer, to who asks in the draft's version", async () => {
			if (!world().service.informs) return;
			const bytes = arrowNumbers(50);
			const asked = (version: string | null) =>
				informed(world(), `/v1/ingest/${world().newTable()}`, bytes, {
					"Upload-Complete": "?1",
					...(version === null ? {} : { "Upload-Draft-Interop-Version": version }),
				});
			const told = await asked("9");
			expect(told.status).toBe(200);
			expect(told.interim.map(({ status }) => status)).toEqual([104, 104]);
			const [begin, progress] = told.interim;
			expect(begin!.headers).toMatchObject({
				location: `/v1/uploads/${told.json.load_id}`,
				"upload-draft-interop-version": "9",
			});
			expect(begin!.headers["upload-limit"]).toMatch(/max-size=\d+/);
			expect(progress!.headers).toMatchObject({ "upload-offset": String(bytes.length) });
			expect(progress!.headers.location).toBeUndefined();
			for (const version of [null, "8", "x"]) {
				const silent = await asked(version);
				expect([silent.status, silent.interim]).toEqual([200, []]);
			}
		});
	});
}

function limitsOf(headers: Headers): Record<string, number> {
	const members = (headers.get("upload-limit") ?? "").split(",").map((one) => one.trim());
	return Object.fromEntries(
		members.map((one) => [one.split("=")[0]!, Number(one.split("=")[1])] as const),
	);
}

/** An append that announces all of `bytes` and loses its connection after `sent` of them. */
function cutAppend(
	{ service, key }: ResumableWorld,
	at: string,
	offset: number,
	bytes: Uint8Array,
	sent: number,
): Promise<void> {
	const url = new URL(service.url);
	const socket = connect(Number(url.port), url.hostname);
	const lines = [
		`PATCH ${at} HTTP/1.1`,
		"Host: x",
		`Authorization: Bearer ${key}`,
		"Content-Type: application/partial-upload",
		`Upload-Offset: ${offset}`,
		"Upload-Complete: ?1",
		`Content-Length: ${bytes.length}`,
	];
	return new Promise((resolve) => {
		socket.on("error", () => {});
		socket.on("close", () => resolve());
		socket.write(`${lines.join("\r\n")}\r\n\r\n`);
		socket.write(bytes.subarray(0, sent), () => setTimeout(() => socket.destroy(), 100));
	});
}

interface Informed {
	status: number;
	// biome-ignore lint/suspicious/noExplicitAny: tests look at answers as their callers do
	json: any;
	interim: { status: number; headers: Record<string, string | string[] | undefined> }[];
}

function informed(
	{ service, key }: ResumableWorld,
	path: string,
	bytes: Uint8Array,
	headers: Record<string, string>,
): Promise<Informed> {
	return new Promise((resolve, reject) => {
		const interim: Informed["interim"] = [];
		const request = httpRequest(service.url + path, {
			method: "POST",
			headers: { Authorization: `Bearer ${key}`, "Content-Length": bytes.length, ...headers },
		});
		request.on("information", ({ statusCode, headers: told }) =>
			interim.push({ status: statusCode, headers: told }),
		);
		request.on("error", reject);
		request.on("response", (response) => {
			let text = "";
			response.on("data", (chunk) => {
				text += chunk;
			});
			response.on("end", () =>
				resolve({ status: response.statusCode!, json: JSON.parse(text), interim }),
			);
		});
		request.end(bytes);
	});
}

function digestOf(bytes: Uint8Array): string {
	return `sha-256=:${createHash("sha256").update(bytes).digest("base64")}:`;
}
