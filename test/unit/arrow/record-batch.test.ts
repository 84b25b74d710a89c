import { describe, expect, test } from "vitest";
import type { Field } from "../../../src/arrow/types.ts";
import { swapToLittleEndian } from "../../../src/arrow/wire/swap-endian.ts";
import { nodeCodecs } from "../../../src/replay/node-codecs.ts";
import { arrayOf, field, int } from "./support/arrays.ts";
import { errorOf, readBack, sourceOf } from "./support/read-ipc.ts";
import { type BatchHeader, writeStream } from "./support/write-ipc.ts";

const item = field("item", int(32));
const members = [field("i", int(32)), field("s", { kind: "utf8" })];
const long = "a text that no view holds inline";
const samples: [Field, unknown[]][] = [
	[field("null", { kind: "null" }), [null, null]],
	[field("bool", { kind: "bool" }), [true, null, false]],
	[field("int8", int(8)), [-1, null, 127]],
	[field("uint64", int(64, false)), [1n << 63n, null]],
	[field("float", { kind: "float", bits: 64 }), [1.5, null, -0]],
	[
		field("decimal", { kind: "decimal", bits: 256, precision: 76, scale: 3 }),
		[-(10n ** 70n), null, 5n],
	],
	[field("date", { kind: "date", unit: "ms" }), [86_400_000n, null]],
	[field("interval", { kind: "interval", unit: "month" }), [14, null]],
	[field("utf8", { kind: "utf8" }), ["x", null, "", "ü"]],
	[field("large", { kind: "large_binary" }), [Uint8Array.of(1, 2), null]],
	[field("view", { kind: "utf8_view" }), ["x", null, long, `${long}!`]],
	[field("inline", { kind: "binary_view" }), [Uint8Array.of(1)]],
	[field("fixed", { kind: "fixed_size_binary", byteWidth: 3 }), [Uint8Array.of(1, 2, 3), null]],
	[field("list", { kind: "list" }, { children: [item] }), [[1, null], null, []]],
	[field("large_list", { kind: "large_list" }, { children: [item] }), [[1], null, [2, 3]]],
	[field("list_view", { kind: "list_view" }, { children: [item] }), [[1], null, [2, 3]]],
	[field("large_view", { kind: "large_list_view" }, { children: [item] }), [[1], null]],
	[field("fsl", { kind: "fixed_size_list", size: 2 }, { children: [item] }), [[1, 2], null]],
	[
		field("struct", { kind: "struct" }, { children: members }),
		[{ i: 1, s: "x" }, null, { i: null, s: "y" }],
	],
	[
		field("sparse", { kind: "union", mode: "sparse", typeIds: [3, 8] }, { children: members }),
		[
			{ member: 1, value: "x" },
			{ member: 0, value: 5 },
		],
	],
	[
		field("dense", { kind: "union", mode: "dense", typeIds: [3, 8] }, { children: members }),
		[
			{ member: 1, value: "x" },
			{ member: 0, value: 5 },
		],
	],
	[
		field(
			"runs",
			{ kind: "run_end_encoded" },
			{ children: [field("run_ends", int(32)), field("values", { kind: "utf8" })] },
		),
		["a", "a", null, "b"],
	],
];

describe("record batches", () => {
	test.each(samples.map(([of, values]) => [of.name, of, values] as const))(
		"%s arrays come back",
		async (_, of, values) => {
			const back = await readBack(writeStream([of], [[arrayOf(of, values)], [arrayOf(of, [])]]));
			expect(back.rows.map(([value]) => value)).toEqual(values);
			expect(back.batches[1]!.length).toBe(0);
		},
	);

	test.each(samples.map(([of, values]) => [of.name, of, values] as const))(
		"%s arrays of a big-endian machine come back",
		async (_, of, values) => {
			// Written so that swapping is its own inverse: no view is long enough to have a reference.
			const short = values.map((value) =>
				value === long || value === `${long}!` ? "short" : value,
			);
			const array = arrayOf(of, short);
			const swap = (one: Field, at: typeof array): void => {
				swapToLittleEndian(one.type, at, nodeCodecs);
				one.children.forEach((child, i) => {
					swap(child, at.children[i]!);
				});
			};
			if (of.type.kind.endsWith("view") && !of.type.kind.includes("list")) {
				// The length is swapped by hand: as a big-endian number it would look like a long one.
				array.buffers[1] = array.buffers[1]!.slice();
				for (let at = 0; at < array.buffers[1].length; at += 16)
					array.buffers[1].subarray(at, at + 4).reverse();
			} else swap(of, array);
			const back = await readBack(writeStream([of], [[array]], { bigEndian: true }));
			expect(back.rows.map(([value]) => value)).toEqual(short);
		},
	);

	test("several columns share nodes and buffers in order, and lie in the body without a copy", async () => {
		const same = samples.filter(([, values]) => values.length === 2);
		const fields = same.map(([of]) => of);
		const back = await readBack(
			writeStream(fields, [same.map(([of, values]) => arrayOf(of, values))]),
		);
		expect(back.rows).toEqual([0, 1].map((row) => same.map(([, values]) => values[row])));
		const buffers = back.batches[0]!.columns.flatMap(({ buffers }) => buffers).filter(
			(buffer) => buffer && buffer.byteLength > 0,
		);
		expect(new Set(buffers.map((buffer) => buffer!.buffer)).size).toBe(1);
	});

	test("buffers that are not aligned to 8 bytes are copied to where they are", async () => {
		const of = field("n", int(64));
		const bytes = writeStream([of], [[arrayOf(of, [1n, 2n, 3n])]], {
			lie({ buffers }) {
				buffers[1]!.offset += 4n;
				buffers[1]!.length -= 8n;
			},
		});
		const back = await readBack(sourceOf(bytes), { values: false });
		const data = back.batches[0]!.columns[0]!.buffers[1]!;
		expect(data.byteOffset % 8).toBe(0);
		expect([...new Int32Array(data.buffer, data.byteOffset, 4)]).toEqual([0, 2, 0, 3]);
	});

	test("metadata V4 has a validity bitmap before a union, which is passed over unless it has nulls", async () => {
		for (const [of, values] of samples.filter(([{ type }]) => type.kind === "union")) {
			const back = await readBack(writeStream([of], [[arrayOf(of, values)]], { version: 3 }));
			expect(back.rows.map(([value]) => value)).toEqual(values);
			expect(back.batches[0]!.columns[0]!.buffers).toHaveLength(arrayOf(of, values).buffers.length);
		}
	});
});

