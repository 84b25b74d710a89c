/**
 * What API.md promises of HTTP, over real sockets, against any service that keeps
 * it: the same suite runs against the app in memory, the whole service on Node and
 * the Worker. Each describe is a section of the contract.
 */
import { createHash } from "node:crypto";
import { once } from "node:events";
import { connect } from "node:net";
import { gzipSync, zstdCompressSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Problem, Receipt } from "../../src/flow.ts";
import type { Right } from "../../src/tenant/rights.ts";
import { matchRoute } from "../../src/upload/match-route.ts";
import { problemKinds } from "../../src/upload/problem-json.ts";
import { problemsOf } from "../../src/upload/route-problems.ts";
import { routes } from "../../src/upload/routes.ts";
import { problemSchema, receiptSchema } from "../../src/upload/schemas.ts";
import { arrowNumbers } from "./arrow-bytes.ts";
import { describeResumable } from "./http-resumable.ts";
import type { HttpService } from "./http-service.ts";

export function httpContract(name: string, start: () => Promise<HttpService>): void {
	let service: HttpService;
	let key: string;
	let tables = 0;
	const tenant = "acme";
	const newTable = () => `t${++tables}`;

	beforeAll(async () => {
		service = await start();
		key = await service.makeKey({
			tenant,
			rights: ["append", "create", "replace", "add_columns", "read"],
		});
	});
	afterAll(() => service?.stop());

	interface Asked {
		method?: string;
		key?: string | null;
		headers?: Record<string, string>;
		body?: Uint8Array<ArrayBuffer> | string | ReadableStream<Uint8Array> | object;
		signal?: AbortSignal;
	}
	async function ask(path: string, asked: Asked = {}) {
		const { body } = asked;
		const raw =
			body === undefined ||
			body instanceof Uint8Array ||
			body instanceof ReadableStream ||
			typeof body === "string";
		const bearer = asked.key === undefined ? key : asked.key;
		const response = await fetch(service.url + path, {
			method: asked.method ?? "GET",
			headers: {
				...(bearer === null ? {} : { Authorization: `Bearer ${bearer}` }),
				...(raw ? {} : { "Content-Type": "application/json" }),
				...asked.headers,
			},
			body: raw ? (bytesOf(body) as BodyInit) : JSON.stringify(body),
			...(body instanceof ReadableStream ? { duplex: "half" } : {}),
			...(asked.signal ? { signal: asked.signal } : {}),
		} as RequestInit);
		const text = await response.text();
		const type = response.headers.get("content-type") ?? "";
		const json = /json/.test(type) && text !== "" ? JSON.parse(text) : null;
		if (response.status >= 400 && asked.method !== "HEAD") {
			checkProblem(response, json);
			checkDocumented(asked.method ?? "GET", path, response.status, json);
		}
		return { status: response.status, headers: response.headers, text, json };
	}

	/** What OpenAPI does not tell of is never answered. */
	function checkDocumented(method: string, path: string, status: number, json: Problem) {
		if (/%E0%A4/.test(path)) return;
		const match = matchRoute(routes, method, path.split("?")[0]!);
		if (match.kind !== "found" || status === 404) return;
		const told = problemsOf(match.route);
		expect([match.route.id, json.code, told]).toEqual([
			match.route.id,
			json.code,
			expect.arrayContaining([json.code]),
		]);
	}

	/** Every problem is one, whatever it was asked for. */
	function checkProblem(response: Response, json: Problem) {
		expect(response.headers.get("content-type")).toBe("application/problem+json");
		const problem = problemSchema.parse(json);
		expect(problem.status).toBe(response.status);
		expect(problem.request_id).toBe(response.headers.get("x-request-id"));
		const kind = problemKinds[problem.code];
		expect(problem.retryable).toBe(kind.retryable);
		if (response.status !== 404 && response.status !== 405)
			expect(problem.status).toBe(kind.status);
		if (response.status === 413)
			expect(response.headers.get("upload-limit")).toMatch(/^max-size=\d+/);
		if (response.status === 429) expect(response.headers.get("retry-after")).toMatch(/^\d+$/);
		if (response.status === 401)
			expect(response.headers.get("www-authenticate")).toMatch(/^Bearer/);
	}

	const post = (path: string, asked: Asked = {}) => ask(path, { method: "POST", ...asked });
	const ingest = (table: string, asked: Asked = {}, query = "") =>
		post(`/v1/ingest/${table}${query}`, { body: arrowNumbers(), ...asked });
	const open = async (fields: object = {}) => {
		const answer = await post("/v1/uploads", { body: { table: newTable(), ...fields } });
		expect(answer.status).toBe(201);
		return answer.json as { upload_id: string; part_size: number };
	};
	const put = (id: string, n: number | string, body: Uint8Array<ArrayBuffer>, asked: Asked = {}) =>
		ask(`/v1/uploads/${id}/parts/${n}`, { method: "PUT", body, ...asked });
	const complete = (id: string, parts: number, asked: Asked = {}) =>
		post(`/v1/uploads/${id}/complete`, { body: { parts }, ...asked });
	const waited = { headers: { Prefer: "wait=30" } };

	/** Bytes as they are on the wire, and all that comes back until the socket closes or `ms` pass. */
	async function raw(text: string | Uint8Array, options: { end?: boolean; ms?: number } = {}) {
		const url = new URL(service.url);
		const socket = connect(Number(url.port), url.hostname);
		await once(socket, "connect");
		let received = "";
		socket.on("data", (chunk) => {
			received += chunk.toString("latin1");
		});
		socket.on("error", () => {});
		socket.write(text);
		if (options.end) socket.end();
		await Promise.race([
			once(socket, "close"),
			new Promise((r) => setTimeout(r, options.ms ?? 1_000)),
		]);
		socket.destroy();
		return received;
	}
	const head = (line: string, headers: string[]) =>
		`${[line, "Host: x", `Authorization: Bearer ${key}`, ...headers].join("\r\n")}\r\n\r\n`;

	describe(`${name}: every answer`, () => {
		test("has the caller's request id where it is harmless, else one of ours", async () => {
			const id = "my.id-1_2";
			const given = await ask("/healthz", { headers: { "X-Request-Id": id } });
			expect(given.headers.get("x-request-id")).toBe(id);
			const other = await ask("/healthz", { headers: { "X-Request-Id": "a b" } });
			expect(other.headers.get("x-request-id")).toMatch(/^[\w.-]{1,64}$/);
			const refused = await ask("/v1/loads", { key: null, headers: { "X-Request-Id": id } });
			expect(refused.json.request_id).toBe(id);
		});

		test("of an unknown route is 404 bad_request, of a wrong method 405 with Allow", async () => {
			for (const path of [
				"/",
				"/v1",
				"/v1/ingest",
				"/v1/ingest/",
				"/v1/nope",
				"/v1/loads/a/b",
				"//v1/loads",
			]) {
				const answer = await ask(path);
				expect([path, answer.status, answer.json.code]).toEqual([path, 404, "bad_request"]);
			}
			const wrong = await ask("/v1/ingest/x");
			expect([wrong.status, wrong.json.code]).toEqual([405, "bad_request"]);
			expect(wrong.headers.get("allow")).toBe("POST, OPTIONS");
			const put = await ask("/v1/uploads/x", { method: "PUT" });
			expect([put.status, put.headers.get("allow")]).toEqual([
				405,
				"PATCH, GET, DELETE, HEAD, OPTIONS",
			]);
		});

		test("to HEAD is that to GET without its body, to OPTIONS what the path takes", async () => {
			const got = await ask("/healthz", { method: "HEAD" });
			expect([got.status, got.text]).toEqual([200, ""]);
			const options = await ask("/v1/loads", { method: "OPTIONS", key: null });
			expect([options.status, options.headers.get("allow")]).toEqual([204, "GET, HEAD, OPTIONS"]);
			expect((await ask("/v1/loads", { method: "HEAD", key: null })).status).toBe(401);
		});

		test("tells browsers to frame, sniff and keep nothing", async () => {
			for (const path of ["/healthz", "/v1/loads", "/nope"]) {
				const { headers } = await ask(path);
				expect(headers.get("x-content-type-options")).toBe("nosniff");
				expect(headers.get("cache-control")).toBe("no-store");
				expect(headers.get("content-security-policy")).toContain("frame-ancestors 'none'");
			}
		});

		test("allows the origins of the list and no other", async () => {
			const preflight = (Origin: string) =>
				ask("/v1/uploads", {
					method: "OPTIONS",
					key: null,
					headers: { Origin, "Access-Control-Request-Method": "POST" },
				});
			const good = await preflight(service.corsOrigin);
			expect(good.headers.get("access-control-allow-origin")).toBe(service.corsOrigin);
			expect(good.headers.get("access-control-allow-methods")).toContain("POST");
			expect(good.headers.get("access-control-allow-headers")).toContain("Authorization");
			expect(good.headers.get("access-control-allow-credentials")).toBeNull();
			const bad = await preflight("https://evil.example");
			expect(bad.headers.get("access-control-allow-origin")).toBeNull();
			const real = await ask("/v1/loads", { headers: { Origin: service.corsOrigin } });
			expect(real.headers.get("access-control-allow-origin")).toBe(service.corsOrigin);
			expect(real.headers.get("vary")).toContain("Origin");
		});
	});

	describe(`${name}: what needs no key`, () => {
		test("is health, readiness, the OpenAPI document and the page of it", async () => {
			expect((await ask("/healthz", { key: null })).json).toEqual({ status: "ok" });
			expect((await ask("/readyz", { key: null })).status).toBe(200);
			const { json } = await ask("/openapi.json", { key: null });
			expect(json.openapi).toMatch(/^3\.1/);
			expect(Object.keys(json.paths)).toContain("/v1/ingest/{table}");
			const docs = await ask("/docs", { key: null });
			expect(docs.headers.get("content-type")).toBe("text/html; charset=utf-8");
			for (const code of Object.keys(problemKinds)) expect(docs.text).toContain(`id="${code}"`);
			expect(docs.text).toContain('spec-url="/openapi.json"');
		});

		test("is the renderer of that page, which may run what is served here and ask nobody else", async () => {
			const page = await ask("/docs", { key: null });
			const policy = page.headers.get("content-security-policy")!.split("; ");
			expect(policy).toEqual([
				"default-src 'none'",
				"script-src 'self'",
				"style-src 'self' 'unsafe-inline'",
				"connect-src 'self'",
				"img-src data:",
				"base-uri 'none'",
				"form-action 'none'",
				"frame-ancestors 'none'",
				"require-trusted-types-for 'script'",
				"trusted-types lit-html",
			]);
			const parts = [...page.text.matchAll(/(?:src|href)="(\/docs\/[^"]+)"/g)];
			expect(parts.map(([, path]) => path)).toEqual([
				"/docs/docs.css",
				"/docs/docs.ts",
				"/docs/openapi-explorer.min.js",
			]);
			for (const [, path] of parts) {
				const part = await ask(path!, { key: null });
				const type = path!.endsWith(".css") ? "text/css" : "text/javascript";
				expect([part.status, part.headers.get("content-type")]).toEqual([
					200,
					`${type}; charset=utf-8`,
				]);
				expect(part.text).not.toContain("interface Explorer");
				// All of it goes to each new reader: 0.75 MB for the renderer, little for what is ours.
				expect(part.text.length).toBeLessThan(path!.endsWith(".js") ? 1e6 : 8_000);
			}
			for (const path of ["/docs/none.js", "/docs/docs-page.ts", "/docs/..%2fopenapi.ts"]) {
				expect((await ask(path, { key: null })).status).toBe(404);
			}
		});

		test("is the console, its styles and its modules, which run nothing but themselves", async () => {
			const page = await ask("/console", { key: null });
			expect(page.headers.get("content-type")).toBe("text/html; charset=utf-8");
			const parts = [...page.text.matchAll(/(?:src|href)="(\/console\/[^"]+)"/g)];
			expect(parts).toHaveLength(2);
			for (const [, path] of parts) {
				const part = await ask(path!, { key: null });
				const type = path!.endsWith(".css") ? "text/css" : "text/javascript";
				expect([part.status, part.headers.get("content-type")]).toEqual([
					200,
					`${type}; charset=utf-8`,
				]);
				expect(part.text).not.toContain("import type");
			}
			expect(page.headers.get("content-security-policy")).toContain("script-src 'self'");
			expect(page.headers.get("x-content-type-options")).toBe("nosniff");
			expect(page.headers.get("x-request-id")).toBeTruthy();
			for (const path of ["/console/src/none.ts", "/console/src/upload/create-app.ts"]) {
				expect((await ask(path, { key: null })).status).toBe(404);
			}
		});

		test("is nothing else", async () => {
			const { json } = await ask("/openapi.json", { key: null });
			const open = ["/healthz", "/readyz", "/openapi.json", "/docs", "/console"];
			for (const [path, operations] of Object.entries(json.paths as Record<string, object>)) {
				for (const method of Object.keys(operations)) {
					if (
						open.includes(path) ||
						/^\/(docs|console)\//.test(path) ||
						(path === "/metrics" && service.openMetrics)
					)
						continue;
					const filled = path.replace("{id}", "01ARZ3NDEKTSV4RRFFQ69G5FAV").replace(/\{\w+\}/, "1");
					const answer = await ask(filled, { method: method.toUpperCase(), key: null });
					expect([path, answer.status, answer.json.code]).toEqual([path, 401, "unauthenticated"]);
				}
			}
		});
	});

	describe(`${name}: keys`, () => {
		test("of another shape, unknown or expired are 401", async () => {
			const unknown = `dk_${"a".repeat(16)}_${"b".repeat(52)}`;
			const almost = `${key.slice(0, -2)}${key.endsWith("aa") ? "bb" : "aa"}`;
			for (const bad of ["", "x", "dk_a_b", unknown, almost]) {
				expect((await ask("/v1/loads", { key: bad })).json.code).toBe("unauthenticated");
			}
			const short = await service.makeKey({ tenant, expiresInMs: 1 });
			const codeOf = async () => (await ask("/v1/loads", { key: short })).json.code;
			await expect.poll(codeOf, { timeout: 10_000 }).toBe("key_expired");
		});

		test.each([
			[["append"], "append", {}, true],
			[["append"], "create", {}, false],
			[["append"], "create_append", {}, false],
			[["append", "create"], "create_append", {}, true],
			[["append", "create"], "replace", {}, false],
			[["replace"], "replace", {}, true],
			[["append", "create"], "create_append", { on_extra_columns: "add" }, false],
			[["append", "create", "add_columns"], "create_append", { on_extra_columns: "add" }, true],
			[["read"], "append", {}, false],
		] as [Right[], string, object, boolean][])(
			"with rights %j may %s %j: %s",
			async (rights, mode, more, allowed) => {
				const limited = await service.makeKey({ tenant, rights });
				const body = { table: newTable(), mode, ...more };
				const answer = await post("/v1/uploads", { key: limited, body });
				expect(answer.status).toBe(allowed ? 201 : 403);
				if (!allowed) expect(answer.json.code).toBe("forbidden_mode");
				const query = `?mode=${mode}&${new URLSearchParams(more as Record<string, string>)}`;
				const inOne = await ingest(
					newTable(),
					{ key: limited, headers: { Prefer: "respond-async" } },
					query,
				);
				expect(inOne.json.code).toBe(allowed ? undefined : "forbidden_mode");
			},
		);

		test("hold the tables of their patterns, in any case, and no reserved schema", async () => {
			const limited = await service.makeKey({
				tenant,
				tables: ["raw.*", "events"],
				rights: ["append", "create", "read"],
			});
			const code = async (table: string) =>
				(await post("/v1/uploads", { key: limited, body: { table } })).json.code;
			expect(await code("raw.x")).toBeUndefined();
			expect(await code("RAW.X")).toBeUndefined();
			expect(await code("Events")).toBeUndefined();
			for (const table of ["other", "raws.x", "main.raw", '"raw.x"', "еvents"]) {
				expect([table, await code(table)]).toEqual([table, "forbidden_table"]);
			}
			for (const schema of ["_duckdock", "INFORMATION_SCHEMA", "pg_catalog", "Temp"]) {
				const table = `${schema}.loads`;
				expect((await post("/v1/uploads", { body: { table } })).json.code).toBe("forbidden_table");
				expect((await ingest(table)).json.code).toBe("forbidden_table");
				expect((await ask(`/v1/tables/${table}`)).json.code).toBe("forbidden_table");
				expect((await ask(`/v1/loads?table=${table}`)).json.code).toBe("forbidden_table");
			}
		});

		test("of another tenant see nothing of this one: not there, not forbidden", async () => {
			const { upload_id } = await open();
			const load = (await ingest(newTable())).json as Receipt;
			const other = await service.makeKey({
				tenant: "other",
				rights: ["append", "create", "replace", "read"],
			});
			const nobodys = "01ARZ3NDEKTSV4RRFFQ69G5FAV";
			for (const [path, method] of [
				["/v1/uploads/ID", "GET"],
				["/v1/uploads/ID", "DELETE"],
				["/v1/uploads/ID", "PATCH"],
				["/v1/uploads/ID/parts/1", "PUT"],
				["/v1/uploads/ID/complete", "POST"],
				["/v1/uploads/ID/parts", "POST"],
				["/v1/loads/ID", "GET"],
				["/v1/loads/ID/replay", "POST"],
			] as const) {
				const real = path.startsWith("/v1/loads") ? load.load_id : upload_id;
				const body = path.endsWith("complete")
					? { parts: 1 }
					: path.endsWith("parts")
						? { parts: [{ n: 1, size: 1, sha256: "0".repeat(64) }] }
						: undefined;
				const answers = [];
				for (const id of [real, nobodys]) {
					const asked = {
						method,
						key: other,
						...(body ? { body } : {}),
						headers: { "X-Request-Id": "same" },
					};
					const answer = await ask(path.replace("ID", id), asked);
					answers.push([answer.status, { ...answer.json, instance: "" }]);
				}
				expect(answers[0]![0]).toBe(404);
				expect(answers[0]).toEqual(answers[1]);
			}
			expect((await ask(`/v1/uploads/${upload_id}`)).json.state).toBe("open");
		});

		test("without read see no receipt, and those of tables they don't hold are not there", async () => {
			const receipt = (await ingest(`raw.${newTable()}`)).json as Receipt;
			const blind = await service.makeKey({ tenant, rights: ["append", "create"] });
			expect((await ask(`/v1/loads/${receipt.load_id}`, { key: blind })).json.code).toBe(
				"forbidden_mode",
			);
			expect((await ask("/v1/loads", { key: blind })).json.code).toBe("forbidden_mode");
			expect((await ask("/v1/tables", { key: blind })).json.code).toBe("forbidden_mode");
			const narrow = await service.makeKey({ tenant, tables: ["events"], rights: ["read"] });
			expect((await ask(`/v1/loads/${receipt.load_id}`, { key: narrow })).json.code).toBe(
				"load_not_found",
			);
			const history = (await ask("/v1/loads", { key: narrow })).json as { loads: Receipt[] };
			expect(history.loads.filter((load) => load.table !== "main.events")).toEqual([]);
		});
	});

	describe(`${name}: POST /v1/ingest/{table}`, () => {
		test("loads and answers 200 with the receipt", async () => {
			const answer = await ingest(newTable(), { body: arrowNumbers(5) });
			expect(answer.status).toBe(service.canWait ? 200 : answer.status);
			const receipt = receiptSchema.parse(answer.json);
			expect(receipt).toMatchObject({
				status: "committed",
				tenant,
				rows_streamed: 5,
				rows_inserted: 5,
				parts: 1,
			});
			expect(receipt.repr_digest).toBe(digestOf(arrowNumbers(5)));
			expect(answer.headers.get("idempotency-replayed")).toBeNull();
		});

		test("takes chunked transfer, every content type of the contract, and none", async () => {
			const types = [
				"application/vnd.apache.arrow.stream",
				"application/vnd.apache.arrow.stream; codecs=none",
				"application/vnd.apache.arrow.file",
				"application/octet-stream",
				"application/x-www-form-urlencoded",
			];
			for (const type of types) {
				const answer = await ingest(newTable(), { headers: { "Content-Type": type } });
				expect([type, answer.status]).toEqual([type, 200]);
			}
			const stream = new Blob([arrowNumbers()]).stream();
			expect((await ingest(newTable(), { body: stream })).status).toBe(200);
			for (const type of ["text/csv", "application/json", "multipart/form-data; boundary=x"]) {
				const answer = await ingest(newTable(), { headers: { "Content-Type": type } });
				expect(answer.json.code).toBe("unsupported_media_type");
			}
		});

		test("reads names from the path: quotes, dots, slashes and unicode, encoded", async () => {
			for (const [path, table] of [
				["%22a.b%22", 'main."a.b"'],
				["s%2Ex", "s.x"],
				["a%2Fb", "main.a/b"],
				["%22..%22", 'main.".."'],
				["%F0%9F%A6%86", "main.🦆"],
				["a%20b", "main.a b"],
				["%22q%22%22q%22", 'main."q""q"'],
				["create", "main.create"],
			]) {
				const answer = await ingest(path!, {}, "?mode=create_append");
				expect([path, answer.status, answer.json.table]).toEqual([path, 200, table]);
			}
			for (const path of ["a%00b", "%22", "%22%22", ".x", "x.", "%E0%A4", "x".repeat(256)]) {
				const answer = await ingest(path);
				expect([path.slice(0, 9), answer.json.code]).toEqual([path.slice(0, 9), "bad_request"]);
			}
		});

		test("refuses unknown parameters and bad values, all of them at once", async () => {
			const answer = await ingest(
				newTable(),
				{},
				"?mode=upsert&dry_run=maybe&rows=-1&foo=1&rows=2",
			);
			expect(answer.json.code).toBe("bad_request");
			const names = answer.json.errors.map((error: { name: string }) => error.name);
			expect(new Set(names)).toEqual(new Set(["mode", "dry_run", "rows", "foo"]));
			for (const name of names) expect(answer.json.detail).toContain(name);
		});

		test("answers 202 with respond-async and when the wait runs out, and says what it applied", async () => {
			for (const [prefer, applied] of [
				["respond-async", "respond-async"],
				["wait=0", "wait=0"],
			]) {
				const answer = await ingest(newTable(), { headers: { Prefer: prefer! } });
				expect(answer.status).toBe(202);
				expect(answer.headers.get("preference-applied")).toBe(applied);
				expect(answer.headers.get("retry-after")).toMatch(/^\d+$/);
				const location = answer.headers.get("location")!;
				expect(location).toBe(`/v1/loads/${answer.json.load_id}`);
				expect((await eventually(location)).status).toBe("committed");
			}
			const both = await ingest(newTable(), { headers: { Prefer: "respond-async, wait=30" } });
			expect([both.status, both.headers.get("preference-applied")]).toEqual([
				200,
				"respond-async, wait=30",
			]);
		});

		test("undoes gzip and zstd, and takes no other coding", async () => {
			const plain = arrowNumbers(100);
			for (const [coding, body] of [
				["gzip", gzipSync(plain)],
				["zstd", zstdCompressSync(plain)],
			] as const) {
				const answer = await ingest(newTable(), {
					body: new Uint8Array(body),
					headers: { "Content-Encoding": coding, Prefer: "respond-async" },
				});
				expect([coding, answer.status]).toEqual([coding, 202]);
			}
			const bad = await ingest(newTable(), { headers: { "Content-Encoding": "br" } });
			expect(bad.json.code).toBe("unsupported_media_type");
		});

		test("checks Content-Digest", async () => {
			const body = arrowNumbers();
			const good = await ingest(newTable(), {
				body,
				headers: { "Content-Digest": digestOf(body) },
			});
			expect(good.status).toBe(200);
			const other = digestOf(new Uint8Array(1));
			const bad = await ingest(newTable(), { body, headers: { "Content-Digest": other } });
			expect(bad.json.code).toBe("digest_mismatch");
			const none = await ingest(newTable(), { body, headers: { "Content-Digest": "sha-256=:x:" } });
			expect(none.json.code).toBe("bad_request");
		});

		test("answers what is no Arrow, and nothing at all, with not_arrow", async () => {
			for (const body of ["", "PAR1 is no Arrow, and long enough to be looked at"]) {
				const answer = await ingest(newTable(), { body });
				expect(answer.json.code).toBe("not_arrow");
				// Where first bytes are looked at before they are staged, there is no load.
				if (!service.refusesEarly) expect(answer.json.load_id).toMatch(/^[0-9A-Z]{26}$/);
			}
		});

		test("refuses a body over the limit, announced or not, and says the limit", async () => {
			if (service.limits.maxUploadBytes > 2 ** 24) return;
			const body = arrowAndMore(service.limits.maxUploadBytes + 1);
			const announced = await ingest(newTable(), { body });
			expect(announced.json.code).toBe("too_large");
			const chunked = await ingest(newTable(), { body: new Blob([body]).stream() });
			expect(chunked.json.code).toBe("too_large");
			expect(chunked.headers.get("upload-limit")).toContain(
				`max-size=${service.limits.maxUploadBytes}`,
			);
		});

		test("a body that is cut stages nothing that loads", async () => {
			const before = (await ask("/v1/loads?limit=1000")).json.loads.length;
			const table = newTable();
			const half = arrowNumbers().subarray(0, 50);
			const announced = Buffer.concat([
				Buffer.from(head(`POST /v1/ingest/${table} HTTP/1.1`, ["Content-Length: 500"])),
				half,
			]);
			await raw(announced, { end: true });
			const chunked = Buffer.concat([
				Buffer.from(head(`POST /v1/ingest/${table} HTTP/1.1`, ["Transfer-Encoding: chunked"])),
				Buffer.from("32\r\n"),
				half,
				Buffer.from("\r\n"),
			]);
			await raw(chunked, { end: true });
			expect((await ask("/v1/loads?limit=1000")).json.loads.length).toBe(before);
		});
	});

	describe(`${name}: Idempotency-Key`, () => {
		test("a repeat is the same receipt, and says so", async () => {
			const table = newTable();
			const headers = { "Idempotency-Key": `k-${table}` };
			const first = await ingest(table, { headers });
			const second = await ingest(table, { headers: { "Idempotency-Key": `"k-${table}"` } });
			expect(second.status).toBe(200);
			expect(second.headers.get("idempotency-replayed")).toBe("true");
			expect(second.json).toEqual(first.json);
		});

		test("with other content it is idempotency_key_reused", async () => {
			const table = newTable();
			const headers = { "Idempotency-Key": `k-${table}` };
			await ingest(table, { headers });
			const other = await ingest(table, { headers, body: arrowNumbers(4) });
			expect(other.json.code).toBe("idempotency_key_reused");
			const mode = await ingest(table, { headers }, "?mode=append");
			expect(mode.json.code).toBe("idempotency_key_reused");
		});

		test("that is malformed, or is two keys, is a bad request", async () => {
			const bad = await ingest(newTable(), { headers: { "Idempotency-Key": "a b" } });
			expect(bad.json.code).toBe("bad_request");
			const body = { table: newTable(), idempotency_key: "a" };
			const two = await post("/v1/uploads", { body, headers: { "Idempotency-Key": "b" } });
			expect(two.json.code).toBe("bad_request");
			const same = await post("/v1/uploads", { body, headers: { "Idempotency-Key": '"a"' } });
			expect(same.status).toBe(201);
		});
	});

	describe(`${name}: uploads in parts`, () => {
		test("say what they take when they are opened", async () => {
			const answer = await post("/v1/uploads", {
				body: { table: newTable(), mode: "append", rows: null },
			});
			expect(answer.headers.get("location")).toBe(`/v1/uploads/${answer.json.upload_id}`);
			expect(answer.json).toMatchObject({
				part_size: service.limits.partBytes,
				max_parts: service.limits.maxParts,
				max_bytes: service.limits.maxUploadBytes,
				parts: "proxy",
			});
			expect(Date.parse(answer.json.expires_at)).toBeGreaterThan(Date.now());
		});

		test("load what was sent in any order and again, in part order", async () => {
			const bytes = arrowNumbers(1000);
			const { upload_id } = await open();
			const cut = [bytes.slice(0, 1), bytes.slice(1, 1500), bytes.slice(1500)];
			expect((await put(upload_id, 3, cut[2]!)).status).toBe(204);
			expect((await put(upload_id, 1, new Uint8Array([9, 9]))).status).toBe(204);
			expect((await put(upload_id, 2, cut[1]!)).status).toBe(204);
			expect((await put(upload_id, 1, cut[0]!)).status).toBe(204);
			const state = (await ask(`/v1/uploads/${upload_id}`)).json;
			expect(state).toMatchObject({ state: "open" });
			expect(state.load_id).toBeUndefined();
			expect(state.parts).toEqual(
				cut.map((part, at) => ({
					n: at + 1,
					size: part.length,
					sha256: createHash("sha256").update(part).digest("hex"),
				})),
			);
			const done = await complete(upload_id, 3, waited);
			expect(done.status).toBe(200);
			expect(done.json).toMatchObject({ load_id: upload_id, rows_inserted: 1000, parts: 3 });
			expect(done.json.repr_digest).toBe(digestOf(bytes));
			const after = (await ask(`/v1/uploads/${upload_id}`)).json;
			expect(after).toMatchObject({ state: "completed", load_id: upload_id });
		});

		test("are completed once: the same N gives the same answer, another is 409", async () => {
			const { upload_id } = await open();
			await put(upload_id, 1, arrowNumbers());
			const first = await complete(upload_id, 1);
			expect([first.status, first.headers.get("location")]).toEqual([
				202,
				`/v1/loads/${upload_id}`,
			]);
			await eventually(`/v1/loads/${upload_id}`);
			const again = await complete(upload_id, 1);
			expect([again.status, again.headers.get("location")]).toEqual([
				202,
				`/v1/loads/${upload_id}`,
			]);
			expect((await complete(upload_id, 1, waited)).json.load_id).toBe(upload_id);
			expect((await complete(upload_id, 2)).json.code).toBe("upload_completed");
			expect((await put(upload_id, 2, arrowNumbers())).json.code).toBe("upload_completed");
			expect((await ask(`/v1/uploads/${upload_id}`, { method: "DELETE" })).json.code).toBe(
				"upload_completed",
			);
		});

		test("stay open when parts are missing, beyond N, or N is 0; both are listed", async () => {
			const { upload_id } = await open();
			await put(upload_id, 2, arrowNumbers());
			await put(upload_id, 5, arrowNumbers());
			const missing = await complete(upload_id, 4);
			expect([missing.json.code, missing.json.parts]).toEqual(["missing_parts", [1, 3, 4]]);
			for (const n of [1, 3, 4]) await put(upload_id, n, arrowNumbers());
			const beyond = await complete(upload_id, 4);
			expect([beyond.json.code, beyond.json.parts]).toEqual(["bad_request", [5]]);
			const none = await complete(upload_id, 0);
			expect([none.json.code, none.json.parts]).toEqual(["bad_request", [1, 2, 3, 4, 5]]);
			expect((await ask(`/v1/uploads/${upload_id}`)).json.state).toBe("open");
		});

		test("refuse parts that are none: number, size, coding, type, digest", async () => {
			const { upload_id } = await open();
			const { maxParts, maxPartBytes } = service.limits;
			for (const n of ["0", "-1", "01", "1.5", "x", String(maxParts + 1)]) {
				expect([n, (await put(upload_id, n, arrowNumbers())).json.code]).toEqual([
					n,
					"bad_request",
				]);
			}
			const coded = await put(upload_id, 1, arrowNumbers(), {
				headers: { "Content-Encoding": "gzip" },
			});
			expect([coded.status, coded.json.code]).toEqual([415, "unsupported_media_type"]);
			const json = await put(upload_id, 1, arrowNumbers(), {
				headers: { "Content-Type": "text/plain" },
			});
			expect(json.json.code).toBe("unsupported_media_type");
			const digest = { "Content-Digest": digestOf(new Uint8Array(3)) };
			expect((await put(upload_id, 1, arrowNumbers(), { headers: digest })).json.code).toBe(
				"digest_mismatch",
			);
			if (maxPartBytes < 2 ** 24) {
				const large = arrowAndMore(maxPartBytes + 1);
				const announced = await put(upload_id, 1, large);
				expect(announced.json.code).toBe("too_large");
				const stream = { body: new Blob([large]).stream() };
				expect((await put(upload_id, 1, large, stream)).json.code).toBe("too_large");
			}
			expect((await ask(`/v1/uploads/${upload_id}`)).json.parts).toEqual([]);
			const good = { "Content-Digest": digestOf(arrowNumbers()) };
			expect((await put(upload_id, maxParts, arrowNumbers(), { headers: good })).status).toBe(204);
		});

		test("beyond max_bytes are refused when the part comes, not only when they are complete", async () => {
			const { maxUploadBytes, maxPartBytes } = service.limits;
			if (maxUploadBytes > 2 ** 24) return;
			const { upload_id } = await open();
			const parts = Math.floor(maxUploadBytes / maxPartBytes);
			for (let n = 1; n <= parts; n++) {
				expect((await put(upload_id, n, arrowAndMore(maxPartBytes))).status).toBe(204);
			}
			const over = await put(upload_id, parts + 1, arrowAndMore(maxPartBytes));
			expect([over.status, over.json.code]).toEqual([413, "too_large"]);
			expect(over.json.limit_bytes).toBe(maxUploadBytes);
			// The same part again, as long as before, is no more than before.
			expect((await put(upload_id, parts, arrowAndMore(maxPartBytes))).status).toBe(204);
			const chunked = await put(upload_id, parts + 1, new Uint8Array(0), {
				body: new Blob([arrowNumbers()]).stream(),
			});
			expect(chunked.status).toBe(204);
			const complete413 = await complete(upload_id, parts + 1);
			expect(complete413.json.code).toBe("too_large");
			expect((await ask(`/v1/uploads/${upload_id}`)).json.state).toBe("open");
		});

		test("can be given up, again and again; then nothing loads", async () => {
			const { upload_id } = await open();
			await put(upload_id, 1, arrowNumbers());
			for (let time = 0; time < 2; time++) {
				expect((await ask(`/v1/uploads/${upload_id}`, { method: "DELETE" })).status).toBe(204);
			}
			expect((await ask(`/v1/uploads/${upload_id}`)).json).toMatchObject({
				state: "aborted",
				parts: [],
			});
			expect((await complete(upload_id, 1)).json.code).toBe("upload_expired");
			expect((await put(upload_id, 1, arrowNumbers())).json.code).toBe("upload_expired");
		});

		test("that aren't there are upload_not_found, whatever the id looks like", async () => {
			for (const id of [
				"01ARZ3NDEKTSV4RRFFQ69G5FAV",
				"x",
				"..%2F..%2Fkeys",
				"%00",
				"a".repeat(300),
			]) {
				expect((await ask(`/v1/uploads/${id}`)).json.code).toBe("upload_not_found");
				expect((await put(id, 1, arrowNumbers())).json.code).toBe("upload_not_found");
				expect((await complete(id, 1)).json.code).toBe("upload_not_found");
				expect((await ask(`/v1/loads/${id}`)).json.code).toBe("load_not_found");
			}
		});

		test("take JSON only, small, shallow, with known fields", async () => {
			const bad = async (body: string, headers: Record<string, string> = {}) =>
				(await post("/v1/uploads", { body, headers })).json;
			expect((await bad('{"table":')).code).toBe("bad_request");
			expect((await bad('{"table":"x"}', { "Content-Type": "text/plain" })).code).toBe(
				"unsupported_media_type",
			);
			expect((await bad("[]")).code).toBe("bad_request");
			expect((await bad('"x"')).code).toBe("bad_request");
			const all = await bad('{"tabel":"x","mode":7,"rows":1.5,"__proto__":{"mode":"append"}}');
			const names = all.errors.map((error: { name: string }) => error.name);
			expect(names).toEqual(expect.arrayContaining(["tabel", "table", "mode", "rows"]));
			expect((await bad(`{"table":"x","rows":${"[".repeat(200_000)}`)).code).toBe("bad_request");
			expect((await bad(`{"table":${"[".repeat(100_000)}${"]".repeat(100_000)}}`)).code).toBe(
				"bad_request",
			);
			expect((await bad(`{"table":"${"x".repeat(1_100_000)}"}`)).code).toBe("too_large");
			const curl = { "Content-Type": "application/x-www-form-urlencoded" };
			expect((await post("/v1/uploads", { body: '{"table":"x"}', headers: curl })).status).toBe(
				201,
			);
		});

		test("ask for URLs only where parts go straight to the store", async () => {
			const { upload_id } = await open();
			const parts = [{ n: 1, size: 1, sha256: "0".repeat(64) }];
			const answer = await post(`/v1/uploads/${upload_id}/parts`, { body: { parts } });
			expect(answer.json.code).toBe("bad_request");
			const many = Array.from({ length: 1_001 }, () => parts[0]);
			const tooMany = await post(`/v1/uploads/${upload_id}/parts`, { body: { parts: many } });
			expect(tooMany.json.code).toBe("bad_request");
		});
	});

	describeResumable(name, () => ({ service, key, ask, newTable }));

	describe(`${name}: loads and tables`, () => {
		test("a receipt is there in every state, a failed one with its problem", async () => {
			const bytes = arrowNumbers(1_000);
			const failed = await ingest(newTable(), { body: bytes.slice(0, bytes.length - 500) });
			const { load_id: id, code } = failed.json;
			const { status, json } = await ask(`/v1/loads/${id}`);
			expect(status).toBe(200);
			expect(receiptSchema.parse(json)).toMatchObject({
				status: "failed",
				error: { code },
			});
			const replayed = await post(`/v1/loads/${id}/replay`, waited);
			expect(replayed.json.code).toBe(code);
		});

		test("a committed load replayed is its receipt", async () => {
			const receipt = (await ingest(newTable())).json as Receipt;
			const answer = await post(`/v1/loads/${receipt.load_id}/replay`, waited);
			expect([answer.status, answer.json]).toEqual([200, receipt]);
			expect(answer.headers.get("idempotency-replayed")).toBe("true");
			const stranger = await service.makeKey({
				tenant,
				rights: ["append", "read"],
				tables: ["raw.*"],
			});
			const denied = await post(`/v1/loads/${receipt.load_id}/replay`, { key: stranger });
			expect(denied.json.code).toBe("load_not_found");
			const weak = await service.makeKey({ tenant, rights: ["append", "read"] });
			const mode = await post(`/v1/loads/${receipt.load_id}/replay`, { key: weak });
			expect(mode.json.code).toBe("forbidden_mode");
		});

		test("history pages through all loads, newest first, and filters", async () => {
			const table = newTable();
			const ids: string[] = [];
			for (let at = 0; at < 5; at++) ids.unshift((await ingest(table)).json.load_id);
			const seen: string[] = [];
			let cursor = "";
			do {
				const page = (await ask(`/v1/loads?table=${table}&limit=2${cursor}`)).json;
				expect(page.loads.length).toBeLessThanOrEqual(2);
				seen.push(...page.loads.map((load: Receipt) => load.load_id));
				cursor = page.cursor === null ? "" : `&cursor=${encodeURIComponent(page.cursor)}`;
			} while (cursor !== "");
			expect(seen).toEqual(ids);
			expect((await ask(`/v1/loads?table=${table}&status=failed`)).json.loads).toEqual([]);
			for (const query of ["limit=0", "limit=1001", "limit=x", "status=done", "table=", "foo=1"]) {
				expect([query, (await ask(`/v1/loads?${query}`)).json.code]).toEqual([
					query,
					"bad_request",
				]);
			}
		});

		test("tables are listed and described as of the last load", async () => {
			const table = newTable();
			await ingest(table, { body: arrowNumbers(7) });
			let one = await ask(`/v1/tables/${table.toUpperCase()}`);
			// Written beside the load, not before its answer.
			for (let at = 0; at < 200 && one.json.rows !== 7; at++) {
				await new Promise((resolve) => setTimeout(resolve, 50));
				one = await ask(`/v1/tables/${table.toUpperCase()}`);
			}
			expect(one.json).toMatchObject({ schema: "main", table, rows: 7 });
			expect(one.json.columns).toMatchObject([{ name: "id", type: "INTEGER" }]);
			const names: string[] = [];
			let cursor = "";
			do {
				const page = (await ask(`/v1/tables?limit=3${cursor}`)).json;
				names.push(...page.tables.map((row: { table: string }) => row.table));
				cursor = page.cursor === null ? "" : `&cursor=${encodeURIComponent(page.cursor)}`;
			} while (cursor !== "");
			expect(names).toContain(table);
			expect(new Set(names).size).toBe(names.length);
			expect((await ask("/v1/tables/nope")).json.code).toBe("table_not_found");
		});
	});

	describe(`${name}: /metrics`, () => {
		test("needs the right or a peer on this machine", async () => {
			if (!service.hasMetrics) return;
			expect((await ask("/metrics")).json?.code ?? "open").toBe("forbidden_mode");
			const reader = await service.makeKey({ tenant, rights: ["metrics"] });
			const answer = await ask("/metrics", { key: reader });
			expect(answer.headers.get("content-type")).toMatch(/^text\/plain; version=0\.0\.4/);
			expect(answer.text).toMatch(
				/duckdock_requests_total\{route="ingest",tenant="acme",outcome="ok"\} \d+/,
			);
			for (const line of answer.text.trim().split("\n")) {
				expect(line).toMatch(/^(#.*|[a-z_]+(\{([a-z]+="[^"]*",?)+\})? -?[\d.e+-]+)$/);
			}
		});
	});

	async function eventually(location: string): Promise<Receipt> {
		for (;;) {
			const { json } = await ask(location);
			if (json.status !== "staged" && json.status !== "loading") return json as Receipt;
			await new Promise((resolve) => setTimeout(resolve, 20));
		}
	}
}

/** `fetch` gives text a content type of its own; bytes have none. */
const bytesOf = (body: unknown) =>
	typeof body === "string" ? new TextEncoder().encode(body) : body;

/** So many bytes, the first of them Arrow. */
function arrowAndMore(size: number): Uint8Array<ArrayBuffer> {
	const bytes = new Uint8Array(size);
	bytes.set(arrowNumbers());
	return bytes;
}

function digestOf(bytes: Uint8Array): string {
	return `sha-256=:${createHash("sha256").update(bytes).digest("base64")}:`;
}
