/** Failures of transfer that users of other products reported, from a client's side of the socket. */
import { connect } from "node:net";
import { tableFromArrays, tableToIPC } from "apache-arrow";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { superstoreBytes } from "./superstore.ts";
import { call, createWorld, query, type World } from "./world.ts";

let world: World;
beforeAll(async () => {
	world = await createWorld();
	await world.start();
});
afterAll(() => world.end());

const stream = (...ids: number[]) =>
	tableToIPC(tableFromArrays({ id: Int32Array.from(ids) }), "stream");
const tables = (name: string) =>
	query(world.database, `SELECT count(*)::INT FROM duckdb_tables() WHERE table_name = '${name}'`);

/** Writes a request by hand and hangs up after `bytes`. */
function hangUpAfter(head: string[], bytes: Uint8Array): Promise<void> {
	const { hostname, port } = new URL(world.url);
	return new Promise((resolve, reject) => {
		const socket = connect(Number(port), hostname, () => {
			socket.write(
				[...head, `Host: ${hostname}`, `Authorization: Bearer ${world.key}`, "", ""].join("\r\n"),
			);
			socket.write(bytes, () => setTimeout(() => socket.destroy(), 100));
		});
		socket.on("close", () => resolve());
		socket.on("error", reject);
	});
}

async function createUpload(table: string, more: object = {}): Promise<string> {
	const created = await call(world, "POST", "/v1/uploads", {
		body: JSON.stringify({ table, ...more }),
	});
	expect(created.status, JSON.stringify(created.json)).toBe(201);
	return `/v1/uploads/${created.json.upload_id}`;
}

const complete = (path: string, parts: number) =>
	call(world, "POST", `${path}/complete`, {
		body: JSON.stringify({ parts }),
		headers: { Prefer: "wait=50" },
	});

describe("a connection that is cut in the middle of a body", () => {
	it("inserts no row, with a declared length and without", async () => {
		// Something to compare with: the database is there and takes loads.
		expect((await call(world, "POST", "/v1/ingest/before", { body: stream(1) })).status).toBe(200);
		const bytes = superstoreBytes();
		const half = bytes.subarray(0, bytes.length / 2);
		await hangUpAfter(
			["POST /v1/ingest/cut_known HTTP/1.1", `Content-Length: ${bytes.length}`],
			half,
		);
		const size = half.length.toString(16);
		const chunk = Buffer.concat([Buffer.from(`${size}\r\n`), half, Buffer.from("\r\n")]);
		await hangUpAfter(
			["POST /v1/ingest/cut_chunked HTTP/1.1", "Transfer-Encoding: chunked"],
			chunk,
		);
		// A chunked body that ends between two messages, but without its last chunk.
		const whole = stream(1, 2, 3);
		const all = Buffer.concat([
			Buffer.from(`${whole.length.toString(16)}\r\n`),
			whole,
			Buffer.from("\r\n"),
		]);
		await hangUpAfter(["POST /v1/ingest/cut_border HTTP/1.1", "Transfer-Encoding: chunked"], all);
		await new Promise((resolve) => setTimeout(resolve, 1_000));
		for (const name of ["cut_known", "cut_chunked", "cut_border"])
			expect(await tables(name)).toEqual([[0]]);
		const { json } = await call(world, "GET", "/v1/loads");
		expect(
			json.loads.filter((load: { table: string }) => load.table.startsWith("main.cut_")),
		).toEqual([]);
	});

	it("is truncated_stream where the bytes that came were taken for all", async () => {
		const bytes = superstoreBytes();
		const answer = await call(world, "POST", "/v1/ingest/half", {
			body: bytes.subarray(0, bytes.length / 2),
		});
		expect([answer.status, answer.json.code]).toEqual([400, "truncated_stream"]);
		expect(await tables("half")).toEqual([[0]]);
	});
});

