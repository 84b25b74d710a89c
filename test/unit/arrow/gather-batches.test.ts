import { zstdCompressSync } from "node:zlib";
import { describe, expect, it } from "vitest";
import { openArrow } from "../../../src/arrow/open-arrow.ts";
import { readSource } from "../../../src/arrow/read-source.ts";
import type { ArrayData, Field } from "../../../src/arrow/types.ts";
import { IngestError } from "../../../src/errors.ts";
import { defaultLimits } from "../../../src/limits.ts";
import { nodeCodecs } from "../../../src/replay/node-codecs.ts";
import { createPrng, type Prng } from "../../fuzz/prng.ts";
import { arrayOf, extension, field, int, valuesOf } from "./support/arrays.ts";
import { lz4Frame } from "./support/lz4-compress.ts";
import { rawValues, sourceOf } from "./support/read-ipc.ts";
import {
	concat,
	endOfStream,
	type WriteOptions,
	writeBatch,
	writeDictionary,
	writeFile,
	writeSchema,
	writeStream,
} from "./support/write-ipc.ts";

const never = new AbortController().signal;
const n = field("n", int(32));
const s = field("s", { kind: "utf8" });
const encoded = { id: 7n, indexType: int(16), ordered: false };
const entries = field(
	"entries",
	{ kind: "struct" },
	{ nullable: false, children: [field("key", { kind: "utf8" }, { nullable: false }), n] },
);

/** A field of each kind that is gathered, and its value in row i. */
const kinds: [Field, (i: number) => unknown][] = [
	[n, (i) => i],
	[s, (i) => ["", "plain", "süß", "日本語", null, `row ${i}`][i % 6]],
	[
		field("v", { kind: "utf8_view" }),
		(i) =>
			i % 5 === 4 ? null : i % 4 === 0 ? `é${i}` : `${"é".repeat(i % 9)} in row ${i} of many`,
	],
	[
		field("bv", { kind: "binary_view" }),
		(i) => new Uint8Array(i % 4 === 0 ? 3 : 15 + (i % 9)).fill(i),
	],
	[field("b", { kind: "bool" }), (i) => i % 3 === 0],
	[field("ll", { kind: "large_utf8" }), (i) => "é".repeat(i % 5)],
	[field("d", { kind: "decimal", bits: 128, precision: 15, scale: 2 }), (i) => BigInt(i) * -7n],
	[field("t", { kind: "time", bits: 64, unit: "us" }), (i) => BigInt(i) * 1_000n],
	[field("f", { kind: "fixed_size_binary", byteWidth: 3 }), (i) => Uint8Array.of(i, i >> 8, 7)],
	[field("none", { kind: "null" }), () => null],
	[
		field("l", { kind: "list" }, { children: [s] }),
		(i) => (i % 7 === 6 ? null : [`a${i}`, "ä", null].slice(0, i % 4)),
	],
	[field("lg", { kind: "large_list" }, { children: [n] }), (i) => Array(i % 4).fill(i)],
	[
		field("m", { kind: "map", keysSorted: false }, { children: [entries] }),
		(i) => [
			[`k${i}`, i],
			["other", null],
		],
	],
	[
		field("fl", { kind: "fixed_size_list", size: 3 }, { children: [field("x", { kind: "bool" })] }),
		(i) => [true, null, i % 2 === 0],
	],
	[
		field("st", { kind: "struct" }, { children: [n, s] }),
		(i) => (i % 5 === 4 ? null : { n: i, s: i % 2 ? null : `s${i}` }),
	],
	[field("dict", { kind: "utf8" }, { dictionary: encoded }), (i) => `word ${i % 5}`],
	[
		field("j", { kind: "utf8" }, { metadata: extension("arrow.json") }),
		(i) => JSON.stringify({ i, s: "ü" }),
	],
	[
		field("w", { kind: "utf8" }, { metadata: extension("geoarrow.wkt") }),
		(i) => (i % 4 === 3 ? null : `POINT (${i} 1)`),
	],
];

