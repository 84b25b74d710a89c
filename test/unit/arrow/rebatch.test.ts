import { describe, expect, it } from "vitest";
import { sliceArray } from "../../../src/arrow/array/slice-array.ts";
import { BatchMemory } from "../../../src/arrow/batch-memory.ts";
import { createBatchChecker } from "../../../src/arrow/check-batch.ts";
import { planEngineForm } from "../../../src/arrow/engine-form.ts";
import { MemoryPool } from "../../../src/arrow/memory-pool.ts";
import { rebatch } from "../../../src/arrow/rebatch.ts";
import type { ArrayData, CheckedBatch, Field } from "../../../src/arrow/types.ts";
import { defaultLimits } from "../../../src/limits.ts";
import { arrayOf, field, int, plainCodecs, valuesOf } from "./support/arrays.ts";

const n = field("n", int(32));
const s = field("s", { kind: "utf8" });
const entries = field(
	"entries",
	{ kind: "struct" },
	{ nullable: false, children: [field("key", { kind: "utf8" }), n] },
);

/** One of each kind that the engine's form has. */
const kinds: [Field, (i: number) => unknown][] = [
	[n, (i) => i],
	[s, (i) => `text ${i}`],
	[field("b", { kind: "bool" }), (i) => i % 3 === 0],
	[field("d", { kind: "decimal", bits: 128, precision: 15, scale: 2 }), (i) => BigInt(i) * -7n],
	[field("l", { kind: "large_utf8" }), (i) => "x".repeat(i % 20)],
	[field("v", { kind: "utf8_view" }), (i) => `view ${"y".repeat(i % 20)} ${i}`],
	[field("f", { kind: "fixed_size_binary", byteWidth: 3 }), (i) => Uint8Array.of(i, i >> 8, 7)],
	[field("list", { kind: "list" }, { children: [s] }), (i) => [`a${i}`, null].slice(0, i % 3)],
	[field("large", { kind: "large_list" }, { children: [n] }), (i) => Array(i % 4).fill(i)],
	[
		field("map", { kind: "map", keysSorted: false }, { children: [entries] }),
		(i) => [[`k${i}`, i]],
	],
	[
		field(
			"fixed",
			{ kind: "fixed_size_list", size: 3 },
			{ children: [field("x", { kind: "bool" })] },
		),
		(i) => [true, null, i % 2 === 0],
	],
	[
		field("struct", { kind: "struct" }, { children: [n, s] }),
		(i) => ({ n: i, s: i % 2 ? null : `s${i}` }),
	],
	[
		field("union", { kind: "union", mode: "sparse", typeIds: [0, 1] }, { children: [n, s] }),
		(i) => ({ member: i % 2, value: i % 2 ? `u${i}` : i }),
	],
	[field("none", { kind: "null" }), () => null],
];
const fields = kinds.map(([of]) => of);

function batchOf(from: number, length: number): CheckedBatch {
	const columns = kinds.map(([of, make]) =>
		arrayOf(
			of,
			Array.from({ length }, (_, k) =>
				(from + k) % 5 === 4 && of.type.kind !== "union" ? null : make(from + k),
			),
		),
	);
	return { length, columns } as unknown as CheckedBatch;
}

async function through(
	sizes: readonly number[],
	options: Omit<Parameters<typeof rebatch>[3], "pool">,
) {
	async function* batches() {
		let from = 0;
		for (const size of sizes) {
			yield batchOf(from, size);
			from += size;
		}
	}
	const result: CheckedBatch[] = [];
	for await (const batch of rebatch(fields, batches(), plainCodecs, { ...options, pool: null }))
		result.push(batch);
	return result;
}

const rowsOf = (batches: readonly CheckedBatch[]) =>
	fields.map((of, i) => batches.flatMap((batch) => valuesOf(of, batch.columns[i]!)));

const lengthsOf = (batches: readonly CheckedBatch[]) => batches.map(({ length }) => length);

