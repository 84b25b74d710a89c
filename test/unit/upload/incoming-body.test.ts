import { Readable } from "node:stream";
import { describe, expect, it } from "vitest";
import { giveBack } from "../../../src/stage/lent-bytes.ts";
import { createIncomingBodies } from "../../../src/upload/incoming-body.ts";

const incomingBody = createIncomingBodies(setImmediate);
const KiB = 1024;
/** Chunks as a socket makes them: memory of their own, each byte its chunk's number. */
const socketChunks = (count: number) =>
	Array.from({ length: count }, (_, n) => new Uint8Array(new ArrayBuffer(64 * KiB)).fill(n));
const bytes = (text: string) => new TextEncoder().encode(text);

describe("a request's body on Node", () => {
	it("of few bytes has the chunks that came, none of them copied", async () => {
		const chunks = ["ab", "c", "def"].map((text) => Buffer.from(text));
		const incoming = Readable.from(chunks, { objectMode: false });
		const seen: Uint8Array[] = [];
		for await (const chunk of incomingBody({ incoming }) as unknown as AsyncIterable<Uint8Array>) {
			seen.push(chunk);
		}
		expect(Buffer.concat(seen).toString()).toBe("abcdef");
		expect(seen.every((chunk) => chunks.some(({ buffer }) => buffer === chunk.buffer))).toBe(true);
	});

	it("of many bytes is joined into larger chunks, and what came is let go", async () => {
		const sent = socketChunks(100);
		const incoming = Readable.from(sent, { objectMode: true });
		const seen: Buffer[] = [];
		let chunks = 0;
		for await (const chunk of incomingBody({ incoming }) as unknown as AsyncIterable<Uint8Array>) {
			chunks++;
			seen.push(Buffer.from(chunk));
		}
		const expected = Buffer.concat(socketChunks(100));
		expect(Buffer.concat(seen).equals(expected)).toBe(true);
		expect(sent.slice(4).every(({ byteLength }) => byteLength === 0)).toBe(true);
		// Who is slower than the socket gets 512 KiB at a time; this one may now and then be faster.
		expect(chunks).toBeLessThan(100);
	});

	it("goes round in the same memory where chunks are given back", async () => {
		const open = createIncomingBodies(setImmediate);
		const memories = new Set<ArrayBufferLike>();
		for (let body = 0; body < 5; body++) {
			const incoming = Readable.from(socketChunks(60), { objectMode: true });
			const reader = open({ incoming })!.getReader();
			let received = 0;
			for (;;) {
				const { value, done } = await reader.read();
				if (done) break;
				if (received >= 256 * KiB) memories.add(value.buffer);
				expect(value[0]).toBe(Math.floor(received / (64 * KiB)));
				received += value.length;
				expect(value.at(-1)).toBe(Math.floor((received - 1) / (64 * KiB)));
				// In pieces, as where one part ends and the next one begins.
				giveBack(value.subarray(0, 1000));
				giveBack(value.subarray(1000));
			}
			expect(received).toBe(60 * 64 * KiB);
		}
		expect(memories.size).toBeLessThanOrEqual(2);
	});

	it("that broke off gives what came before it says so", async () => {
		const broken = new Readable({ read() {} });
		const reader = incomingBody({ incoming: broken })!.getReader();
		const first = reader.read();
		for (const chunk of socketChunks(6)) broken.push(chunk);
		let received = (await first).value!.length;
		broken.destroy(new Error("reset"));
		await expect(
			(async () => {
				for (;;) received += (await reader.read()).value!.length;
			})(),
		).rejects.toThrow("reset");
		expect(received % (64 * KiB)).toBe(0);
		expect(received).toBeGreaterThan(0);
	});

	it("is read no further ahead than a chunk or two, whoever sends how much", async () => {
		let sent = 0;
		const incoming = new Readable({
			highWaterMark: 1,
			read() {
				sent++;
				this.push(Buffer.alloc(10));
			},
		});
		const reader = incomingBody({ incoming })!.getReader();
		await reader.read();
		await new Promise((next) => setTimeout(next, 20));
		expect(sent).toBeLessThanOrEqual(4);
		await reader.cancel();
		await new Promise((next) => setTimeout(next, 20));
		expect(sent).toBeLessThanOrEqual(4);
		// What is left is drained by whoever answers.
		expect(incoming.destroyed).toBe(false);
	});

	it("that broke off errors, before it is read and while it is", async () => {
		const broken = new Readable({ read() {} });
		const reader = incomingBody({ incoming: broken })!.getReader();
		broken.push(bytes("ab"));
		expect(Buffer.from((await reader.read()).value!).toString()).toBe("ab");
		broken.destroy(new Error("reset"));
		await expect(reader.read()).rejects.toThrow("reset");
		const again = incomingBody({ incoming: broken })!.getReader();
		await expect(again.read()).rejects.toThrow("reset");
		const closed = new Readable({ read() {} });
		const waiting = incomingBody({ incoming: closed })!.getReader().read();
		closed.destroy();
		await expect(waiting).rejects.toThrow("closed");
	});

	it("is over where it was read before, and null where there is no such request", async () => {
		const incoming = Readable.from([bytes("a")]);
		for await (const _ of incoming);
		expect(await incomingBody({ incoming })!.getReader().read()).toMatchObject({ done: true });
		expect(incomingBody(undefined)).toBeNull();
		expect(incomingBody({})).toBeNull();
	});
});
