import { createHash } from "node:crypto";
import { tableFromArrays, tableToIPC } from "apache-arrow";
import { describe, expect, test } from "vitest";
import type { ByteSource } from "../../../src/arrow/byte-source.ts";
import { type OpenOptions, openArrow } from "../../../src/arrow/open-arrow.ts";
import type { ArrayData, Field } from "../../../src/arrow/types.ts";
import { defaultLimits, type Limits, rowGroupRows } from "../../../src/limits.ts";
import { nodeCodecs } from "../../../src/replay/node-codecs.ts";
import { arrayOf, field, int, valuesOf } from "./support/arrays.ts";
import { errorOf, sourceOf } from "./support/read-ipc.ts";
import {
	concat,
	endOfStream,
	writeBatch,
	writeDictionary,
	writeFile,
	writeSchema,
	writeStream,
} from "./support/write-ipc.ts";

const never = new AbortController().signal;

async function load(
	sources: (Uint8Array | ByteSource)[],
	options: Partial<Omit<OpenOptions, "limits">> & { limits?: Partial<Limits> } = {},
) {
	const reader = await openArrow(
		sources.map((source, i) =>
			source instanceof Uint8Array ? sourceOf(source, { name: `file ${i + 1}` }) : source,
		),
		{
			codecs: nodeCodecs,
			requireEos: false,
			signal: never,
			...options,
			limits: { ...defaultLimits, ...options.limits },
		},
	);
	const rows: unknown[][] = [];
	const lengths: number[] = [];
	for await (const batch of reader.batches(never)) {
		lengths.push(batch.length);
		const columns = batch.columns.map((column, i) => valuesOf(reader.engineFields[i]!, column));
		for (let row = 0; row < batch.length; row++) rows.push(columns.map((column) => column[row]));
	}
	return { reader, rows, lengths, counts: reader.counts(), warnings: reader.warnings() };
}

const n = field("n", int(32));
const s = field("s", { kind: "utf8" });
const fields = [n, s];
const columns = (
	numbers: (number | null)[],
	texts: (string | null)[],
	of: Field[] = fields,
): ArrayData[] => of.map((one) => arrayOf(one, one.name === "n" ? numbers : texts));
const stream = writeStream(fields, [
	columns([1, 2], ["a", null]),
	columns([], []),
	columns([3], ["c"]),
]);

describe("opening a load", () => {
	test("tells the columns before any batch is read, then the rows, and then what was counted", async () => {
		const reader = await openArrow([sourceOf(stream)], {
			codecs: nodeCodecs,
			limits: defaultLimits,
			requireEos: true,
			signal: never,
		});
		expect(reader.sentFields.map(({ name }) => name)).toEqual(["n", "s"]);
		const { rows, counts, warnings, lengths } = await load([stream]);
		expect(rows).toEqual([
			[1, "a"],
			[2, null],
			[3, "c"],
		]);
		expect(lengths).toEqual([3]);
		expect(warnings).toEqual([]);
		const digest = createHash("sha256").update(stream).digest("base64");
		expect(counts).toEqual({
			rows_streamed: 3,
			batches: 3,
			bytes: stream.byteLength,
			repr_digest: `sha-256=:${digest}:`,
		});
	});

	test("reads what apache-arrow writes, dictionaries too", async () => {
		const table = tableFromArrays({ id: Int32Array.of(1, 2, 3), name: ["x", "y", "x"] });
		for (const format of ["stream", "file"] as const) {
			expect((await load([tableToIPC(table, format)])).rows).toEqual([
				[1, "x"],
				[2, "y"],
				[3, "x"],
			]);
		}
	});

	test("of no bytes is not_arrow, with or without a source", async () => {
		expect((await errorOf(load([]))).code).toBe("not_arrow");
		expect((await errorOf(load([new Uint8Array(0)]))).code).toBe("not_arrow");
		const second = await errorOf(load([stream, new Uint8Array(0)]));
		expect(second.message).toContain("file 2");
	});

	test("a stream of no rows has its columns", async () => {
		const { reader, rows, counts } = await load([writeStream(fields, [])]);
		expect(rows).toEqual([]);
		expect(reader.engineFields).toHaveLength(2);
		expect(counts).toMatchObject({ rows_streamed: 0, batches: 0 });
	});

	test("counts batches as sent, whatever the engine gets", async () => {
		const many = Array.from({ length: 300 }, (_, i) => columns([i], [`t${i}`]));
		const big = Array.from({ length: rowGroupRows + 5 }, (_, i) => i);
		const one = writeStream([n], [[arrayOf(n, big)]]);
		const small = await load([writeStream(fields, many)]);
		expect(small.lengths).toEqual([300]);
		expect(small.counts.batches).toBe(300);
		const large = await load([one]);
		expect(large.lengths.length).toBeGreaterThan(1);
		expect(large.counts.batches).toBe(1);
		expect(large.rows.map(([value]) => value)).toEqual(big);
	});

	test("warnings are each told once", async () => {
		const open = stream.slice(0, -8);
		const { warnings } = await load([concat(open, stream, new Uint8Array(10))]);
		expect(warnings.map(({ code }) => code)).toEqual([
			"no_end_of_stream",
			"trailing_bytes_ignored",
		]);
	});
});

