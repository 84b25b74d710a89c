import { describe, expect, test } from "vitest";
import { DictionaryBook } from "../../../src/arrow/dictionary-batch.ts";
import type { ArrayData, Field, IndexType } from "../../../src/arrow/types.ts";
import { defaultLimits } from "../../../src/limits.ts";
import { nodeCodecs } from "../../../src/replay/node-codecs.ts";
import { arrayOf, bitmap, field, int, ints } from "./support/arrays.ts";
import { errorOf, readBack } from "./support/read-ipc.ts";
import {
	concat,
	endOfStream,
	writeBatch,
	writeDictionary,
	writeSchema,
} from "./support/write-ipc.ts";

const utf8 = (name: string, id: bigint, indexType: IndexType = int(8)): Field =>
	field(name, { kind: "utf8" }, { dictionary: { id, indexType, ordered: false } });
const plain = (of: Field): Field => ({ ...of, dictionary: null });
const words = (of: Field, ...values: (string | null)[]) => arrayOf(plain(of), values);
/** Indices; null where there is none. */
const indices = (of: Field, ...values: (number | null)[]): ArrayData =>
	arrayOf(field(of.name, of.dictionary!.indexType), values);
const stream = (...messages: Uint8Array[]) => concat(...messages, endOfStream);

const d = utf8("d", 7n);

