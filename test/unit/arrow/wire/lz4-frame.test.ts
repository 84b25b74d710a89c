import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { decodeLz4Frames } from "../../../../src/arrow/wire/lz4-frame.ts";
import { xxHash32 } from "../../../../src/arrow/wire/xxhash32.ts";
import { type FrameOptions, lz4Frame } from "../support/lz4-compress.ts";
import { concat } from "../support/write-ipc.ts";

const allocate = (size: number) => new Uint8Array(size).fill(0xa5);
const decode = (source: Uint8Array, size: number) => decodeLz4Frames(source, size, allocate);
const text = new TextEncoder().encode("the quick brown fox jumps over the lazy dog. ".repeat(400));
/** Runs of one byte, short periods, and stretches without any match. */
const mixed = concat(
	new Uint8Array(5000).fill(7),
	Uint8Array.from({ length: 3000 }, (_, i) => i % 3),
	Uint8Array.from({ length: 3000 }, (_, i) => (i * i * 31) >> 3),
	text,
);

describe("unpacking LZ4 frames", () => {
	const variants: FrameOptions[] = [
		{},
		{ linked: true, blockBytes: 1000 },
		{ blockBytes: 777 },
		{ stored: true },
		{ contentSize: true, contentChecksum: true, blockChecksums: true },
	];
	test.each(variants)("%j gives the bytes back", (options) => {
		for (const bytes of [
			mixed,
			text,
			new Uint8Array(0),
			text.subarray(0, 13),
			text.subarray(0, 70),
		]) {
			const unpacked = decode(lz4Frame(bytes, options), bytes.byteLength);
			expect(Buffer.compare(unpacked, bytes)).toBe(0);
		}
	});

	test("any bytes come back", () => {
		const repetitive = fc
			.array(
				fc.tuple(fc.uint8Array({ minLength: 1, maxLength: 20 }), fc.integer({ min: 1, max: 30 })),
				{ maxLength: 20 },
			)
			.map((runs) => concat(...runs.flatMap(([run, times]) => Array<Uint8Array>(times).fill(run))));
		fc.assert(
			fc.property(repetitive, fc.boolean(), (bytes, linked) => {
				const frame = lz4Frame(bytes, { linked, blockBytes: 300 });
				expect(Buffer.compare(decode(frame, bytes.byteLength), bytes)).toBe(0);
			}),
			{ numRuns: 300 },
		);
	});

	test("several frames follow each other, frames to be skipped between them", () => {
		const skippable = Uint8Array.of(0x53, 0x2a, 0x4d, 0x18, 3, 0, 0, 0, 1, 2, 3);
		const source = concat(lz4Frame(text), skippable, lz4Frame(mixed));
		expect(
			Buffer.compare(decode(source, text.byteLength + mixed.byteLength), concat(text, mixed)),
		).toBe(0);
	});

	test("more or fewer bytes than declared throw", () => {
		for (const size of [0, 1, text.byteLength - 1, text.byteLength + 1]) {
			expect(() => decode(lz4Frame(text), size)).toThrow();
			expect(() => decode(lz4Frame(text, { stored: true }), size)).toThrow();
		}
	});

	test("every cut throws", () => {
		const source = lz4Frame(mixed.subarray(0, 8000), { contentChecksum: true });
		for (let cut = 0; cut < source.byteLength; cut++) {
			expect(() => decode(source.subarray(0, cut), 8000)).toThrow();
		}
		expect(() => decode(concat(source, Uint8Array.of(0)), 8000)).toThrow();
	});

	test("a damaged byte throws, or is one that means nothing, and never writes outside", () => {
		const source = lz4Frame(text, { contentChecksum: true });
		let thrown = 0;
		for (let at = 0; at < source.byteLength; at++) {
			for (const flip of [1, 0x80, 0xff]) {
				const damaged = source.slice();
				damaged[at]! ^= flip;
				const guarded = new Uint8Array(text.byteLength + 64).fill(0xee);
				const into = guarded.subarray(32, 32 + text.byteLength);
				let unpacked: Uint8Array = text;
				try {
					unpacked = decodeLz4Frames(damaged, text.byteLength, () => into);
				} catch {
					thrown++;
				}
				expect(Buffer.compare(unpacked, text)).toBe(0);
				expect(guarded.subarray(0, 32).every((byte) => byte === 0xee)).toBe(true);
				expect(guarded.subarray(-32).every((byte) => byte === 0xee)).toBe(true);
			}
		}
		// The match length in a block's last token means nothing.
		expect(thrown).toBeGreaterThanOrEqual(source.byteLength * 3 - 3);
	});

	test("matches before the frame's first byte, or before an independent block, throw", () => {
		const match = Uint8Array.of(0x10, 65, 2, 0, 0x50, 1, 2, 3, 4, 5);
		const header = lz4Frame(new Uint8Array(0)).subarray(0, 7);
		const frame = concat(
			header,
			Uint8Array.of(match.byteLength, 0, 0, 0),
			match,
			new Uint8Array(4),
		);
		expect(() => decode(frame, 10)).toThrow("a match reaches back 2 bytes");
	});

	test("xxh32 has the specification's values", () => {
		expect(xxHash32(new Uint8Array(0))).toBe(0x02cc5d05);
		expect(xxHash32(new TextEncoder().encode("a"))).toBe(0x550d7456);
		expect(xxHash32(new TextEncoder().encode("abc"))).toBe(0x32d153ff);
		expect(xxHash32(new TextEncoder().encode("Nobody inspects the spammish repetition"))).toBe(
			0xe2293b2f,
		);
	});
});