describe("several streams and files in one load", () => {
	test("may come in one source or many, with columns in any order", async () => {
		const turned = writeStream([s, n], [columns([9], ["z"], [s, n])]);
		const file = writeFile(fields, [], [writeBatch(fields, columns([7], ["f"]))]);
		const expected = [
			[1, "a"],
			[2, null],
			[3, "c"],
			[9, "z"],
			[7, "f"],
		];
		const bytes = concat(stream, turned, file);
		for (const sources of [[bytes], [stream, turned, file], [concat(stream, turned), file]]) {
			const { rows, counts } = await load(sources);
			expect(rows).toEqual(expected);
			expect(counts).toMatchObject({ rows_streamed: 5, batches: 5, bytes: bytes.byteLength });
			expect(counts.repr_digest).toBe(
				`sha-256=:${createHash("sha256").update(bytes).digest("base64")}:`,
			);
		}
	});

	test("may write their columns' names in another case, as DuckDB takes them for the same", async () => {
		const upper = [field("S", s.type), field("N", n.type)];
		const shouted = writeStream(upper, [[arrayOf(s, ["z"]), arrayOf(n, [9])]]);
		const { reader, rows } = await load([stream, shouted]);
		expect(rows.at(-1)).toEqual([9, "z"]);
		expect(reader.sentFields.map(({ name }) => name)).toEqual(["n", "s"]);
	});

	test("may differ in metadata, nullability and the width of dictionary indices", async () => {
		const encoded = (bits: 8 | 16): Field => ({
			...s,
			dictionary: { id: BigInt(bits), indexType: int(bits), ordered: false },
		});
		const one = (bits: 8 | 16, text: string) => {
			const of = encoded(bits);
			return concat(
				writeSchema([of]),
				writeDictionary(of, arrayOf(s, [text])),
				writeBatch([of], [arrayOf(field("s", int(bits)), [0])]),
				endOfStream,
			);
		};
		expect((await load([one(8, "a"), one(16, "b")])).rows).toEqual([["a"], ["b"]]);
		const strict = { ...n, nullable: false };
		const noted = { ...n, metadata: new Map([["note", Uint8Array.of(1)]]) };
		const values = (of: Field) => writeStream([of], [[arrayOf(of, [1])]]);
		expect((await load([values(noted), values(strict), values(n)])).rows).toEqual([[1], [1], [1]]);
	});

	test.each<[string, Field[], string[]]>([
		["lacks a column", [n], ["s"]],
		["has one more", [n, s, field("x", int(8))], ["x"]],
		["has another name", [n, field("t", { kind: "utf8" })], ["s", "t"]],
		["has another width", [field("n", int(64)), s], ["n"]],
		["has another unit below a list", [n, field("s", { kind: "list" }, { children: [n] })], ["s"]],
		[
			"has an extension",
			[
				n,
				{
					...s,
					metadata: new Map([["ARROW:extension:name", new TextEncoder().encode("arrow.json")]]),
				},
			],
			["s"],
		],
	])("one that %s is schema_mismatch, naming stream and columns", async (_, other, names) => {
		const error = await errorOf(load([stream, stream, writeStream(other, [])]));
		expect(error.code).toBe("schema_mismatch");
		expect(error.message).toContain("stream 3 (file 3)");
		expect(error.place.column).toBe(names[0]);
		expect(error.extra).toMatchObject({ stream: 3, columns: names });
	});

	test("a null in a later stream whose column may have none in the first is refused with its batch and row", async () => {
		const strict = { ...n, nullable: false };
		const first = writeStream([strict], [[arrayOf(strict, [1])]]);
		expect((await load([first, writeStream([n], [[arrayOf(n, [2])]])])).rows).toEqual([[1], [2]]);
		const error = await errorOf(
			load([first, writeStream([n], [[arrayOf(n, [2])], [arrayOf(n, [3, null])]])]),
		);
		expect(error.code).toMatch(/invalid_arrow|schema_mismatch/);
		expect(error.place).toMatchObject({ column: "n", batch: 2, row: 1 });
	});
});

