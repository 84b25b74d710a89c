/**
 * Memory that a load uses again, overwritten as soon as it comes back: whoever still read it, in our code
 * or in DuckDB, would load other values than a load whose memory nobody uses again.
 */
import {
	Field,
	makeData,
	RecordBatch,
	RecordBatchStreamWriter,
	Schema,
	Struct,
} from "apache-arrow";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import {
	commentColumn,
	dateColumn,
	int64Column,
	moneyColumn,
	wordColumn,
} from "../../bench/datasets/columns.ts";
import { createRandom } from "../../bench/datasets/random.ts";
import type { Codecs } from "../../src/arrow/codecs.ts";
import { openArrow } from "../../src/arrow/open-arrow.ts";
import { defaultLimits, rowGroupRows } from "../../src/limits.ts";
import { nodeCodecs } from "../../src/replay/node-codecs.ts";
import { SinkFixture } from "./sink-fixture.ts";

const { pool: _, ...withoutPool } = nodeCodecs;
let overwritten = 0;
const overwriting: Codecs = {
	...nodeCodecs,
	pool: {
		fromBytes: 1,
		reclaimed(bytes) {
			bytes.fill(0xdb);
			overwritten++;
		},
	},
};

function streamOf(sizes: readonly number[]): Uint8Array {
	const random = createRandom(7);
	let from = 0;
	const batches = sizes.map((rows) => {
		const first = from;
		from += rows;
		const columns = {
			key: int64Column(rows, (row) => first + row),
			price: moneyColumn(rows, () => random.below(1_000_000)),
			flag: wordColumn(rows, random, ["R", "A", "N"]),
			day: dateColumn(rows, () => 8_000 + random.below(2_500)),
			comment: commentColumn(rows, random, 10, 43),
		};
		const fields = Object.entries(columns).map(([name, column]) => new Field(name, column.type));
		const type = new Struct(fields);
		const children = Object.values(columns);
		const data = makeData({ type, length: rows, nullCount: 0, children });
		return new RecordBatch(new Schema(fields), data);
	});
	return RecordBatchStreamWriter.writeAll(batches).toUint8Array(true);
}

let fixture: SinkFixture;
beforeAll(() => {
	fixture = new SinkFixture();
});
afterAll(() => fixture.remove());

async function load(bytes: Uint8Array, table: string, codecs: Codecs) {
	const { signal } = new AbortController();
	const source = {
		name: "stream",
		async *stream() {
			for (let at = 0; at < bytes.length; at += 100_000) yield bytes.subarray(at, at + 100_000);
		},
		atRest: null,
	};
	const options = { codecs, limits: defaultLimits, requireEos: true, signal };
	const reader = await openArrow([source], options);
	return await fixture.insert({ table, reader: () => reader });
}

describe("rows in memory that is used again", () => {
	const cases = {
		joined: Array(9).fill(40_000),
		joined_at_any_bit: Array(9).fill(39_999),
		cut: [2 * rowGroupRows + 1_001, rowGroupRows + 77],
		whole: Array(3).fill(rowGroupRows),
		mixed: [5, 200_000, 8, 0, 60_000, 1, 123],
	};
	for (const [name, sizes] of Object.entries(cases)) {
		it(`are those that were sent: ${name}`, async () => {
			const bytes = streamOf(sizes);
			const before = overwritten;
			await Promise.all([
				load(bytes, `${name}_again`, overwriting),
				load(bytes, `${name}_beside`, overwriting),
				load(bytes, name, withoutPool),
			]);
			expect(overwritten).toBeGreaterThan(before + 2);
			const total = sizes.reduce((sum: number, size: number) => sum + size, 0);
			for (const other of [`${name}_again`, `${name}_beside`]) {
				const [row] = await fixture.sql(
					`SELECT count(*)::INTEGER, count(*) FILTER (a IS DISTINCT FROM b)::INTEGER, sum(a.key)::DOUBLE
					FROM ${name} a POSITIONAL JOIN ${other} b`,
				);
				expect(row).toEqual([total, 0, (total * (total - 1)) / 2]);
			}
		});
	}
});
