import { expect, it } from "vitest";
import { collectBytes } from "../../src/collect-bytes.ts";

const streamOf = (...chunks: number[][]) =>
	new ReadableStream<Uint8Array>({
		start(controller) {
			for (const chunk of chunks) controller.enqueue(Uint8Array.from(chunk));
			controller.close();
		},
	});

it("joins what comes, in order, whatever the chunks", async () => {
	expect(await collectBytes(streamOf())).toEqual(new Uint8Array(0));
	expect(await collectBytes(streamOf([1, 2]))).toEqual(Uint8Array.of(1, 2));
	expect(await collectBytes(streamOf([1], [], [2, 3], [4]))).toEqual(Uint8Array.of(1, 2, 3, 4));
});

it("tells the size as it grows, and ends the stream when that is too much", async () => {
	const sizes: number[] = [];
	let cancelled = false;
	const endless = new ReadableStream<Uint8Array>({
		pull: (controller) => controller.enqueue(new Uint8Array(10)),
		cancel() {
			cancelled = true;
		},
	});
	const refuse = (size: number) => {
		sizes.push(size);
		if (size > 25) throw new Error("too much");
	};
	await expect(collectBytes(endless, refuse)).rejects.toThrow("too much");
	expect({ sizes, cancelled }).toEqual({ sizes: [10, 20, 30], cancelled: true });
});
