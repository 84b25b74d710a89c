import { Readable } from "node:stream";
import { describe, expect, it } from "vitest";
import { incomingBody } from "../../../src/upload/incoming-body.ts";

const bytes = (text: string) => new TextEncoder().encode(text);

describe("a request's body on Node", () => {
	it("has the chunks that came, none of them copied", async () => {
		const chunks = ["ab", "c", "def"].map((text) => Buffer.from(text));
		const incoming = Readable.from(chunks, { objectMode: false });
		const seen: Uint8Array[] = [];
		for await (const chunk of incomingBody({ incoming }) as unknown as AsyncIterable<Uint8Array>) {
			seen.push(chunk);
		}
		expect(Buffer.concat(seen).toString()).toBe("abcdef");
		expect(seen.every((chunk) => chunks.some(({ buffer }) => buffer === chunk.buffer))).toBe(true);
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
