import { zstdCompressSync } from "node:zlib";
import { describe, expect, test } from "vitest";
import { openArrow } from "../../../src/arrow/open-arrow.ts";
import { defaultLimits } from "../../../src/limits.ts";
import { nodeCodecs } from "../../../src/replay/node-codecs.ts";
import { arrayOf, field, int, valuesOf } from "./support/arrays.ts";
import { lz4Frame } from "./support/lz4-compress.ts";
import { errorOf, readBack, sourceOf } from "./support/read-ipc.ts";
import { concat, int64, type WriteOptions, writeStream } from "./support/write-ipc.ts";

const fields = [field("n", int(64)), field("s", { kind: "utf8_view" })];
const values: [bigint | null, string | null][] = [
	[1n, "short"],
	[null, null],
	...Array.from({ length: 500 }, (_, i): [bigint, string] => [
		BigInt(i),
		`a text that repeats ${i % 7}`,
	]),
];
const columns = [
	arrayOf(
		fields[0]!,
		values.map(([n]) => n),
	),
	arrayOf(
		fields[1]!,
		values.map(([, s]) => s),
	),
];
const zstd = (bytes: Uint8Array) => new Uint8Array(zstdCompressSync(bytes));
const codecs: Record<string, WriteOptions["compression"]> = {
	lz4: { codec: 0, compress: (bytes) => lz4Frame(bytes) },
	zstd: { codec: 1, compress: zstd },
	"lz4 of which some buffers are not compressed": {
		codec: 0,
		compress: (bytes) => (bytes.byteLength > 100 ? lz4Frame(bytes) : null),
	},
	"zstd of which none is": { codec: 1, compress: () => null },
};