interface Part {
	bytes: Uint8Array;
	isBatch: boolean;
}

/** Messages of a stream of these kinds: the schema, dictionaries, batches of `sizes` rows. */
function messagesOf(
	of: typeof kinds,
	sizes: readonly number[],
	options: WriteOptions = {},
): Part[] {
	const fields = of.map(([one]) => one);
	const parts: Part[] = [{ bytes: writeSchema(fields), isBatch: false }];
	for (const one of fields) {
		if (one.dictionary === null) continue;
		const words = [0, 1, 2, 3, 4].map((i) => `word ${i}`);
		const values = arrayOf({ ...one, dictionary: null }, words);
		parts.push({ bytes: writeDictionary(one, values, options), isBatch: false });
	}
	let from = 0;
	for (const size of sizes) {
		const columns = of.map(([one, make]) =>
			arrayOf(
				one,
				Array.from({ length: size }, (_, k) => make(from + k)),
			),
		);
		for (const [i, one] of fields.entries()) {
			// All batches have one dictionary, whose words are in order.
			if (one.dictionary === null) continue;
			const indices = Array.from({ length: size }, (_, k) => (from + k) % 5);
			columns[i] = arrayOf({ ...one, type: int(16), dictionary: null }, indices);
		}
		parts.push({ bytes: writeBatch(fields, columns, options, size), isBatch: true });
		from += size;
	}
	return parts;
}

/** All memory is used again, and what nobody may read any more is overwritten first. */
const codecs = {
	...nodeCodecs,
	pool: { fromBytes: 1, reclaimed: (bytes: Uint8Array) => void bytes.fill(0xdd) },
};

/** Rows, or the error with all that it says, in chunks of so many bytes. */
async function outcome(
	bytes: Uint8Array,
	chunkBytes: number,
	atRest = false,
	limits = defaultLimits,
): Promise<unknown> {
	try {
		const reader = await openArrow([sourceOf(bytes, { chunkBytes, atRest })], {
			codecs,
			limits,
			requireEos: false,
			signal: never,
		});
		const rows: unknown[][] = [];
		for await (const batch of reader.batches(never)) {
			const columns = batch.columns.map((column, i) => valuesOf(reader.engineFields[i]!, column));
			for (let row = 0; row < batch.length; row++) {
				rows.push(columns.map((column) => structuredClone(column[row])));
			}
			batch.memory?.release();
		}
		const nullable = reader.engineFields.map((one) => one.nullable);
		return { rows, nullable, counts: reader.counts(), warnings: reader.warnings() };
	} catch (error) {
		if (!(error instanceof IngestError)) throw error;
		return { code: error.code, message: error.message, place: error.place };
	}
}

/** Batches that came joined, as [messages, rows]. */
async function runsOf(
	bytes: Uint8Array,
	chunkBytes = bytes.length,
	atRest = false,
): Promise<[number, number][]> {
	const runs: [number, number][] = [];
	const events = readSource(sourceOf(bytes, { chunkBytes, atRest }), {
		codecs: nodeCodecs,
		limits: defaultLimits,
		requireEos: false,
		signal: never,
		onChunk() {},
		warn() {},
	});
	for await (const event of events) {
		if (event.kind === "batches") runs.push([event.batches.count, event.batches.length]);
	}
	return runs;
}

const join = (parts: readonly Part[]) =>
	concat(...parts.map(({ bytes }) => Uint8Array.from(bytes)), endOfStream);
/** Too small for any message, so that none is gathered. */
const tiny = 40;

/** Every third buffer is left as it is, as writers do where packing doesn't help. */
const packed = [0, 1].map((codec): WriteOptions => {
	let turn = 0;
	const compress = (bytes: Uint8Array) =>
		++turn % 3 === 0 ? null : codec === 0 ? lz4Frame(bytes) : zstdCompressSync(bytes);
	return { compression: { codec, compress } };
});

const compressAll = [lz4Frame, (bytes: Uint8Array) => zstdCompressSync(bytes)];

