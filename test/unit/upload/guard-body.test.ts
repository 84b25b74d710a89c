import { expect, test } from "vitest";
import { guardBody } from "../../../src/upload/guard-body.ts";
import { createFakeClock } from "../fake-clock.ts";

/** A body whose chunks of so many bytes come so many milliseconds apart, read as fast as it comes or at leave. */
function setUp(chunks: { afterMs: number; bytes: number }[], headers: Record<string, string> = {}) {
	const clock = createFakeClock();
	let at = 0;
	const body = new ReadableStream<Uint8Array>({
		async pull(controller) {
			const next = chunks[at++];
			if (next === undefined) return controller.close();
			await clock.sleep(next.afterMs);
			controller.enqueue(new Uint8Array(next.bytes));
		},
	});
	const request = new Request("http://x/", { method: "POST", headers });
	const { stream } = guardBody(request, {
		clock,
		what: "the body",
		maxBytes: 1e9,
		openBody: () => body,
	});
	const reader = stream.getReader();
	const all = async () => {
		let size = 0;
		for (;;) {
			const { value, done } = await reader.read();
			if (done) return size;
			size += value.length;
		}
	};
	const outcome = async () =>
		all().then(
			(size) => ({ size }),
			({ code, message }) => ({ code, message }),
		);
	return { clock, reader, outcome };
}

test("what comes slowly but steadily arrives, however long it takes", async () => {
	const chunks = Array.from({ length: 200 }, () => ({ afterMs: 30_000, bytes: 20_000 }));
	const { clock, outcome } = setUp(chunks);
	const read = outcome();
	await clock.pass(200 * 30_000);
	expect(await read).toEqual({ size: 4_000_000 });
});

test("a caller that stops is given up a minute later", async () => {
	const { clock, outcome } = setUp([
		{ afterMs: 0, bytes: 100_000 },
		{ afterMs: 600_000, bytes: 1 },
	]);
	let ended = false;
	const read = outcome().finally(() => {
		ended = true;
	});
	await clock.pass(59_000);
	expect(ended).toBe(false);
	await clock.pass(2_000);
	expect(await read).toEqual({
		code: "truncated_stream",
		message: "the body: 0 bytes came in 60000 ms, after 100000 in all",
	});
});

test("a byte now and then keeps no connection", async () => {
	const drip = Array.from({ length: 1_000 }, () => ({ afterMs: 5_000, bytes: 1 }));
	const { clock, outcome } = setUp([{ afterMs: 0, bytes: 20_000 }, ...drip], {
		"Content-Length": "1000000",
	});
	const read = outcome();
	await clock.pass(62_000);
	const told = await read;
	expect(told).toMatchObject({ code: "truncated_stream" });
	expect(told).toHaveProperty("message", expect.stringMatching(/: 1[12] bytes came/));
});

test("time that we take ourselves is not held against the caller", async () => {
	const chunks = Array.from({ length: 5 }, () => ({ afterMs: 20, bytes: 10 }));
	const { clock, reader } = setUp(chunks);
	for (let at = 0; at < 5; at++) {
		const read = reader.read();
		await clock.pass(100);
		expect((await read).value).toHaveLength(10);
		// Whoever stores it is slow.
		await clock.pass(300_000);
	}
});