describe("an answer", () => {
	it("is never 200 before COMMIT: 202 says staged, and the receipt says the rest", async () => {
		const answer = await call(world, "POST", "/v1/ingest/later", {
			body: superstoreBytes(),
			headers: { Prefer: "respond-async" },
		});
		expect(answer.status).toBe(202);
		expect(answer.headers.get("Location")).toBe(`/v1/loads/${answer.json.load_id}`);
		for (;;) {
			const { json } = await call(world, "GET", answer.headers.get("Location")!);
			if (json.status === "committed") break;
			expect(["staged", "loading"]).toContain(json.status);
			await new Promise((resolve) => setTimeout(resolve, 50));
		}
		expect(await query(world.database, "SELECT count(*)::INT FROM later")).toEqual([[9_994]]);
	});
});

describe("parts", () => {
	it("are all loaded, not the first alone", async () => {
		const path = await createUpload("n_parts");
		for (let n = 1; n <= 5; n++)
			await call(world, "PUT", `${path}/parts/${n}`, { body: stream(n, n) });
		const { status, json } = await complete(path, 5);
		expect([status, json.rows_inserted, json.parts]).toEqual([200, 10, 5]);
		expect(
			await query(world.database, "SELECT count(DISTINCT id)::INT, count(*)::INT FROM n_parts"),
		).toEqual([[5, 10]]);
	});

	it("may be sent twice: the last bytes win and nothing doubles", async () => {
		const path = await createUpload("twice");
		const bytes = stream(1, 2, 3);
		const cut = [bytes.slice(0, 100), bytes.slice(100)] as const;
		await call(world, "PUT", `${path}/parts/1`, {
			body: new TextEncoder().encode("something else"),
		});
		for (let time = 0; time < 2; time++) {
			expect((await call(world, "PUT", `${path}/parts/1`, { body: cut[0] })).status).toBe(204);
			expect((await call(world, "PUT", `${path}/parts/2`, { body: cut[1] })).status).toBe(204);
		}
		const { status, json } = await complete(path, 2);
		expect([status, json.rows_inserted]).toEqual([200, 3]);
		expect(await query(world.database, "SELECT id::INT FROM twice ORDER BY id")).toEqual([
			[1],
			[2],
			[3],
		]);
	});

	it("beyond the limit are refused when they are sent, and those missing when it is completed", async () => {
		const path = await createUpload("limits");
		const over = await call(world, "PUT", `${path}/parts/10001`, { body: new Uint8Array(1) });
		expect([over.status, over.json.code]).toEqual([400, "bad_request"]);
		await call(world, "PUT", `${path}/parts/2`, { body: stream(1) });
		const missing = await complete(path, 3);
		expect([missing.status, missing.json.code]).toEqual([400, "missing_parts"]);
		expect(JSON.stringify(missing.json.parts)).toContain("1");
		expect((await call(world, "GET", path)).json.state).toBe("open");
	});
});

describe("a retry after a lost answer", () => {
	it("gets the first receipt 1,000 times, also after a restart, and no second row", async () => {
		const headers = { "Idempotency-Key": "order-17" };
		const body = stream(1, 2, 3);
		const ask = () => call(world, "POST", "/v1/ingest/retried", { body, headers });
		const first = await ask();
		expect([first.status, first.headers.get("Idempotency-Replayed")]).toEqual([200, null]);
		const repeat = async (times: number) => {
			for (let done = 0; done < times; done += 10) {
				const answers = await Promise.all(Array.from({ length: 10 }, ask));
				for (const answer of answers) {
					expect([answer.status, answer.headers.get("Idempotency-Replayed")]).toEqual([
						200,
						"true",
					]);
					expect(answer.json).toEqual(first.json);
				}
			}
		};
		await repeat(500);
		await world.kill();
		await world.start();
		await repeat(500);
		expect(await query(world.database, "SELECT count(*)::INT FROM retried")).toEqual([[3]]);
	});

	it("of a completed upload gives the same receipt, also after a restart", async () => {
		const path = await createUpload("completed");
		await call(world, "PUT", `${path}/parts/1`, { body: stream(1) });
		const first = await complete(path, 1);
		expect(first.status).toBe(200);
		await world.kill();
		await world.start();
		const again = await complete(path, 1);
		expect([again.status, again.json]).toEqual([200, first.json]);
		const other = await complete(path, 2);
		expect([other.status, other.json.code]).toEqual([409, "upload_completed"]);
		expect(await query(world.database, "SELECT count(*)::INT FROM completed")).toEqual([[1]]);
	});
});
