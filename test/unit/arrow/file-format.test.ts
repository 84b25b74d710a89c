import { RecordBatchFileWriter, tableFromArrays, tableToIPC } from "apache-arrow";
import { describe, expect, test } from "vitest";
import type { ByteSource } from "../../../src/arrow/byte-source.ts";
import { arrayOf, field, int } from "./support/arrays.ts";
import { errorOf, readBack, sourceOf } from "./support/read-ipc.ts";
import {
	concat,
	writeBatch,
	writeDictionary,
	writeFile,
	writeSchema,
	writeStream,
} from "./support/write-ipc.ts";

const n = field("n", int(32));
const d = field(
	"d",
	{ kind: "utf8" },
	{ dictionary: { id: 0n, indexType: int(8), ordered: false } },
);
const fields = [n, d];
const words = (...values: string[]) => arrayOf({ ...d, dictionary: null }, values);
const batch = (numbers: number[], indices: number[]) =>
	writeBatch(fields, [arrayOf(n, numbers), arrayOf(field("d", int(8)), indices)]);
const dictionary = writeDictionary(d, words("a", "b"));
const delta = writeDictionary(d, words("c"), { isDelta: true });
const one = batch([1, 2], [0, 1]);
const two = batch([3], [2]);
const rows = [
	[1, "a"],
	[2, "b"],
	[3, "c"],
];
const file = writeFile(fields, [dictionary, delta], [one, two]);
const ways = { "at rest": { atRest: true }, "coming by": { atRest: false } };

describe.each(Object.entries(ways))("a file %s", (_, way) => {
	test.each([1, 7, 100_000])(
		"in chunks of %i bytes gives its rows, and every byte is counted",
		async (chunkBytes) => {
			const back = await readBack(sourceOf(file, { chunkBytes, ...way }));
			expect(back.rows).toEqual(rows);
			expect(back.bytes).toBe(file.byteLength);
			expect(back.warnings).toEqual([]);
		},
	);

	test("by apache-arrow's own writer is read", async () => {
		const table = tableFromArrays({ x: [1, 2, 3], s: ["p", "q", "p"] });
		const back = await readBack(sourceOf(tableToIPC(table, "file"), way));
		expect(back.rows).toEqual([
			[1, "p"],
			[2, "q"],
			[3, "p"],
		]);
		const empty = new RecordBatchFileWriter();
		empty.writeAll([table.batches[0]!.slice(0, 0)]);
		empty.finish();
		expect((await readBack(sourceOf(await empty.toUint8Array(), way))).rows).toEqual([]);
	});

	test("whose dictionary's delta lies between its batches is read", async () => {
		const bytes = writeFile(fields, [dictionary, delta], [one, two], {
			physical: [dictionary, one, delta, two],
		});
		expect((await readBack(sourceOf(bytes, way))).rows).toEqual(rows);
	});

	test("that follows another, or is followed by a stream or by padding, is read", async () => {
		const twice = await readBack(sourceOf(concat(file, file), way));
		expect(twice.rows).toEqual([...rows, ...rows]);
		expect(twice.schemas).toHaveLength(2);
		const stream = writeStream([n], [[arrayOf(n, [9])]]);
		expect((await readBack(sourceOf(concat(file, stream), way))).rows).toEqual([...rows, [9]]);
		expect((await readBack(sourceOf(concat(stream, file), way))).rows).toEqual([[9], ...rows]);
		const padded = await readBack(sourceOf(concat(file, new Uint8Array(300)), way));
		expect(padded.rows).toEqual(rows);
		expect(padded.warnings.map(({ code }) => code)).toEqual(["trailing_bytes_ignored"]);
	});

	test("of apache-arrow for JavaScript, whose schema is in the footer alone, is too_large to be kept over the limit of a batch", async () => {
		const bytes = tableToIPC(
			tableFromArrays({ x: Int32Array.from({ length: 1000 }, (_, i) => i) }),
			"file",
		);
		const limits = { maxBatchBytes: 4100 };
		const reading = readBack(sourceOf(bytes, way), { limits });
		if (way.atRest) expect((await reading).rows).toHaveLength(1000);
		else expect((await errorOf(reading)).code).toBe("too_large");
	});

	test("that is cut anywhere is truncated_stream", async () => {
		for (let cut = 1; cut < file.byteLength; cut++) {
			const error = await errorOf(readBack(sourceOf(file.slice(0, cut), way)));
			expect([cut, error.code]).toEqual([cut, "truncated_stream"]);
		}
	});

	test("that gives a dictionary twice is invalid_arrow, as its batches could mean either", async () => {
		const again = writeDictionary(d, words("x", "y", "z"));
		const bytes = writeFile(fields, [dictionary, again], [one]);
		expect((await errorOf(readBack(sourceOf(bytes, way)))).code).toBe("invalid_arrow");
	});

	test.each<[string, Parameters<typeof writeFile>[3]]>([
		[
			"has a block inside another",
			{ tamper: ({ batches }) => Object.assign(batches[1]!, { offset: batches[0]!.offset + 8 }) },
		],
		["lists a batch twice", { tamper: ({ batches }) => void batches.push({ ...batches[0]! }) }],
		[
			"has a block beyond its end",
			{
				tamper: ({ batches }) =>
					Object.assign(batches[1]!, { bodyLength: (batches[1]!.bodyLength + 1) << 20 }),
			},
		],
		[
			"has a block before its beginning",
			{ tamper: ({ batches }) => Object.assign(batches[0]!, { offset: -8 }) },
		],
		[
			"has a block at 2^60",
			{ tamper: ({ batches }) => Object.assign(batches[1]!, { offset: 2 ** 60 }) },
		],
		[
			"has a negative length",
			{ tamper: ({ batches }) => Object.assign(batches[1]!, { metadataLength: -16 }) },
		],
		[
			"gives a body the wrong length",
			{
				tamper: ({ batches }) =>
					Object.assign(batches[1]!, { bodyLength: batches[1]!.bodyLength - 8 }),
			},
		],
		[
			"points beside the message",
			{ tamper: ({ batches }) => Object.assign(batches[1]!, { offset: batches[1]!.offset + 8 }) },
		],
		[
			"calls a dictionary a batch",
			{ tamper: ({ dictionaries, batches }) => void batches.push(dictionaries.pop()!) },
		],
		[
			"calls a batch a dictionary",
			{ tamper: ({ dictionaries, batches }) => void dictionaries.push(batches.pop()!) },
		],
	])("whose footer %s is invalid_arrow", async (_what, options) => {
		const bytes = writeFile(fields, [dictionary, delta], [one, two], options);
		expect((await errorOf(readBack(sourceOf(bytes, way)))).code).toMatch(/invalid_arrow/);
	});

	test("with any byte of its footer damaged gives its rows or an IngestError", async () => {
		for (let at = file.byteLength - 500; at < file.byteLength; at++) {
			for (const value of [0, 0x7f, 0xff]) {
				const damaged = file.slice();
				damaged[at] = value;
				try {
					const back = await readBack(sourceOf(damaged, way), { values: false });
					expect(back.batches.length).toBeLessThanOrEqual(2);
				} catch (error) {
					expect([at, value, (error as Error).name]).toEqual([at, value, "IngestError"]);
				}
			}
		}
	});
});

