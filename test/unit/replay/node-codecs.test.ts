import { createHash } from "node:crypto";
import { zstdCompressSync } from "node:zlib";
import { describe, expect, test } from "vitest";
import { nodeCodecs } from "../../../src/replay/node-codecs.ts";

const data = Uint8Array.from({ length: 100_000 }, (_, i) => (i * 31) >> 4);
const packed = Uint8Array.from(zstdCompressSync(data));

describe("ZSTD", () => {
	test.each([0, 1, 63, 64, 100_000])("%i bytes come back", (size) => {
		const bytes = data.subarray(0, size);
		const unpacked = nodeCodecs.zstd(Uint8Array.from(zstdCompressSync(bytes)), size);
		expect(Buffer.compare(unpacked, bytes)).toBe(0);
	});

	test("more or fewer bytes than declared, cut or followed by others, throw", () => {
		for (const size of [0, 1, data.length - 1, data.length + 1]) {
			expect(() => nodeCodecs.zstd(packed, size)).toThrow();
		}
		for (const cut of [0, 3, 10, packed.length - 1]) {
			expect(() => nodeCodecs.zstd(packed.subarray(0, cut), data.length)).toThrow();
		}
		const followed = Uint8Array.from([...packed, 1, 2, 3]);
		expect(() => nodeCodecs.zstd(followed, data.length)).toThrow();
	});
});

test("memory is aligned and in an ArrayBuffer of its own", () => {
	for (const size of [0, 1, 100, 5000, 1 << 20]) {
		const bytes = nodeCodecs.allocate(size);
		expect(bytes.byteLength).toBe(size);
		expect(bytes.byteOffset % 8).toBe(0);
		expect(bytes.buffer.byteLength).toBe(size);
		expect(bytes.constructor).toBe(Uint8Array);
	}
});

test("SHA-256 is taken piece by piece", () => {
	const hash = nodeCodecs.createSha256();
	hash.update(data.subarray(0, 7));
	hash.update(data.subarray(7));
	expect(hash.digestHex()).toBe(createHash("sha256").update(data).digest("hex"));
});