describe("dictionaries of a stream", () => {
	test("are replaced: ['foo'], then ['bar', 'foo']", async () => {
		const bytes = stream(
			writeSchema([d]),
			writeDictionary(d, words(d, "foo")),
			writeBatch([d], [indices(d, 0, null, 0)]),
			writeDictionary(d, words(d, "bar", "foo")),
			writeBatch([d], [indices(d, 0, 1)]),
		);
		expect((await readBack(bytes)).rows.flat()).toEqual(["foo", null, "foo", "bar", "foo"]);
	});

	test("grow by deltas, which batches before do not see", async () => {
		const bytes = stream(
			writeSchema([d]),
			writeDictionary(d, words(d, "a", "b")),
			writeBatch([d], [indices(d, 1)]),
			writeDictionary(d, words(d, "c", null), { isDelta: true }),
			writeDictionary(d, words(d, "d"), { isDelta: true }),
			writeBatch([d], [indices(d, 0, 2, 3, 4)]),
		);
		const back = await readBack(bytes);
		expect(back.rows.flat()).toEqual(["b", "a", "c", null, "d"]);
		expect(back.batches[0]!.columns[0]!.dictionary!.length).toBe(2);
	});

	test.each([8, 16, 32, 64] as const)(
		"have indices of %i bits, signed or not, and null and duplicate values",
		async (bits) => {
			for (const signed of [true, false]) {
				const of = utf8("d", 1n, int(bits, signed));
				const bytes = stream(
					writeSchema([of]),
					writeDictionary(of, words(of, "x", null, "x", "y")),
					writeBatch([of], [indices(of, 0, 1, 2, 3, null)]),
				);
				expect((await readBack(bytes)).rows.flat()).toEqual(["x", null, "x", "y", null]);
			}
		},
	);

	test("are shared by columns and may have ids beyond 2^53", async () => {
		const id = (1n << 62n) + 1n;
		const [a, b] = [utf8("a", id), utf8("b", id, int(32))];
		const other = utf8("c", (1n << 62n) + 2n);
		const bytes = stream(
			writeSchema([a, b, other]),
			writeDictionary(a, words(a, "one", "two")),
			writeDictionary(other, words(other, "three")),
			writeBatch([a, b, other], [indices(a, 0), indices(b, 1), indices(other, 0)]),
		);
		const back = await readBack(bytes);
		expect(back.rows).toEqual([["one", "two", "three"]]);
		const [first, second] = back.batches[0]!.columns;
		expect(first!.dictionary).toBe(second!.dictionary);
	});

	test("are the same array for every batch until they change", async () => {
		const bytes = stream(
			writeSchema([d]),
			writeDictionary(d, words(d, "a")),
			writeDictionary(d, words(d, "b"), { isDelta: true }),
			writeBatch([d], [indices(d, 0)]),
			writeBatch([d], [indices(d, 1)]),
			writeDictionary(d, words(d, "c"), { isDelta: true }),
			writeBatch([d], [indices(d, 2)]),
		);
		const [first, second, third] = (await readBack(bytes)).batches.map(
			({ columns }) => columns[0]!.dictionary,
		);
		expect(first).toBe(second);
		expect(third).not.toBe(first);
	});

	test("lie inside lists, structs and other dictionaries, in whatever order they come", async () => {
		const inner = utf8("word", 2n);
		const list = field("item", { kind: "list" }, { children: [inner] });
		const outer: Field = {
			...list,
			name: "o",
			dictionary: { id: 1n, indexType: int(16), ordered: false },
		};
		const struct = field("s", { kind: "struct" }, { children: [utf8("word", 2n), list] });
		const fields = [outer, struct];
		const listOf = (...lists: number[][]): ArrayData => ({
			length: lists.length,
			nullCount: 0,
			buffers: [null, ints(4, [0, ...lists.map((_, i) => lists.slice(0, i + 1).flat().length)])],
			children: [indices(inner, ...lists.flat())],
			dictionary: null,
		});
		const structOf = (word: number, ...lists: number[][]): ArrayData => ({
			length: 1,
			nullCount: 0,
			buffers: [null],
			children: [indices(inner, word), listOf(...lists)],
			dictionary: null,
		});
		const innerWords = writeDictionary(inner, words(inner, "a", "b"));
		const outerLists = writeDictionary(outer, listOf([0, 1], [1]));
		const batch = (o: number, s: ArrayData) => writeBatch(fields, [indices(outer, o), s]);
		for (const head of [
			[innerWords, outerLists],
			[outerLists, innerWords],
		]) {
			const bytes = stream(
				writeSchema(fields),
				...head,
				batch(0, structOf(1, [0, 0])),
				// The outer dictionary's indices now mean other words.
				writeDictionary(inner, words(inner, "x", "y")),
				batch(1, structOf(0, [1])),
				writeDictionary(outer, listOf([0]), { isDelta: true }),
				batch(2, structOf(0, [])),
			);
			expect((await readBack(bytes)).rows).toEqual([
				[["a", "b"], { word: "b", item: ["a", "a"] }],
				[["y"], { word: "x", item: ["y"] }],
				[["x"], { word: "x", item: [] }],
			]);
		}
	});

	test("that never came are empty where every value is null, and invalid_arrow where one isn't", async () => {
		const nested = field("l", { kind: "list" }, { children: [utf8("item", 9n)] });
		const empty: ArrayData = {
			length: 1,
			nullCount: 0,
			buffers: [null, ints(4, [0, 0])],
			children: [indices(utf8("item", 9n))],
			dictionary: null,
		};
		const nulls = stream(
			writeSchema([d, nested]),
			writeBatch([d, nested], [indices(d, null), empty]),
		);
		expect((await readBack(nulls)).rows).toEqual([[null, []]]);
		const missing = stream(writeSchema([d]), writeBatch([d], [indices(d, null, 0)]));
		const error = await errorOf(readBack(missing));
		expect(error.code).toBe("invalid_arrow");
		expect(error.place.column).toBe("d");
		expect(error.message).toContain("dictionary 7");
	});

	test("of an id that no column has, or shared by columns of different types, are invalid_arrow", async () => {
		const stranger = stream(writeSchema([d]), writeDictionary(d, words(d, "a"), { id: 99n }));
		expect((await errorOf(readBack(stranger))).code).toBe("invalid_arrow");
		const other = field("n", int(32), {
			dictionary: { id: 7n, indexType: int(8), ordered: false },
		});
		const error = await errorOf(readBack(stream(writeSchema([d, other]))));
		expect(error.code).toBe("invalid_arrow");
		expect(error.place.column).toBe("n");
	});

	test("take together at most the limit of one batch", async () => {
		const long = "x".repeat(1000);
		const bytes = stream(
			writeSchema([d]),
			...Array.from({ length: 30 }, () => writeDictionary(d, words(d, long), { isDelta: true })),
		);
		const error = await errorOf(readBack(bytes, { limits: { maxBatchBytes: 20_000 } }));
		expect(error.code).toBe("too_large");
		const replaced = stream(
			writeSchema([d]),
			...Array.from({ length: 30 }, () => writeDictionary(d, words(d, long))),
		);
		await readBack(replaced, { limits: { maxBatchBytes: 20_000 } });
	});

	test("that are large and change with every batch end in too_large, not in work that grows with their square", () => {
		const book = new DictionaryBook([d], defaultLimits, nodeCodecs);
		const values: ArrayData = {
			length: 1,
			nullCount: 0,
			buffers: [null, ints(4, [0, 0]), new Uint8Array(100 << 20)],
			children: [],
			dictionary: null,
		};
		book.add(7n, values, false);
		const grow = () => {
			for (let i = 0; i < 100; i++) {
				book.received(100);
				book.add(7n, words(d, "a"), true);
				// The data of 100 MiB isn't reached by offsets, so joining copies none of it; it counts all the same.
				book.lookUp(d, false, "d");
				book.add(7n, values, true);
			}
		};
		expect(grow).toThrow(expect.objectContaining({ code: "too_large" }));
	});

	test("with bits that say which values are null keep them through a delta", async () => {
		const first: ArrayData = {
			...words(d, "a", "b", "c"),
			nullCount: 1,
			buffers: [bitmap([true, false, true]), ...words(d, "a", "b", "c").buffers.slice(1)],
		};
		const bytes = stream(
			writeSchema([d]),
			writeDictionary(d, first),
			writeDictionary(d, words(d, "d"), { isDelta: true }),
			writeBatch([d], [indices(d, 0, 1, 2, 3)]),
		);
		expect((await readBack(bytes)).rows.flat()).toEqual(["a", null, "c", "d"]);
	});
});