describe("at rest the footer decides", () => {
	const counting = (bytes: Uint8Array) => {
		const source = sourceOf(bytes, { atRest: true });
		const reads: number[] = [];
		const counted: ByteSource = {
			...source,
			atRest: {
				size: bytes.byteLength,
				read(offset, length, signal) {
					reads.push(offset);
					return source.atRest!.read(offset, length, signal);
				},
			},
		};
		return { source: counted, reads };
	};

	test("batches come in its order, wherever they lie, and the bytes are still counted once", async () => {
		const bytes = writeFile(fields, [dictionary, delta], [two, one], {
			physical: [one, delta, two, dictionary],
		});
		const back = await readBack(sourceOf(bytes, { atRest: true }));
		expect(back.rows).toEqual([
			[3, "c"],
			[1, "a"],
			[2, "b"],
		]);
		expect(back.bytes).toBe(bytes.byteLength);
	});

	test("dictionaries behind their batches are read first, the batches in the one pass", async () => {
		const bytes = writeFile(fields, [dictionary, delta], [one, two], {
			physical: [one, dictionary, two, delta],
		});
		const { source, reads } = counting(bytes);
		expect((await readBack(source)).rows).toEqual(rows);
		// The footer, the schema's length, two dictionaries.
		expect(reads).toHaveLength(4);
		const comingBy = await errorOf(readBack(sourceOf(bytes)));
		expect(comingBy.message).toContain("has not come before the batch that uses it");
	});

	test("blocks in order are read in the one pass, but for the footer", async () => {
		const { source, reads } = counting(file);
		await readBack(source);
		expect(reads).toHaveLength(2);
	});

	test("a message that it doesn't list is passed over between others", async () => {
		const bytes = writeFile(fields, [dictionary, delta], [one, two], {
			physical: [dictionary, delta, one, one.slice(), two],
		});
		expect((await readBack(sourceOf(bytes, { atRest: true }))).rows).toEqual(rows);
		expect((await errorOf(readBack(sourceOf(bytes)))).code).toBe("invalid_arrow");
	});
});

test("two files of equal layout are both read, though the last footer would fit the first", async () => {
	const same = (value: number) => writeFile([n], [], [writeBatch([n], [arrayOf(n, [value])])]);
	const back = await readBack(sourceOf(concat(same(1), same(2)), { atRest: true }));
	expect(back.rows).toEqual([[1], [2]]);
});

test("a schema alone in a file is a load of no rows", async () => {
	for (const way of Object.values(ways)) {
		const back = await readBack(sourceOf(writeFile([n], [], []), way));
		expect(back.schemas).toHaveLength(1);
		expect(back.rows).toEqual([]);
	}
	expect(writeSchema([n]).byteLength).toBeGreaterThan(0);
});

describe("a file that comes by", () => {
	const encoded = (bits: 8 | 16, id = 0n) =>
		field("d", { kind: "utf8" }, { dictionary: { id, indexType: int(bits), ordered: false } });
	test.each([
		["other types", [field("n", int(32, false)), d]],
		["other names", [field("m", int(32)), d]],
		["other indices", [n, encoded(16)]],
		["another dictionary", [n, encoded(8, 1n)]],
		["fewer columns", [n]],
	])(
		"is refused when its footer has %s: at rest its values would be others",
		async (_, footerFields) => {
			const twoFaced = writeFile(fields, [dictionary, delta], [one, two], { footerFields });
			const error = await errorOf(readBack(sourceOf(twoFaced, { atRest: false })));
			expect(error.code).toBe("invalid_arrow");
			expect(error.message).toContain("another schema");
		},
	);
});