describe("what does not fit", () => {
	const fields = [field("n", int(32)), field("v", { kind: "utf8_view" })];
	const columns = [arrayOf(fields[0]!, [1, 2]), arrayOf(fields[1]!, ["x", long])];
	const lying = (lie: (header: BatchHeader) => void, limits = {}) =>
		errorOf(readBack(writeStream(fields, [columns], { lie }), { limits, values: false }));

	test.each<[string, (header: BatchHeader) => void]>([
		["a negative row count", (h) => Object.assign(h, { length: -1n })],
		["an impossible row count", (h) => Object.assign(h, { length: 1n << 62n })],
		["a column shorter than the batch", (h) => Object.assign(h, { length: 3n })],
		["a negative length", (h) => Object.assign(h.nodes[0]!, { length: -2n })],
		["an impossible length", (h) => Object.assign(h.nodes[0]!, { length: 1n << 60n })],
		["a negative null count", (h) => Object.assign(h.nodes[0]!, { nullCount: -1n })],
		["more nulls than values", (h) => Object.assign(h.nodes[0]!, { nullCount: 3n })],
		["a node too few", (h) => h.nodes.pop()],
		["a node too many", (h) => h.nodes.push({ length: 2n, nullCount: 0n })],
		["a buffer too few", (h) => h.buffers.pop()],
		["a buffer too many", (h) => h.buffers.push({ offset: 0n, length: 0n })],
		["a buffer beyond the body", (h) => Object.assign(h.buffers[1]!, { offset: 100_000n })],
		["a buffer longer than the body", (h) => Object.assign(h.buffers[1]!, { length: 100_000n })],
		["a negative offset", (h) => Object.assign(h.buffers[1]!, { offset: -8n })],
		["a negative buffer length", (h) => Object.assign(h.buffers[1]!, { length: -8n })],
		[
			"offset and length that wrap around",
			(h) => Object.assign(h.buffers[1]!, { offset: (1n << 63n) - 8n, length: 16n }),
		],
		["no variadic count", (h) => h.variadicCounts.pop()],
		["a variadic count too many", (h) => h.variadicCounts.push(0n)],
		["a negative variadic count", (h) => h.variadicCounts.splice(0, 1, -1n)],
		["a variadic count of 2^40", (h) => h.variadicCounts.splice(0, 1, 1n << 40n)],
	])("%s is invalid_arrow", async (_, lie) => {
		expect((await lying(lie)).code).toBe("invalid_arrow");
	});

	test("four billion rows of null in a few hundred bytes are too_large", async () => {
		const of = field("n", { kind: "null" });
		const bytes = writeStream([of], [[arrayOf(of, [])]], {
			lie(header) {
				header.length = 4_294_967_295n;
				header.nodes[0]!.length = 4_294_967_295n;
				header.nodes[0]!.nullCount = 4_294_967_295n;
			},
		});
		expect((await errorOf(readBack(bytes, { values: false }))).code).toBe("too_large");
	});

	test("an empty buffer's place means nothing", async () => {
		const bytes = writeStream(fields, [columns], {
			lie: ({ buffers }) => Object.assign(buffers[0]!, { offset: 1n << 50n }),
		});
		expect((await readBack(bytes)).rows).toHaveLength(2);
	});
});
