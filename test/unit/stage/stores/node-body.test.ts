import { Readable } from "node:stream";
import { describe, expect, it } from "vitest";
import { nodeBody } from "../../../../src/stage/stores/node-body.ts";

/** Chunks as a socket makes them: memory of their own, each byte its chunk's number. */
const socketChunks = (count: number) =>
	Array.from({ length: count }, (_, n) => new Uint8Array(new ArrayBuffer(1_000)).fill(n));
const expected = Buffer.concat(socketChunks(20));

describe("a body that a Node client receives", () => {
	it("is put where it is wanted, in reads of any size, and its chunks are let go", async () => {
		for (const size of [1, 999, 1_000, 1_001, 7_000, 100_000]) {
			const chunks = socketChunks(20);
			const { readInto } = nodeBody(Readable.from(chunks, { objectMode: true }));
			const seen: Buffer[] = [];
			for (;;) {
				const target = new Uint8Array(size);
				const count = await readInto(target);
				if (count === 0) break;
				seen.push(Buffer.from(target.subarray(0, count)));
			}
			expect(Buffer.concat(seen).equals(expected)).toBe(true);
			expect(await readInto(new Uint8Array(size))).toBe(0);
			if (size >= 1_000) expect(chunks.some(({ byteLength }) => byteLength === 0)).toBe(true);
		}
	});

	it("is a web stream where one is wanted, also in the middle", async () => {
		const object = nodeBody(Readable.from(socketChunks(20), { objectMode: true }));
		const head = new Uint8Array(1_500);
		let filled = 0;
		while (filled < head.length) filled += await object.readInto(head.subarray(filled));
		const rest = Buffer.from(await new Response(object.body as BodyInit).arrayBuffer());
		expect(Buffer.concat([head, rest]).equals(expected)).toBe(true);
	});

	it("is read no further ahead than a chunk or two, and is let go when it is cancelled", async () => {
		let sent = 0;
		const readable = new Readable({
			highWaterMark: 1,
			read() {
				sent++;
				this.push(Buffer.alloc(10));
			},
		});
		const object = nodeBody(readable);
		expect(sent).toBe(0);
		await object.readInto(new Uint8Array(10));
		await new Promise((next) => setTimeout(next, 20));
		expect(sent).toBeLessThanOrEqual(4);
		await object.body.cancel();
		expect(readable.destroyed).toBe(true);
	});

	it("that is read exactly to its last byte ends, so that its connection is free", async () => {
		const readable = Readable.from(socketChunks(3), { objectMode: true });
		const { readInto } = nodeBody(readable);
		const target = new Uint8Array(3_000);
		let filled = 0;
		while (filled < 3_000) filled += await readInto(target.subarray(filled));
		await expect.poll(() => readable.readableEnded).toBe(true);
	});

	it("that breaks off gives what came, and then says so", async () => {
		const broken = new Readable({ read() {} });
		const { readInto } = nodeBody(broken);
		broken.push(Buffer.from("abc"));
		const target = new Uint8Array(10);
		expect(await readInto(target)).toBe(3);
		broken.destroy(Object.assign(new Error("aborted"), { code: "ECONNRESET" }));
		await expect(readInto(target)).rejects.toThrow("aborted");
		const closed = new Readable({ read() {} });
		const waiting = nodeBody(closed).readInto(target);
		closed.destroy();
		await expect(waiting).rejects.toMatchObject({ code: "ECONNRESET" });
	});
});