describe("small batches in one chunk", () => {
	it("come joined but for the first, of every kind that can be", async () => {
		for (const kind of kinds.slice(1)) {
			const bytes = join(messagesOf([kinds[0]!, kind], [5, 9, 8, 1, 20]));
			expect([kind[0].name, await runsOf(bytes)]).toEqual([kind[0].name, [[4, 38]]]);
		}
		expect(await runsOf(join(messagesOf(kinds, [5, 9, 8, 1, 20])))).toEqual([[4, 38]]);
	});

	it("hold the same values joined and apart", async () => {
		const fields = kinds.map(([one]) => one);
		const bytes = join(messagesOf(kinds, [3, 9, 8, 3, 20]));
		const events = readSource(sourceOf(bytes, { chunkBytes: bytes.length }), {
			codecs: nodeCodecs,
			limits: defaultLimits,
			requireEos: false,
			signal: never,
			onChunk() {},
			warn() {},
		});
		let compared = 0;
		for await (const event of events) {
			if (event.kind !== "batches") continue;
			const { columns, apart } = event.batches;
			const sent = [...apart()];
			fields.forEach((one, i) => {
				const pieces = sent.flatMap((batch) => rawValues(one, batch.columns[i]!));
				expect(rawValues(one, columns[i]!)).toEqual(pieces);
			});
			compared += sent.length;
		}
		expect(compared).toBeGreaterThan(2);
	});

	it("are counted and give the rows of batches that come alone", async () => {
		const bytes = join(messagesOf(kinds, [5, 9, 8, 0, 1, 20, 64]));
		const joined = await outcome(bytes, bytes.length);
		expect(joined).toMatchObject({ counts: { batches: 7, rows_streamed: 107 } });
		expect(joined).toEqual(await outcome(bytes, tiny));
	});

	it("are unpacked side by side where their bodies are packed", async () => {
		const sizes = [5, 9, 8, 1, 20];
		const plain = await outcome(join(messagesOf(kinds, sizes)), tiny);
		for (const options of packed) {
			const bytes = join(messagesOf(kinds, sizes, options));
			expect(await runsOf(bytes)).toEqual([[4, 38]]);
			const joined = await outcome(bytes, bytes.length);
			expect(joined).toEqual(await outcome(bytes, tiny));
			expect(joined).toMatchObject({ rows: (plain as { rows: unknown }).rows });
		}
	});

	it("begin anew after a dictionary, a batch of another layout, the next stream", async () => {
		const one = kinds.filter(([of]) => of.dictionary !== null || of === n);
		const dictionary = messagesOf(one, [])[1]!;
		const [schema, first, ...batches] = messagesOf(one, Array(9).fill(4));
		const bytes = join([
			schema!,
			first!,
			...batches.slice(0, 3),
			dictionary,
			...batches.slice(3, 9),
			{ bytes: endOfStream, isBatch: false },
			schema!,
			first!,
			...batches.slice(0, 4),
		]);
		expect(await runsOf(bytes)).toEqual([
			[2, 8],
			[5, 20],
			[3, 12],
		]);
		expect(await outcome(bytes, bytes.length)).toEqual(await outcome(bytes, tiny));
	});

	it("of unions and run ends come each by itself", async () => {
		const union: Field = field(
			"u",
			{ kind: "union", mode: "sparse", typeIds: [0, 1] },
			{ children: [n, s] },
		);
		const others: [Field, (i: number) => unknown][] = [
			[
				field("r", { kind: "run_end_encoded" }, { children: [field("ends", int(32)), s] }),
				(i) => `run ${i >> 2}`,
			],
			[union, (i) => ({ member: i % 2, value: i % 2 ? `u${i}` : i })],
		];
		for (const other of others) {
			const bytes = join(messagesOf([other], [5, 5, 5, 5]));
			expect(await runsOf(bytes)).toEqual([]);
			expect(await outcome(bytes, bytes.length)).toEqual(await outcome(bytes, tiny));
		}
	});
});

