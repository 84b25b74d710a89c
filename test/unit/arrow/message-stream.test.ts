import { Builder } from "flatbuffers";
import { describe, expect, test } from "vitest";
import { readSource } from "../../../src/arrow/read-source.ts";
import { defaultLimits } from "../../../src/limits.ts";
import { nodeCodecs } from "../../../src/replay/node-codecs.ts";
import { arrayOf, field, int } from "./support/arrays.ts";
import { errorOf, readBack, sourceOf } from "./support/read-ipc.ts";
import {
	concat,
	endOfStream,
	frame,
	frameMetadata,
	writeBatch,
	writeSchema,
	writeStream,
} from "./support/write-ipc.ts";

const fields = [field("n", int(32)), field("s", { kind: "utf8" })];
const columns = (...values: [number | null, string | null][]) => [
	arrayOf(
		fields[0]!,
		values.map(([n]) => n),
	),
	arrayOf(
		fields[1]!,
		values.map(([, s]) => s),
	),
];
const batches = [
	columns([1, "a"], [2, null]),
	columns(),
	columns([null, "a longer text"], [4, ""], [5, "x"]),
];
const rows = [
	[1, "a"],
	[2, null],
	[null, "a longer text"],
	[4, ""],
	[5, "x"],
];
const stream = writeStream(fields, batches);

describe("framing", () => {
	test.each([1, 2, 3, 7, 8, 64, 1000, 1_000_000])(
		"chunks of %i bytes give the same rows",
		async (chunkBytes) => {
			const back = await readBack(sourceOf(stream, { chunkBytes }));
			expect(back.rows).toEqual(rows);
			expect(back.batches.map(({ length }) => length)).toEqual([2, 0, 3]);
			expect(back.bytes).toBe(stream.byteLength);
			expect(back.warnings).toEqual([]);
		},
	);

	test("one-byte chunks cost linear time: ten times the bytes take less than forty times as long", async () => {
		const timeOf = async (count: number) => {
			const values = Array.from({ length: count }, (_, i): [number, string] => [i, "text"]);
			const bytes = writeStream(fields, [columns(...values)]);
			// Processor time: the machine may be busy with others.
			const start = process.cpuUsage();
			await readBack(sourceOf(bytes, { chunkBytes: 1 }), { values: false });
			return process.cpuUsage(start).user / 1000;
		};
		await timeOf(1000);
		expect(await timeOf(20_000)).toBeLessThan(40 * Math.max(5, await timeOf(2000)));
	});

	test("every cut is a prefix of the rows with a warning at a message border, and truncated_stream inside a message", async () => {
		const borders = new Set<number>();
		let at = 0;
		for (const message of [
			writeSchema(fields),
			...batches.map((batch) => writeBatch(fields, batch)),
		]) {
			at += message.byteLength;
			borders.add(at);
		}
		for (let cut = 1; cut < stream.byteLength; cut++) {
			const source = sourceOf(stream.slice(0, cut), { chunkBytes: 50 });
			if (borders.has(cut)) {
				const back = await readBack(source);
				expect(back.rows).toEqual(rows.slice(0, back.rows.length));
				expect(back.warnings.map(({ code }) => code)).toEqual(["no_end_of_stream"]);
				const strict = await errorOf(readBack(source, { requireEos: true }));
				expect(strict.code).toBe("truncated_stream");
			} else {
				const error = await errorOf(readBack(source));
				expect([cut, error.code]).toEqual([cut, "truncated_stream"]);
			}
		}
	});

	test("an empty batch between others does not end the stream, and a schema alone is a stream of no rows", async () => {
		expect((await readBack(writeStream(fields, []))).schemas).toHaveLength(1);
		expect((await readBack(writeStream(fields, [columns(), columns([3, "c"])]))).rows).toEqual([
			[3, "c"],
		]);
	});

	test("framing from before Arrow 0.15 is read, also padded to 8 bytes at its end", async () => {
		const legacy = writeStream(fields, batches, { legacy: true, version: 3 });
		for (const bytes of [legacy, concat(legacy, new Uint8Array(4)), legacy.slice(0, -4)]) {
			expect((await readBack(sourceOf(bytes, { chunkBytes: 5 }))).rows).toEqual(rows);
		}
		expect((await readBack(concat(legacy, new Uint8Array(4)))).warnings).toEqual([]);
	});
});

describe("several streams in one source", () => {
	const other = writeStream(fields, [columns([9, "z"])]);

	test("follow each other, with or without an end between them", async () => {
		const back = await readBack(concat(stream, other, stream));
		expect(back.rows).toEqual([...rows, [9, "z"], ...rows]);
		expect(back.batches.map((batch) => batch.stream)).toEqual([0, 0, 0, 1, 2, 2, 2]);
		const open = await readBack(concat(other.slice(0, -8), stream));
		expect(open.rows).toEqual([[9, "z"], ...rows]);
		expect(open.warnings.map(({ code }) => code)).toEqual(["no_end_of_stream"]);
	});

	test("a second stream that is cut is truncated_stream", async () => {
		for (const cut of [1, 3, 4, 20, 100]) {
			const error = await errorOf(readBack(concat(stream, other.slice(0, cut))));
			expect([cut, error.code]).toEqual([cut, "truncated_stream"]);
		}
	});
});

