import { gzipSync, zstdCompressSync } from "node:zlib";
import { describe, expect, test } from "vitest";
import { IngestError } from "../../../src/errors.ts";
import { type ContentCoding, decodeContent } from "../../../src/replay/content-coding.ts";

const never = new AbortController().signal;
const data = Uint8Array.from({ length: 700_000 }, (_, i) => (i * 7919) >> 5);
const compress = {
	gzip: (bytes: Uint8Array) => gzipSync(bytes),
	zstd: (bytes: Uint8Array) => zstdCompressSync(bytes),
};
const cat = (...parts: Uint8Array[]) => Uint8Array.from(Buffer.concat(parts));

async function* chunksOf(bytes: Uint8Array, size: number) {
	for (let at = 0; at < bytes.byteLength; at += size) yield bytes.subarray(at, at + size);
}

async function decode(
	coding: ContentCoding,
	bytes: Uint8Array,
	{ chunkBytes = 10_000, maxBytes = 1e9, signal = never } = {},
) {
	const parts: Uint8Array[] = [];
	for await (const part of decodeContent(coding, chunksOf(bytes, chunkBytes), { maxBytes, signal }))
		parts.push(part);
	return Buffer.concat(parts);
}

async function refusal(coding: ContentCoding, bytes: Uint8Array, options = {}) {
	const error = await decode(coding, bytes, options).catch((caught) => caught);
	expect(error).toBeInstanceOf(IngestError);
	return (error as IngestError).code;
}

describe.each(["gzip", "zstd"] as const)("%s content", (coding) => {
	const coded = compress[coding](data);

	test.each([1, 1000, 10_000_000])("in chunks of %i bytes is undone", async (chunkBytes) => {
		const some = chunkBytes === 1 ? data.subarray(0, 5000) : data;
		expect(Buffer.compare(await decode(coding, compress[coding](some), { chunkBytes }), some)).toBe(
			0,
		);
	});

	test("may be several members, one after the other, cut anywhere", async () => {
		const part = compress[coding](data.subarray(0, 3000));
		for (const chunkBytes of [1, 7, part.byteLength, part.byteLength + 1, 100_000]) {
			const back = await decode(coding, cat(part, part, part), { chunkBytes });
			expect(back.byteLength).toBe(9000);
		}
	});

	test("that ends too early is truncated_stream", async () => {
		for (const cut of [0, 1, 5, 100, coded.byteLength - 1]) {
			expect([cut, await refusal(coding, coded.subarray(0, cut))]).toEqual([
				cut,
				"truncated_stream",
			]);
		}
	});

	test("that is something else, or has something behind it, is bad_request", async () => {
		expect(await refusal(coding, data)).toBe("bad_request");
		expect(await refusal(coding, cat(coded, data.subarray(0, 1000)))).toBe("bad_request");
		expect(await refusal(coding, cat(coded, new Uint8Array(1000)))).toBe("bad_request");
	});

	test("over the limit when unpacked is too_large after a few chunks, not after all", async () => {
		const bomb = compress[coding](new Uint8Array(64 << 20));
		expect(bomb.byteLength).toBeLessThan(1 << 17);
		let out = 0;
		const reading = (async () => {
			for await (const chunk of decodeContent(coding, chunksOf(bomb, 1 << 20), {
				maxBytes: 1 << 20,
				signal: never,
			}))
				out += chunk.byteLength;
		})();
		await expect(reading).rejects.toMatchObject({ code: "too_large" });
		expect(out).toBeLessThanOrEqual(1 << 20);
	});

	test("whose source fails ends with the source's error, and closes it when nobody reads on", async () => {
		let closed = 0;
		const failing = async function* () {
			try {
				yield coded.subarray(0, 100);
				throw new IngestError("store_unavailable", "gone");
			} finally {
				closed++;
			}
		};
		const reading = (async () => {
			for await (const _ of decodeContent(coding, failing(), { maxBytes: 1e9, signal: never }));
		})();
		await expect(reading).rejects.toMatchObject({ code: "store_unavailable" });
		const endless = async function* () {
			try {
				for (;;) yield coded;
			} finally {
				closed++;
			}
		};
		for await (const _ of decodeContent(coding, endless(), { maxBytes: 1e9, signal: never })) break;
		expect(closed).toBe(2);
	});

	test("ends with the signal's reason", async () => {
		const controller = new AbortController();
		controller.abort(new Error("enough"));
		await expect(decode(coding, coded, { signal: controller.signal })).rejects.toThrow("enough");
	});
});

test("identity passes chunks as they are", async () => {
	expect(Buffer.compare(await decode("identity", data), data)).toBe(0);
});