describe("a fault among small batches", () => {
	/** Six batches of 4 rows of one field, the fifth as `make` has it. */
	const withFifth = (of: Field, good: readonly unknown[], bad: ArrayData) =>
		writeStream(
			[of],
			[0, 1, 2, 3, 4, 5].map((i) => [i === 4 ? bad : arrayOf(of, good)]),
		);
	const place = (column: string, row?: number) => ({
		place: expect.objectContaining({ column, batch: 4, ...(row === undefined ? {} : { row }) }),
	});

	it("is told with the batch and the row as sent", async () => {
		const text = arrayOf(s, ["a", "b", "c", "d"]);
		const torn = { ...text, buffers: [null, text.buffers[1]!, Uint8Array.of(65, 0xff, 66, 67)] };
		const time = field("t", { kind: "time", bits: 32, unit: "s" });
		const late = arrayOf(time, [1, 2, 3, 86_401]);
		for (const [bytes, expected] of [
			[withFifth(s, ["a", "b", "c", "d"], torn), { code: "invalid_arrow", ...place("s", 1) }],
			[withFifth(time, [1, 2, 3, 4], late), { code: "invalid_arrow", ...place("t", 3) }],
		] as const) {
			const found = await outcome(bytes, bytes.length);
			expect(found).toMatchObject(expected);
			expect(found).toEqual(await outcome(bytes, tiny));
		}
	});

	it("is a packed body that unpacks to more than a batch may have", async () => {
		const limits = { ...defaultLimits, maxBatchBytes: 4_000 };
		for (const { compression } of packed) {
			const bytes = writeStream(
				[s],
				[1, 1, 1, 5_000, 1].map((size) => [arrayOf(s, ["x".repeat(size)])]),
				{ compression: { ...compression!, compress: compressAll[compression!.codec]! } },
			);
			const found = await outcome(bytes, bytes.length, false, limits);
			expect(found).toMatchObject({ code: "too_large", place: { batch: 3 } });
			expect(found).toEqual(await outcome(bytes, tiny, false, limits));
		}
	});

	it("are buffers that lie over each other: such batches are not copied, but come each by itself", async () => {
		const fields = ["a", "b", "c"].map((name) => field(name, { kind: "utf8" }));
		const columns = ["x".repeat(1_000), "x", "xx"].map((text, i) => arrayOf(fields[i]!, [text]));
		const batches = Array.from({ length: 5 }, () => columns);
		const lie: WriteOptions["lie"] = ({ buffers }) => {
			for (const data of [5, 8]) buffers[data] = { ...buffers[2]! };
		};
		const bytes = writeStream(fields, batches, { lie });
		expect(await runsOf(bytes)).toEqual([]);
		const found = await outcome(bytes, bytes.length);
		expect(found).toMatchObject({ counts: { batches: 5, rows_streamed: 5 } });
		const { rows } = (await outcome(writeStream(fields, batches), tiny)) as { rows: unknown };
		expect(found).toMatchObject({ rows });
	});

	it("is not mended by its neighbours: a character torn between two batches", async () => {
		const half = (bytes: number[]) => {
			const array = arrayOf(s, ["x", "y"]);
			return { ...array, buffers: [null, array.buffers[1]!, Uint8Array.from(bytes)] };
		};
		const good = () => [arrayOf(s, ["x", "y"])];
		const bytes = writeStream(
			[s],
			[good(), good(), [half([0x78, 0xc3])], [half([0xa9, 0x79])], good()],
		);
		const found = await outcome(bytes, bytes.length);
		expect(found).toMatchObject({ code: "invalid_arrow", place: { batch: 2, row: 1 } });
		expect(found).toEqual(await outcome(bytes, tiny));
	});

	it("is a null where the column has none, also in a batch that comes joined", async () => {
		const strict = field("k", int(32), { nullable: false });
		const bytes = withFifth(strict, [1, 2, 3, 4], arrayOf(strict, [1, null, 3, 4]));
		const found = await outcome(bytes, bytes.length);
		expect(found).toMatchObject({ code: "invalid_arrow", ...place("k", 1) });
		expect(found).toEqual(await outcome(bytes, tiny));
	});
});

