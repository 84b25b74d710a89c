import { describe, expect, it } from "vitest";
import { IngestError } from "../../../src/errors.ts";
import { createRunningAppends } from "../../../src/upload/running-appends.ts";

type End = (reason: IngestError, keeps: boolean) => void;

/** An append that runs until it is ended; then it takes a turn to be over. */
const untilEnded = (order: string[]) => (onStart: (end: End) => void) =>
	new Promise<string>((resolve, reject) =>
		onStart((reason, keeps) => {
			setImmediate(() => {
				order.push("over");
				if (keeps) resolve("kept");
				else reject(reason);
			});
		}),
	);

describe("the appends of a process", () => {
	it("end for who asks, who goes on when they are over", async () => {
		const running = createRunningAppends();
		const order: string[] = [];
		const append = running.run("a", untilEnded(order));
		expect(await running.end("other", true)).toBe(false);
		expect(await running.end("a", true)).toBe(true);
		order.push("asked");
		expect(order).toEqual(["over", "asked"]);
		expect(await append).toBe("kept");
		expect(await running.end("a", true)).toBe(false);
	});

	it("end when another one to their upload begins", async () => {
		const running = createRunningAppends();
		const first = running.run("a", untilEnded([]));
		const second = running.run("a", async () => "mine");
		await expect(first).rejects.toMatchObject({ code: "load_in_progress" });
		expect(await second).toBe("mine");
	});

	it("that were ended before they read their body end when they do", async () => {
		const running = createRunningAppends();
		let start = () => {};
		const started = new Promise<void>((resolve) => {
			start = resolve;
		});
		const append = running.run("a", async (onStart) => {
			await started;
			return untilEnded([])(onStart);
		});
		const ended = running.end("a", false);
		start();
		expect(await ended).toBe(true);
		await expect(append).rejects.toBeInstanceOf(IngestError);
	});
});
