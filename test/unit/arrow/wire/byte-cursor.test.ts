import fc from "fast-check";
import { expect, test } from "vitest";
import { ByteCursor } from "../../../../src/arrow/wire/byte-cursor.ts";

async function* stream(chunks: readonly Uint8Array[]) {
	yield* chunks;
}

test("whatever is asked in whatever order, the bytes come once and in order", async () => {
	const step = fc.record({
		kind: fc.constantFrom("take", "read", "fill", "peek", "skip", "takeChunk"),
		length: fc.nat(12),
	});
	await fc.assert(
		fc.asyncProperty(
			fc.array(fc.uint8Array({ maxLength: 7 }), { maxLength: 12 }),
			fc.array(step, { maxLength: 20 }),
			async (chunks, steps) => {
				const all = Buffer.concat(chunks);
				const seen: number[] = [];
				const cursor = new ByteCursor(stream(chunks), (chunk) => seen.push(...chunk));
				let at = 0;
				const expectNext = (bytes: Uint8Array, length: number) => {
					expect([...bytes]).toEqual([...all.subarray(at, at + length)]);
				};
				for (const { kind, length } of steps) {
					if (kind === "take") {
						const bytes = cursor.take(length);
						if (bytes === null) continue;
						expectNext(bytes, length);
						at += length;
					} else if (kind === "read") {
						expectNext(await cursor.read(length), length);
						at = Math.min(all.length, at + length);
					} else if (kind === "fill") {
						const target = new Uint8Array(length + 2);
						const end = await cursor.fill(target, 2);
						expectNext(target.subarray(2, end), length);
						at += end - 2;
					} else if (kind === "peek") expectNext(await cursor.peek(length), length);
					else if (kind === "skip") {
						const skipped = await cursor.skip(length);
						expect(skipped).toBe(Math.min(length, all.length - at));
						at += skipped;
					} else {
						const chunk = await cursor.takeChunk();
						if (chunk === null) expect(at).toBe(all.length);
						else {
							expect(chunk.length).toBeGreaterThan(0);
							expectNext(chunk, chunk.length);
							at += chunk.length;
						}
					}
					expect(cursor.offset).toBe(at);
				}
				while ((await cursor.takeChunk()) !== null);
				expect(await cursor.atEnd()).toBe(true);
				expect(seen).toEqual([...all]);
			},
		),
		{ numRuns: 500 },
	);
});

test("closing ends the source", async () => {
	let closed = false;
	const source = (async function* () {
		try {
			for (;;) yield Uint8Array.of(1);
		} finally {
			closed = true;
		}
	})();
	const cursor = new ByteCursor(source);
	await cursor.read(3);
	await cursor.close();
	expect(closed).toBe(true);
});