describe("bytes that were changed", () => {
	/** A few bytes of batches, mostly of their metadata; now and then a whole batch again, or none. */
	function change(parts: Part[], random: Prng): Uint8Array {
		const copies = parts.map(({ bytes, isBatch }) => ({ bytes: bytes.slice(), isBatch }));
		const batches = copies.filter(({ isBatch }) => isBatch);
		for (let times = random.below(3); times >= 0; times--) {
			const { bytes } = random.pick(batches);
			const metadata = 8 + new DataView(bytes.buffer, bytes.byteOffset).getInt32(4, true);
			const at = random.below(random.chance(0.5) ? metadata : bytes.length);
			bytes[at] = random.pick([
				0,
				1,
				8,
				0x7f,
				0x80,
				0xc3,
				0xff,
				bytes[at]! ^ (1 << random.below(8)),
			]);
		}
		if (random.chance(0.1)) copies.splice(1 + random.below(copies.length - 1), 1);
		return join(copies);
	}

	it("give the same rows, or the same error in the same words, joined or not", async () => {
		const count = 400;
		const seen = { rows: 0, errors: 0 };
		for (let seed = 0; seed < count; seed++) {
			const random = createPrng(20_261_130, seed);
			const some = kinds.filter(() => random.chance(0.25));
			const of = some.length > 0 ? some : kinds;
			const sizes = Array.from({ length: 6 }, () => random.pick([0, 1, 5, 7, 8, 9, 12]));
			const options = random.pick([{}, {}, ...packed]);
			const bytes = change(messagesOf(of, [3, ...sizes], options), random);
			const alone = await outcome(bytes, tiny);
			for (const chunkBytes of [bytes.length, 1_001]) {
				expect([seed, await outcome(bytes, chunkBytes)]).toEqual([seed, alone]);
			}
			if ("rows" in (alone as object)) seen.rows++;
			else seen.errors++;
		}
		expect(seen.rows).toBeGreaterThan(count / 10);
		expect(seen.errors).toBeGreaterThan(count / 10);
	});
});

describe("small batches of a file", () => {
	const parts = messagesOf(kinds, [5, 9, 8, 1, 20, 3, 3]);
	const dictionaries = parts.slice(1).filter(({ isBatch }) => !isBatch);
	const batches = parts.filter(({ isBatch }) => isBatch).map(({ bytes }) => bytes);
	const fields = kinds.map(([one]) => one);
	const fileOf = (options: Parameters<typeof writeFile>[3] = {}) =>
		writeFile(
			fields,
			dictionaries.map(({ bytes }) => bytes),
			batches,
			options,
		);

	it("come joined, at rest and coming by, as its footer lists them", async () => {
		const file = fileOf();
		const alone = await outcome(file, tiny);
		expect(alone).toMatchObject({ counts: { batches: 7, rows_streamed: 49 } });
		for (const atRest of [false, true]) {
			expect(await outcome(file, file.length, atRest)).toEqual(alone);
			expect(await runsOf(file, file.length, atRest)).toEqual([[6, 44]]);
		}
	});

	it("come joined as far as the footer's order is theirs, and never past what it lists", async () => {
		const dictionary = dictionaries[0]!.bytes;
		const swapped = [0, 1, 2, 4, 3, 5, 6].map((i) => batches[i]!);
		for (const physical of [
			[dictionary, ...swapped],
			[dictionary, ...batches.slice(0, 3), new Uint8Array(64), ...batches.slice(3)],
		]) {
			const file = fileOf({ physical });
			const alone = await outcome(file, tiny, true);
			expect(alone).toMatchObject({ counts: { batches: 7, rows_streamed: 49 } });
			expect(await outcome(file, file.length, true)).toEqual(alone);
		}
		const short = fileOf({ tamper: (blocks) => blocks.batches.splice(3, 1) });
		const alone = await outcome(short, tiny, true);
		expect(alone).toMatchObject({ counts: { batches: 6 } });
		expect(await outcome(short, short.length, true)).toEqual(alone);
	});
});
