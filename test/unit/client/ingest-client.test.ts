import { describe, expect, it } from "vitest";
import { ConnectionError, ProblemError, SourceError } from "../../../src/client/client-errors.ts";
import { createIngestClient, type IngestProgress } from "../../../src/client/ingest-client.ts";
import { createFakeService, type FakeService, uploadId } from "./fake-service.ts";

const text = "abcdefghijklmnopqrstuvwxyz0123456789";
const source = () => new Blob([text]);

function clientOf(service: FakeService, maxTries = 4) {
	return createIngestClient({
		url: "http://service/",
		key: "dk_x",
		fetch: service.fetch,
		maxTries,
		baseDelayMs: 1,
	});
}

const problem = (status: number, code: string, retryable: boolean) =>
	new Response(JSON.stringify({ code, detail: `told ${code}`, status, retryable }), { status });

describe("ingest", () => {
	it("sends every part once and resolves with the receipt after the load has ended", async () => {
		const service = createFakeService();
		const receipt = await clientOf(service).ingest("t", source());
		expect(receipt).toMatchObject({ status: "committed", text });
		expect(service.requests.filter((name) => name.startsWith("PUT")).length).toBe(4);
		expect(service.loadPolls).toBe(3);
	});

	it("has no more parts in flight than it may", async () => {
		const service = createFakeService(1);
		await clientOf(service).ingest("t", source(), { parallel: 3 });
		expect(service.peakParallel).toBe(3);
	});

	it("tries a part again after a cut connection, a 503 and a 429, and nothing doubles", async () => {
		const service = createFakeService();
		service.disturb = (method, path, count) => {
			if (method !== "PUT") return undefined;
			if (path.endsWith("/1") && count === 1) throw new TypeError("fetch failed");
			if (path.endsWith("/2") && count <= 2) return problem(503, "store_unavailable", true);
			if (path.endsWith("/3") && count === 1) return problem(429, "busy", true);
			return undefined;
		};
		expect(await clientOf(service).ingest("t", source())).toMatchObject({ text });
	});

	it("stops at once at an answer that no retry changes, and lets the other parts go", async () => {
		const service = createFakeService();
		service.disturb = (method, path) =>
			method === "PUT" && path.endsWith("/2") ? problem(403, "forbidden_table", false) : undefined;
		const failure = await clientOf(service)
			.ingest("t", source())
			.catch((error: unknown) => error);
		expect(failure).toBeInstanceOf(ProblemError);
		expect((failure as ProblemError).problem.code).toBe("forbidden_table");
		expect(service.requests.some((name) => name.endsWith("/complete"))).toBe(false);
		expect(service.requests.filter((name) => name.endsWith("/parts/2")).length).toBe(1);
	});

	it("gives up after its tries with the connection's reason", async () => {
		const service = createFakeService();
		service.disturb = () => {
			throw new TypeError("fetch failed", { cause: new Error("connect ECONNREFUSED") });
		};
		const failure = await clientOf(service, 3)
			.ingest("t", source())
			.catch((error: unknown) => error);
		expect(failure).toBeInstanceOf(ConnectionError);
		expect(String(failure)).toContain("ECONNREFUSED");
		expect(service.requests.length).toBe(3);
	});

	it("says what a stranger answers where the service should", async () => {
		const service = createFakeService();
		service.disturb = () => new Response("<h1>Sign in</h1>", { status: 200 });
		await expect(clientOf(service).ingest("t", source())).rejects.toThrow(
			"no answer of this service: <h1>Sign in</h1>",
		);
	});

	it("resumes: parts that are there with the same bytes are not sent again", async () => {
		const service = createFakeService();
		service.parts.set(1, new TextEncoder().encode(text.slice(0, 10)));
		service.parts.set(2, new TextEncoder().encode("other byte"));
		const seen: IngestProgress[] = [];
		const receipt = await clientOf(service).ingest("t", source(), {
			resume: uploadId,
			partSize: 10,
			onProgress: (progress) => seen.push(progress),
		});
		expect(receipt).toMatchObject({ text });
		expect(
			service.requests
				.filter((name) => name.startsWith("PUT"))
				.map((name) => name.slice(-1))
				.sort(),
		).toEqual(["2", "3", "4"]);
		expect(seen.at(-1)).toMatchObject({
			bytesDone: 36,
			bytesSkipped: 10,
			partsDone: 4,
			step: "load",
		});
	});

	it("resumes a completed upload by waiting for its receipt, without a byte", async () => {
		const service = createFakeService();
		service.parts.set(1, new TextEncoder().encode(text));
		service.state = "completed";
		expect(await clientOf(service).ingest("t", source(), { resume: uploadId })).toMatchObject({
			text,
		});
		expect(service.requests.some((name) => name.startsWith("PUT"))).toBe(false);
	});

	it("refuses to resume what has expired", async () => {
		const service = createFakeService();
		service.state = "expired";
		await expect(clientOf(service).ingest("t", source(), { resume: uploadId })).rejects.toThrow(
			"upload_expired",
		);
	});

	it("throws the problem of a load that failed", async () => {
		const service = createFakeService(10, {
			code: "schema_mismatch",
			detail: "column x",
			status: 422,
			retryable: false,
		});
		await expect(clientOf(service).ingest("t", source())).rejects.toThrow(
			"schema_mismatch: column x",
		);
	});

	it("says no before a byte is sent when the source is larger than an upload may be", async () => {
		const service = createFakeService();
		await expect(clientOf(service).ingest("t", new Blob(["x".repeat(1_001)]))).rejects.toThrow(
			"too_large",
		);
		expect(service.requests).toEqual(["POST /v1/uploads", `DELETE /v1/uploads/${uploadId}`]);
	});

	it("stops a stream of unknown length at the limit", async () => {
		const service = createFakeService();
		const chunks = Array.from({ length: 30 }, () => new Uint8Array(100));
		await expect(clientOf(service).ingest("t", chunks)).rejects.toThrow(SourceError);
	});

	it("ends with the signal's reason, also while it waits to try again", async () => {
		const service = createFakeService();
		const controller = new AbortController();
		service.disturb = (method) =>
			method === "PUT" ? problem(503, "store_unavailable", true) : undefined;
		const client = createIngestClient({
			url: "http://service",
			fetch: service.fetch,
			baseDelayMs: 60_000,
			maxDelayMs: 60_000,
		});
		const pushing = client.ingest("t", source(), { signal: controller.signal });
		setTimeout(() => controller.abort(new Error("Ctrl-C")), 20);
		await expect(pushing).rejects.toThrow("Ctrl-C");
	});

	it("takes tables and readers of apache-arrow through encode, and says so where there is none", async () => {
		const {
			RecordBatchReader,
			RecordBatchStreamWriter,
			tableFromArrays,
			tableFromIPC,
			tableToIPC,
		} = await import("apache-arrow");
		const table = tableFromArrays({ id: Int32Array.of(1, 2, 3) });
		const reader = () => RecordBatchReader.from(tableToIPC(table, "stream"));
		const encode = (value: never) => RecordBatchStreamWriter.writeAll(value);
		for (const value of [table, reader()]) {
			const service = createFakeService(100);
			const client = createIngestClient({ url: "http://service", fetch: service.fetch, encode });
			await client.ingest("t", value);
			const bytes = Buffer.concat(
				[...service.parts].sort(([a], [b]) => a - b).map(([, part]) => part),
			);
			expect(tableFromIPC(bytes).toArray()).toEqual(table.toArray());
		}
		await expect(clientOf(createFakeService()).ingest("t", table)).rejects.toThrow(
			"needs the client's option encode",
		);
	});

	it("ends with the source's error and completes nothing", async () => {
		const service = createFakeService();
		async function* broken() {
			yield new TextEncoder().encode(text);
			throw new Error("disk gone");
		}
		await expect(clientOf(service).ingest("t", broken())).rejects.toThrow("disk gone");
		expect(service.requests.some((name) => name.endsWith("/complete"))).toBe(false);
	});
});