describe("rebatch", () => {
	it("gives batches of the asked rows and the rest last, in order, whatever came", async () => {
		for (const sizes of [
			[3, 0, 5, 1, 9, 0, 40, 2],
			[60],
			[16, 16, 16, 12],
			[1, 15, 16, 17, 11],
			Array(60).fill(1),
		]) {
			const batches = await through(sizes, { rows: 16 });
			expect(lengthsOf(batches)).toEqual([16, 16, 16, 12]);
			expect(rowsOf(batches)).toEqual(rowsOf([batchOf(0, 60)]));
		}
		expect(await through([0, 0], { rows: 16 })).toEqual([]);
	});

	it("gives a batch of the asked rows, or one that is alone, through as it is", async () => {
		for (const size of [16, 5]) {
			const sent = batchOf(0, size);
			async function* one() {
				yield sent;
			}
			for await (const batch of rebatch(fields, one(), plainCodecs, { rows: 16, pool: null }))
				expect(batch).toBe(sent);
		}
	});

	it("cuts a big batch without a copy", async () => {
		const batches = await through([56], { rows: 16 });
		const buffers = new Set(batches.map(({ columns }) => columns[0]!.buffers[1]!.buffer));
		expect(buffers.size).toBe(1);
	});

	it("lets no more wait than fits, and none where one batch does not", async () => {
		const maxBytes = 20_000;
		const small = await through(Array(20).fill(9), { rows: 10_000, maxBytes });
		expect(small.length).toBeGreaterThan(1);
		expect(rowsOf(small)).toEqual(rowsOf([batchOf(0, 180)]));
		const large = await through([7, 400, 9, 400], { rows: 10_000, maxBytes });
		expect(lengthsOf(large)).toEqual([7, 400, 9, 400]);
		expect(rowsOf(large)).toEqual(rowsOf([batchOf(0, 816)]));
	});

	it("lets a quarter of that wait where a row group is larger", async () => {
		async function* batches() {
			for (let i = 0; i < 24; i++) {
				yield { length: 8, columns: [batchOf(i * 8, 8).columns[0]!] } as unknown as CheckedBatch;
			}
		}
		const lengths = async (rows: number) => {
			const result: number[] = [];
			// Of each 32 bytes of integers and one of validity.
			const options = { rows, pool: null, maxBytes: 1_000 };
			for await (const { length } of rebatch([n], batches(), plainCodecs, options))
				result.push(length);
			return result;
		};
		expect(await lengths(192)).toEqual([192]);
		expect(await lengths(1_000)).toEqual([64, 64, 64]);
	});

	it("loses no row at any mix of sizes", async () => {
		const sizes = [1, 2_047, 2_048, 2_049, 0, 7, 8, 9, 4_095, 1];
		const total = sizes.reduce((sum, size) => sum + size, 0);
		const batches = await through(sizes, { rows: 2_048 });
		expect(rowsOf(batches)).toEqual(rowsOf([batchOf(0, total)]));
		expect(lengthsOf(batches)).toEqual([...Array(5).fill(2_048), total - 5 * 2_048]);
	});
});

describe("the memory of batches", () => {
	/** Batches of `sizes` through `rebatch`; `freed` are those whose memory nobody holds, `-1` a joined one's. */
	async function held(of: readonly Field[], sizes: readonly number[], rows: number) {
		const freed: number[] = [];
		const columnsOf = (batch: CheckedBatch) => of.map((one) => batch.columns[fields.indexOf(one)]!);
		async function* batches() {
			for (const [at, size] of sizes.entries()) {
				const columns = columnsOf(batchOf(0, size));
				const memory = new BatchMemory(() => freed.push(at));
				yield { length: size, columns, memory } as unknown as CheckedBatch;
			}
		}
		const reclaimed = () => void freed.push(-1);
		const codecs = { ...plainCodecs, pool: { fromBytes: 1, reclaimed } };
		const options = { rows, pool: MemoryPool.of(codecs) };
		const out: CheckedBatch[] = [];
		for await (const batch of rebatch(of, batches(), codecs, options)) out.push(batch);
		return { out, freed };
	}

	it("is let go of where a join has copied it; the join's own by who drains it", async () => {
		const { out, freed } = await held([n, s], [10, 0, 10, 12], 16);
		expect(lengthsOf(out)).toEqual([16, 16]);
		expect(freed).toEqual([1, 0, 2, 3]);
		for (const { memory } of out) memory!.release();
		expect(freed).toEqual([1, 0, 2, 3, -1, -1]);
	});

	it("goes with a batch that is given through, and with the last piece of one that is cut", async () => {
		const { out, freed } = await held([n, s], [16, 40], 16);
		expect(lengthsOf(out)).toEqual([16, 16, 16, 8]);
		for (const [at, { memory }] of out.entries()) {
			expect(freed).toEqual(at === 0 ? [] : [0]);
			memory!.release();
		}
		expect(freed).toEqual([0, 1]);
	});

	it("goes with a join that shows it: the data behind views are not copied", async () => {
		const views = kinds[5]![0];
		const { out, freed } = await held([n, views], [8, 12], 16);
		expect(freed).toEqual([]);
		out[0]!.memory!.release();
		expect(freed).toEqual([-1, 0]);
		out[1]!.memory!.release();
		expect(freed).toEqual([-1, 0, 1]);
	});
});