describe("bytes after the end", () => {
	test.each([
		["zeros up to a block", new Uint8Array(500)],
		["a newline", new TextEncoder().encode("\n")],
		["text", new TextEncoder().encode("garbage at the end")],
		["a second end of stream", endOfStream],
	])("%s are ignored with a warning", async (_, tail) => {
		for (const chunkBytes of [1, 1000]) {
			const back = await readBack(sourceOf(concat(stream, tail), { chunkBytes }));
			expect(back.rows).toEqual(rows);
			expect(back.bytes).toBe(stream.byteLength + tail.byteLength);
			expect(back.warnings).toMatchObject([
				{
					code: "trailing_bytes_ignored",
					detail: expect.stringContaining(`${tail.byteLength} bytes`),
				},
			]);
		}
	});

	test.each([
		["another format", Uint8Array.of(0x1f, 0x8b, 8, 0, 0)],
		["a message behind garbage", concat(Uint8Array.of(99, 98, 97), stream)],
		["a message that is damaged", concat(stream.slice(0, 8), new Uint8Array(200).fill(7))],
	])("%s may be rows that are missing, so it is refused", async (_, tail) => {
		const error = await errorOf(readBack(concat(stream, tail)));
		expect(error.code).toMatch(/invalid_arrow|truncated_stream/);
	});
});

describe("what is no stream", () => {
	test("a record batch before any schema is invalid_arrow", async () => {
		const error = await errorOf(readBack(concat(writeBatch(fields, batches[0]!), endOfStream)));
		expect(error.code).toBe("invalid_arrow");
		expect(error.message).toContain("before any schema");
	});

	test("an end before a schema is invalid_arrow", async () => {
		expect((await errorOf(readBack(endOfStream))).code).toBe("invalid_arrow");
	});

	test("a tensor is unsupported_type, a message of unknown kind invalid_arrow", async () => {
		const tensor = frame(new Builder(), 4, 0, new Uint8Array(0));
		const unknown = frame(new Builder(), 77, 0, new Uint8Array(0));
		const behindSchema = (message: Uint8Array) =>
			errorOf(readBack(concat(writeSchema(fields), message)));
		expect((await behindSchema(tensor)).code).toBe("unsupported_type");
		expect((await errorOf(readBack(tensor))).code).toBe("unsupported_type");
		expect((await behindSchema(unknown)).code).toBe("invalid_arrow");
	});

	test.each([0, 1, 2, 5, 100])("metadata version %i of a schema is refused", async (version) => {
		const error = await errorOf(readBack(writeStream(fields, batches, { version })));
		expect(error.code).toBe("invalid_arrow");
		expect(error.message).toContain("V4 and V5");
	});
});

describe("declared sizes", () => {
	const limits = { maxBatchBytes: 1000, maxMetadataBytes: 500 };

	test("a body over the limit is too_large before its bytes are read", async () => {
		const giant = writeBatch(fields, batches[0]!, { bodyLength: 1n << 40n });
		let asked = 0;
		const codecs = {
			...nodeCodecs,
			allocate(size: number) {
				asked += size;
				return new Uint8Array(size);
			},
		};
		const error = await errorOf(readBack(concat(writeSchema(fields), giant), { codecs }));
		expect(error.code).toBe("too_large");
		expect(error.extra).toMatchObject({ limit: defaultLimits.maxBatchBytes });
		expect(asked).toBe(0);
	});

	test("a body that is declared and does not come takes no memory for it", async () => {
		const lie = writeBatch(fields, batches[0]!, { bodyLength: 2_000_000_000n });
		const bytes = concat(writeSchema(fields), lie);
		let asked = 0;
		const codecs = {
			...nodeCodecs,
			allocate(size: number) {
				asked += size;
				return nodeCodecs.allocate(size);
			},
		};
		for (const atRest of [true, false]) {
			const error = await errorOf(readBack(sourceOf(bytes, { atRest }), { codecs }));
			expect(error.code).toBe("truncated_stream");
		}
		expect(asked).toBeLessThanOrEqual(64 * 1024 * 1024);
	});

	test("a body larger than what is allocated at once grows to its exact size", async () => {
		const big = field("b", { kind: "fixed_size_binary", byteWidth: 1 << 20 });
		const data = new Uint8Array(150 << 20);
		for (let i = 0; i < data.length; i += 4099) data[i] = i;
		const array = {
			length: 150,
			nullCount: 0,
			buffers: [null, data],
			children: [],
			dictionary: null,
		};
		let body: Uint8Array | null = null;
		const events = readSource(sourceOf(writeStream([big], [[array]]), { chunkBytes: 1 << 20 }), {
			limits: defaultLimits,
			codecs: nodeCodecs,
			requireEos: true,
			signal: new AbortController().signal,
			onChunk: () => {},
			warn: () => {},
		});
		for await (const event of events) {
			if (event.kind === "batch") body = event.batch.columns[0]!.buffers[1]!;
		}
		expect(body!.buffer.byteLength).toBe(150 << 20);
		expect(Buffer.compare(body!, data)).toBe(0);
	});

	test("negative and impossible sizes are invalid_arrow, metadata over the limit too_large", async () => {
		for (const bodyLength of [-1n, 1n << 62n, -(1n << 63n)]) {
			const bytes = concat(writeSchema(fields), writeBatch(fields, batches[0]!, { bodyLength }));
			expect((await errorOf(readBack(bytes))).code).toBe("invalid_arrow");
		}
		const negative = concat(writeSchema(fields), Uint8Array.of(255, 255, 255, 255, 0, 0, 0, 128));
		expect((await errorOf(readBack(negative))).code).toBe("invalid_arrow");
		const long = concat(writeSchema(fields), frameMetadata(new Uint8Array(10_000)));
		expect((await errorOf(readBack(long, { limits }))).code).toBe("too_large");
		expect((await errorOf(readBack(stream, { limits: { maxBatchBytes: 20 } }))).code).toBe(
			"too_large",
		);
	});
});