test("two thousand small streams are one load, merged, and their warnings are counted, not listed", async () => {
	const one = writeStream(fields, [columns([1, 2], ["a", "b"])]).slice(0, -8);
	const other = writeStream([s, n], [columns([3], ["c"], [s, n])]).slice(0, -8);
	const bytes = concat(...Array.from({ length: 1000 }, () => concat(one, other)));
	const { lengths, counts, warnings, rows } = await load([
		sourceOf(bytes, { chunkBytes: 1 << 16 }),
	]);
	expect(lengths).toEqual([3000]);
	expect(counts.batches).toBe(2000);
	expect(rows.slice(-3)).toEqual([
		[1, "a"],
		[2, "b"],
		[3, "c"],
	]);
	expect(warnings).toHaveLength(5);
	expect(warnings[4]!.detail).toContain("and 1995 more like it");
});

describe("a load that ends early", () => {
	test("names the batch, counted over all streams, in which its bytes are wrong", async () => {
		const bad = writeStream(fields, [columns([1], ["a"])], {
			lie: ({ nodes }) => Object.assign(nodes[0]!, { length: 5n }),
		});
		const error = await errorOf(load([stream, bad]));
		expect(error.code).toBe("invalid_arrow");
		expect(error.place).toMatchObject({ column: "n", batch: 3 });
		const cut = await errorOf(load([stream.slice(0, -20)]));
		expect(cut).toMatchObject({ code: "truncated_stream", place: { batch: 2 } });
	});

	test("over the limit of bytes is too_large", async () => {
		const error = await errorOf(
			load([stream, stream], { limits: { maxUploadBytes: stream.byteLength + 10 } }),
		);
		expect(error.code).toBe("too_large");
		expect(error.extra).toMatchObject({ limit: stream.byteLength + 10 });
	});

	test("ends with the reason of either signal, and lets its source go", async () => {
		let closed = 0;
		const endless: ByteSource = {
			name: "endless",
			async *stream(signal) {
				try {
					yield writeStream(fields, []).slice(0, -8);
					const batch = writeBatch(fields, columns([1], ["a"]));
					for (;;) {
						await new Promise((resolve) => setImmediate(resolve));
						signal.throwIfAborted();
						yield batch;
					}
				} finally {
					closed++;
				}
			},
			atRest: null,
		};
		for (const which of ["open", "batches"]) {
			const controller = new AbortController();
			const reader = await openArrow([endless], {
				codecs: nodeCodecs,
				limits: defaultLimits,
				requireEos: false,
				signal: which === "open" ? controller.signal : never,
			});
			const reading = (async () => {
				for await (const _ of reader.batches(which === "batches" ? controller.signal : never));
			})();
			setTimeout(() => controller.abort(new Error("enough")), 20);
			await expect(reading).rejects.toThrow("enough");
		}
		expect(closed).toBe(2);
	});

	test("by its reader closes its source", async () => {
		let closed = 0;
		const source: ByteSource = {
			name: "x",
			async *stream() {
				try {
					yield writeStream(
						[n],
						[
							[
								arrayOf(
									n,
									Array.from({ length: 200_000 }, () => 1),
								),
							],
						],
					).slice(0, -8);
					for (;;) yield writeBatch([n], [arrayOf(n, [1])]);
				} finally {
					closed++;
				}
			},
			atRest: null,
		};
		const reader = await openArrow([source], {
			codecs: nodeCodecs,
			limits: defaultLimits,
			requireEos: false,
			signal: never,
		});
		for await (const _ of reader.batches(never)) break;
		expect(closed).toBe(1);
	});
});

test("reading runs ahead of the engine by no more than the window of merging and one body", async () => {
	const rowBytes = 1 << 16;
	const of = field("b", { kind: "fixed_size_binary", byteWidth: rowBytes });
	const data = new Uint8Array(64 * rowBytes);
	const column = {
		length: 64,
		nullCount: 0,
		buffers: [null, data],
		children: [],
		dictionary: null,
	};
	const batch = writeBatch([of], [column]);
	const head = writeStream([of], []).slice(0, -8);
	let pulled = 0;
	const source: ByteSource = {
		name: "long",
		async *stream() {
			yield head;
			for (let i = 0; i < 64; i++) {
				pulled += data.byteLength;
				yield batch;
			}
		},
		atRest: null,
	};
	const reader = await openArrow([source], {
		codecs: nodeCodecs,
		limits: defaultLimits,
		requireEos: false,
		signal: never,
	});
	// The first bytes are looked at together: with the short head, a chunk more.
	expect(pulled).toBeLessThanOrEqual(data.byteLength);
	let given = 0;
	for await (const { length } of reader.batches(never)) {
		given += length * rowBytes;
		expect(pulled - given).toBeLessThanOrEqual((32 << 20) + 2 * data.byteLength);
	}
	expect(given).toBe(64 * data.byteLength);
});