describe("slices", () => {
	it("of every kind hold the rows between, with exact null counts", () => {
		const whole = batchOf(0, 100);
		for (const [from, length] of [
			[0, 5],
			[8, 8],
			[16, 33],
			[96, 4],
			[40, 0],
		] as const) {
			fields.forEach((of, i) => {
				const slice = sliceArray(of, whole.columns[i]!, from, length, plainCodecs);
				const values = valuesOf(of, slice);
				expect(values).toEqual(valuesOf(of, whole.columns[i]!).slice(from, from + length));
				if (of.type.kind !== "union")
					expect(slice.nullCount).toBe(values.filter((value) => value === null).length);
			});
		}
	});

	const runEnds = (bits: 16 | 32 | 64) => field("run_ends", int(bits), { nullable: false });
	const encoded = { id: 1n, indexType: int(16), ordered: false };
	const sent: [Field, (i: number) => unknown][] = [
		[field("d", { kind: "utf8" }, { dictionary: encoded }), (i) => `word ${i % 7} of a dictionary`],
		[field("lv", { kind: "list_view" }, { children: [s] }), (i) => [`a${i}`, null].slice(0, i % 3)],
		[
			field(
				"llv",
				{ kind: "large_list_view" },
				{ children: [field("h", { kind: "float", bits: 16 })] },
			),
			(i) => Array(i % 4).fill(0x3c00 + i),
		],
		[
			field("du", { kind: "union", mode: "dense", typeIds: [9, 2] }, { children: [n, s] }),
			(i) => ({ member: i % 2, value: i % 2 ? `u${i}` : i }),
		],
		[
			field("r16", { kind: "run_end_encoded" }, { children: [runEnds(16), s] }),
			(i) => `run ${i >> 2}`,
		],
		[field("r64", { kind: "run_end_encoded" }, { children: [runEnds(64), n] }), (i) => i >> 3],
		[
			field(
				"ll",
				{ kind: "list" },
				{
					children: [
						field("item", { kind: "large_list" }, { children: [field("b", { kind: "bool" })] }),
					],
				},
			),
			(i) => [[true, i % 2 === 0], [], null],
		],
	];

	it("of arrays as they were sent convert to the rows between", () => {
		for (const [of, make] of sent) {
			const values = Array.from({ length: 100 }, (_, i) =>
				i % 5 === 4 && of.type.kind !== "union" ? null : make(i),
			);
			const schema = { fields: [of], metadata: new Map() };
			const form = planEngineForm(schema, plainCodecs);
			const rowsIn = (array: ArrayData) => {
				const raw = { length: array.length, columns: [array], index: 0 };
				return valuesOf(form.fields[0]!, form.convert(raw).columns[0]!);
			};
			const whole = arrayOf(of, values);
			createBatchChecker(
				schema,
				defaultLimits,
				plainCodecs,
			)({ length: 100, columns: [whole], index: 0 });
			const expected = rowsIn(whole);
			for (const [from, length] of [
				[0, 100],
				[0, 5],
				[8, 8],
				[16, 33],
				[96, 4],
				[40, 0],
				[88, 12],
			] as const) {
				const slice = sliceArray(of, whole, from, length, plainCodecs);
				// What a slice is must pass the checks that the whole passed; of runs, empty ones before it don't.
				if (of.type.kind !== "run_end_encoded") {
					createBatchChecker(
						schema,
						defaultLimits,
						plainCodecs,
					)({ length, columns: [slice], index: 0 });
				}
				expect([of.name, from, rowsIn(slice)]).toEqual([
					of.name,
					from,
					expected.slice(from, from + length),
				]);
			}
		}
	});

	it("are what a big batch is converted by, piece by piece", () => {
		const fields = sent.map(([of]) => of).filter(({ name }) => name !== "r16");
		const makes = sent.filter(([of]) => of.name !== "r16").map(([, make]) => make);
		const columns = fields.map((of, k) =>
			arrayOf(
				of,
				Array.from({ length: 10_000 }, (_, i) => makes[k]!(i)),
			),
		);
		const raw = { length: 10_000, columns, index: 0 };
		const form = planEngineForm({ fields, metadata: new Map() }, plainCodecs);
		const whole = form.convert(raw);
		const pieces = [...form.convertPieces(raw, 4_096)];
		expect(pieces.map(({ length }) => length)).toEqual([4_096, 4_096, 1_808]);
		form.fields.forEach((of, i) => {
			expect(pieces.flatMap((piece) => valuesOf(of, piece.columns[i]!))).toEqual(
				valuesOf(of, whole.columns[i]!),
			);
		});
	});
});
