import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type ArrowSource, cutParts } from "../../../src/client/cut-parts.ts";

async function cut(source: ArrowSource, partSize: number) {
	const parts = [];
	for await (const part of cutParts(source, partSize)) parts.push(part);
	return parts;
}

const text = (parts: { bytes: Uint8Array }[]) =>
	parts.map((part) => new TextDecoder().decode(part.bytes));

describe("cutParts", () => {
	it("gives parts of the size asked for and a shorter last one, whatever the chunks", async () => {
		await fc.assert(
			fc.asyncProperty(
				fc.array(fc.uint8Array({ maxLength: 20 })),
				fc.integer({ min: 1, max: 17 }),
				async (chunks, size) => {
					const whole = Buffer.concat(chunks);
					const parts = await cut(chunks, size);
					expect(Buffer.concat(parts.map((part) => part.bytes)).equals(whole)).toBe(true);
					expect(parts.map((part) => part.n)).toEqual(parts.map((_, at) => at + 1));
					expect(parts.length).toBe(Math.max(1, Math.ceil(whole.length / size)));
					for (const part of parts.slice(0, -1)) expect(part.bytes.byteLength).toBe(size);
				},
			),
		);
	});

	it("takes bytes, blobs, web streams and iterables alike", async () => {
		const bytes = new TextEncoder().encode("abcdefg");
		const expected = ["abc", "def", "g"];
		expect(text(await cut(bytes, 3))).toEqual(expected);
		expect(text(await cut(new Blob([bytes]), 3))).toEqual(expected);
		expect(text(await cut(new Blob([bytes]).stream(), 3))).toEqual(expected);
		expect(text(await cut([bytes.subarray(0, 1), bytes.subarray(1)], 3))).toEqual(expected);
	});

	it("gives one empty part of an empty source, so that the service can say what is wrong with it", async () => {
		expect(text(await cut(new Blob([]), 3))).toEqual([""]);
		expect(text(await cut([], 3))).toEqual([""]);
	});

	it("keeps parts apart from the memory of its chunks", async () => {
		const chunk = new TextEncoder().encode("abc");
		const [part] = await cut([chunk], 3);
		chunk.fill(0);
		expect(text([part!])).toEqual(["abc"]);
	});

	it("takes the memory that is given back before new memory", async () => {
		const spares: Uint8Array<ArrayBuffer>[] = [];
		const memory = new Set<ArrayBuffer>();
		let seen = "";
		const chunks = Array.from("abcdefghijklmnop", (letter) => new TextEncoder().encode(letter));
		for await (const { bytes } of cutParts(chunks, 3, spares)) {
			seen += text([{ bytes }]);
			memory.add(bytes.buffer);
			if (bytes.byteLength === 3) spares.push(bytes);
		}
		expect(seen).toBe("abcdefghijklmnop");
		// One, and the shorter last part's own.
		expect(memory.size).toBe(2);
	});

	it("refuses a source of strings by name", async () => {
		await expect(cut(["text"] as never, 3)).rejects.toThrow("gave string where bytes");
	});
});