describe("compressed bodies", () => {
	test.each(Object.entries(codecs))("%s gives the rows", async (_, compression) => {
		const stream = writeStream(fields, [columns, columns.map((c) => c)], { compression });
		expect((await readBack(stream)).rows).toEqual([...values, ...values]);
	});

	test("goes back once it is unpacked, and what was unpacked with its batch", async () => {
		const plain = [field("n", int(64)), field("s", { kind: "utf8" })];
		const texts = arrayOf(
			plain[1]!,
			values.map(([, s]) => s),
		);
		const reclaimedOf = async (compression: WriteOptions["compression"]) => {
			const stream = writeStream(plain, [[columns[0]!, texts]], { compression });
			let reclaimed = 0;
			const pool = { fromBytes: 1, reclaimed: () => void reclaimed++ };
			const { signal } = new AbortController();
			const reader = await openArrow([sourceOf(stream)], {
				codecs: { ...nodeCodecs, pool },
				limits: defaultLimits,
				requireEos: false,
				signal,
			});
			const counts: number[] = [];
			for await (const batch of reader.batches(signal)) {
				counts.push(reclaimed);
				expect(valuesOf(plain[1]!, batch.columns[1]!)).toEqual(values.map(([, s]) => s));
				batch.memory!.release();
			}
			return [...counts, reclaimed];
		};
		expect(await reclaimedOf(codecs.lz4)).toEqual([1, 2]);
		// Shown where it lies, as far as it isn't compressed: it goes back with the rest.
		const some = codecs["lz4 of which some buffers are not compressed"];
		expect(await reclaimedOf(some)).toEqual([0, 2]);
		expect(await reclaimedOf(codecs.zstd)).toEqual([0, 1]);
	});

	test("a batch of no rows, whose buffers are empty, is read", async () => {
		const none = [arrayOf(fields[0]!, []), arrayOf(fields[1]!, [])];
		const stream = writeStream(fields, [none], { compression: codecs.zstd });
		expect((await readBack(stream)).batches[0]!.length).toBe(0);
	});

	test("Arrow 0.17's compression, which only the message's metadata names, is read", async () => {
		for (const name of ["ZSTD", "zstd"]) {
			const stream = writeStream(fields, [columns], {
				version: 3,
				compression: { codec: -1, compress: zstd },
				metadata: { "ARROW:experimental_compression": name },
			});
			expect((await readBack(stream)).rows).toEqual(values);
		}
		const brotli = writeStream(fields, [columns], {
			metadata: { "ARROW:experimental_compression": "BROTLI" },
		});
		expect((await errorOf(readBack(brotli))).code).toBe("unsupported_codec");
	});

	test("a codec that is not known is unsupported_codec", async () => {
		const stream = writeStream(fields, [columns], { compression: { codec: 9, compress: zstd } });
		expect((await errorOf(readBack(stream))).code).toBe("unsupported_codec");
	});

	test("a bomb is too_large before anything is unpacked, one buffer or many", async () => {
		let unpacked = 0;
		const counting = {
			...nodeCodecs,
			zstd(source: Uint8Array, size: number) {
				unpacked++;
				return nodeCodecs.zstd(source, size);
			},
		};
		const blob = field("b", { kind: "fixed_size_binary", byteWidth: 1_000_000 });
		const zeros = {
			length: 1,
			nullCount: 0,
			buffers: [null, new Uint8Array(1_000_000)],
			children: [],
			dictionary: null,
		};
		const many = Array.from({ length: 30 }, (_, i) => ({ ...blob, name: `b${i}` }));
		const stream = writeStream(many, [many.map(() => zeros)], { compression: codecs.zstd });
		expect(stream.byteLength).toBeLessThan(20_000);
		const error = await errorOf(
			readBack(stream, { codecs: counting, limits: { maxBatchBytes: 20_000_000 } }),
		);
		expect(error.code).toBe("too_large");
		expect(error.extra).toMatchObject({ limit: 20_000_000 });
		expect(unpacked).toBe(0);
	});

	test.each(["lz4", "zstd"])(
		"%s that does not unpack to its declared size is invalid_arrow",
		async (name) => {
			const { codec, compress } = codecs[name]!;
			const wrong = [
				(bytes: Uint8Array) => compress(bytes.subarray(1))!,
				(bytes: Uint8Array) => compress(concat(bytes, Uint8Array.of(1)))!,
				(bytes: Uint8Array) => compress(bytes)!.slice(0, -3),
				() => new Uint8Array(0),
				(bytes: Uint8Array) => concat(compress(bytes)!, Uint8Array.of(1, 2, 3)),
				() => new TextEncoder().encode("not compressed at all"),
			];
			for (const damage of wrong) {
				const stream = writeStream(fields, [columns], { compression: { codec, compress: damage } });
				const error = await errorOf(readBack(stream));
				expect(error.code).toBe("invalid_arrow");
				expect(error.place.column).toBe("n");
			}
		},
	);

	test("a length before the buffer that is negative, absurd or missing is refused", async () => {
		const lengths: [bigint, string][] = [
			[-2n, "invalid_arrow"],
			[-(1n << 63n), "invalid_arrow"],
			[1n << 60n, "invalid_arrow"],
			[1n << 50n, "too_large"],
		];
		for (const [length, code] of lengths) {
			const body = concat(int64(length), new Uint8Array(8));
			const blob = field("b", { kind: "fixed_size_binary", byteWidth: 1 });
			const array = {
				length: 16,
				nullCount: 0,
				buffers: [null, body],
				children: [],
				dictionary: null,
			};
			// Written as it stands, under a header that says it is compressed.
			const stream = writeStream([blob], [[array]], {
				version: 3,
				metadata: { "ARROW:experimental_compression": "lz4" },
			});
			expect([length, (await errorOf(readBack(stream))).code]).toEqual([length, code]);
		}
		const short = {
			length: 3,
			nullCount: 0,
			buffers: [null, new Uint8Array(3)],
			children: [],
			dictionary: null,
		};
		const stream = writeStream([field("b", int(8))], [[short]], {
			metadata: { "ARROW:experimental_compression": "zstd" },
		});
		expect((await errorOf(readBack(stream))).code).toBe("invalid_arrow");
	});
});
