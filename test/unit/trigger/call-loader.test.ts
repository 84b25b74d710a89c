import { expect, test } from "vitest";
import { createLoaderCaller } from "../../../src/trigger/call-loader.ts";
import { signatureHeader, verifyBody } from "../../../src/trigger/signed-request.ts";
import { createFakeClock } from "../fake-clock.ts";

const secret = "s".repeat(32);
const job = { tenant: "acme", upload_id: "01ARZ3NDEKTSV4RRFFQ69G5FAV" };

function calling(answer: (request: Request) => Response | Promise<Response>) {
	const clock = createFakeClock();
	const seen: Request[] = [];
	const caller = createLoaderCaller({
		url: "https://loader.example.com",
		secret,
		clock,
		fetch: async (request) => {
			seen.push(request);
			return answer(request);
		},
	});
	return { clock, seen, call: (attempt = 1) => caller.call(job, attempt) };
}

test("a job goes as a signed request, and 200 is done", async () => {
	const { clock, seen, call } = calling(() => new Response("{}"));
	expect(await call()).toEqual({ done: true, delayMs: 0, why: "done" });
	const [request] = seen;
	expect(request!.url).toBe("https://loader.example.com/v1/replay");
	const body = await request!.text();
	expect(JSON.parse(body)).toEqual(job);
	const header = request!.headers.get(signatureHeader);
	expect(await verifyBody(secret, body, header, clock.now())).toBe(true);
});

test("what is not done is called again later each time, ten minutes at most", async () => {
	const { call } = calling(() => new Response(null, { status: 500 }));
	const delays = [];
	for (const attempt of [1, 2, 3, 7, 8, 20]) delays.push((await call(attempt)).delayMs);
	expect(delays).toEqual([5_000, 10_000, 20_000, 320_000, 600_000, 600_000]);
});

test.each([
	["30", 30_000],
	["9999", 600_000],
	["0", 5_000],
	["Mon, 30 Nov 2026 12:00:00 GMT", 5_000],
])("Retry-After: %s is %d ms", async (value, delayMs) => {
	const { call } = calling(
		() => new Response(null, { status: 503, headers: { "Retry-After": value } }),
	);
	expect(await call()).toEqual({ done: false, delayMs, why: "the loader answered 503" });
});

test("a loader that can't be reached is tried again, and why is told", async () => {
	const { call } = calling(() => Promise.reject(new Error("connection refused")));
	expect(await call(2)).toEqual({ done: false, delayMs: 10_000, why: "connection refused" });
});
