import { expect, test } from "vitest";
import { errorCodes, IngestError } from "../../../src/errors.ts";
import { problemKinds, problemOf, retryAfterSeconds } from "../../../src/upload/problem-json.ts";

test("every code has a status of its own class, and what is worth trying again says so", () => {
	expect(Object.keys(problemKinds).sort()).toEqual(Object.keys(errorCodes).sort());
	for (const [code, { status, retryable }] of Object.entries(problemKinds)) {
		expect(retryable, code).toBe(status >= 429 || code === "load_in_progress");
	}
});

test("a problem names the place of the fault and the request", () => {
	const error = new IngestError("invalid_arrow", "offset 7 is past the 5 bytes of data", {
		column: "a.b",
		batch: 2,
		row: 9,
		arrow_type: "utf8",
		extra: { code: "forged", status: 200, stream: 1 },
	});
	expect(problemOf(error, { instance: "/v1/ingest/t", request_id: "r", load_id: "l" })).toEqual({
		type: "/docs#invalid_arrow",
		title: "Invalid Arrow",
		status: 422,
		detail: "offset 7 is past the 5 bytes of data",
		instance: "/v1/ingest/t",
		code: "invalid_arrow",
		retryable: false,
		request_id: "r",
		load_id: "l",
		column: "a.b",
		batch: 2,
		row: 9,
		arrow_type: "utf8",
		stream: 1,
	});
});

test("an internal error keeps its detail to itself", () => {
	const problem = problemOf(new IngestError("internal", "ENOENT /secret/place"));
	expect(JSON.stringify(problem)).not.toContain("secret");
});

test("429 and 503 say when to come back", () => {
	expect(retryAfterSeconds(new IngestError("busy", "x", { retryAfterSeconds: 0.2 }))).toBe(1);
	expect(retryAfterSeconds(new IngestError("rate_limited", "x"))).toBe(5);
	expect(retryAfterSeconds(new IngestError("not_arrow", "x"))).toBeNull();
});
