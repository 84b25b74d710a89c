/**
 * Parquet files that somebody damaged, among whole ones, through the service and its
 * loader process: each loads whole or not at all, whatever DuckDB's reader makes of it.
 * Seeded: file n is the same bytes for ever. `DUCKDOCK_MUTANTS=2000` for more of them.
 */
import process from "node:process";
import { afterAll, beforeAll, expect, it } from "vitest";
import type { Receipt } from "../../src/flow.ts";
import { isFinal } from "../../src/receipt/receipt-book.ts";
import { everyType, parquetOf } from "../contract/parquet-bytes.ts";
import { createPrng, type Prng } from "../fuzz/prng.ts";
import { openFolderDrops } from "./folder-drops.ts";
import { createWorld, query, type World } from "./world.ts";

const mutants = Number(process.env.DUCKDOCK_MUTANTS ?? 220);
const seed = Number(process.env.DUCKDOCK_SEED ?? 20_261_130);
let world: World;

beforeAll(async () => {
	world = await createWorld();
});
afterAll(() => world?.end());

const groups = `SELECT i, 'row ' || i % 7 AS t, TIME '01:00:00' AS at, [i, i + 1] AS l, (i / 10)::DECIMAL(7, 2) AS d
	FROM range(6000) AS r(i)`;

function corpus(): Promise<Uint8Array[]> {
	const geometry =
		"SELECT ('LINESTRING(' || i || ' 2, 3 4)')::GEOMETRY AS g FROM range(50) AS r(i)";
	return Promise.all([
		parquetOf(everyType, ", COMPRESSION UNCOMPRESSED"),
		parquetOf(everyType, ", COMPRESSION UNCOMPRESSED, PARQUET_VERSION V2"),
		parquetOf(everyType, ", COMPRESSION ZSTD"),
		parquetOf(groups, ", COMPRESSION SNAPPY, ROW_GROUP_SIZE 2048"),
		parquetOf(geometry, ", COMPRESSION UNCOMPRESSED"),
	]);
}

const borders = [
	0, 1, 2, 0x7f, 0x80, 0xff, 0x7fff, 0x8000, 0xffff, 0x7fffffff, 0x80000000, 0xffffffff,
];

function mutate(bytes: Uint8Array, all: readonly Uint8Array[], prng: Prng): Uint8Array {
	const mutant = bytes.slice();
	const view = new DataView(mutant.buffer);
	const footer = view.getUint32(mutant.length - 8, true);
	const footerAt = mutant.length - 8 - footer;
	// A footer is small beside its pages, and read first.
	const inFooter = prng.chance(0.4);
	const somewhere = (room: number) =>
		inFooter ? footerAt + prng.below(footer + 8 - room) : prng.below(footerAt - room);
	switch (prng.below(8)) {
		case 0:
			return mutant.subarray(0, prng.below(mutant.length));
		case 1: {
			// A tail of its own under another head.
			const other = prng.pick(all);
			mutant.set(other.subarray(0, Math.min(prng.below(other.length), footerAt)));
			return mutant;
		}
		case 2:
			mutant.fill(prng.below(256), somewhere(0), mutant.length - prng.below(footer + 8));
			return mutant;
		case 3:
			view.setUint32(somewhere(4), prng.pick(borders), true);
			return mutant;
		case 4:
			view.setBigUint64(somewhere(8), prng.chance(0.5) ? 2n ** 62n : 2n ** 64n - 5n, true);
			return mutant;
		default:
			for (let times = 1 + prng.below(prng.chance(0.7) ? 2 : 40); times > 0; times--) {
				const at = somewhere(1);
				mutant[at] = prng.chance(0.5) ? mutant[at]! ^ (1 << prng.below(8)) : prng.below(256);
			}
			return mutant;
	}
}

/** What a broken file may be called. */
const codes = new Set([
	"not_arrow",
	"truncated_stream",
	"invalid_arrow",
	"unsupported_type",
	"unsupported_codec",
	"duplicate_column",
	"cast_failed",
	"too_large",
]);

it(`${mutants} damaged files load whole or not at all, and the whole ones among them all`, {
	timeout: 1_800_000,
	retry: 0,
}, async () => {
	const folder = await openFolderDrops(world.folder);
	const { receipts } = folder;
	const bases = await corpus();
	const tables = new Map<string, string>();
	const drop = async (table: string, bytes: Uint8Array) =>
		tables.set(table, await folder.drop(`main/${table}/x.parquet`, bytes));
	for (let n = 0; n < mutants; n++) {
		const prng = createPrng(seed, n);
		await drop(`m${n}`, mutate(prng.pick(bases), bases, prng));
		if (n % 20 === 0) await drop(`whole${n}`, prng.pick(bases));
	}
	await world.start();

	const ended = new Map<string, Receipt>();
	for (const deadline = Date.now() + 60_000 + mutants * 4_000; ended.size < tables.size; ) {
		for (const [table, id] of tables) {
			if (ended.has(table)) continue;
			const receipt = await receipts.read("acme", id);
			if (receipt !== null && isFinal(receipt.status)) ended.set(table, receipt);
		}
		if (Date.now() > deadline) throw new Error(`${ended.size} of ${tables.size} have ended`);
		await new Promise((wake) => setTimeout(wake, 250));
	}
	await world.stop();

	const committed = [...ended].filter(([, { status }]) => status === "committed");
	const counts = new Map<string, number>();
	for (const [table, { status, error }] of ended) {
		const outcome = error?.code ?? status;
		counts.set(outcome, (counts.get(outcome) ?? 0) + 1);
		if (table.startsWith("whole")) expect([table, outcome]).toEqual([table, "committed"]);
		if (error === undefined) continue;
		if (error.code === "internal")
			expect([table, error.detail]).toEqual([table, expect.stringContaining("died")]);
		else expect([table, error.detail, codes.has(error.code)]).toEqual([table, error.detail, true]);
	}
	console.log(`${mutants} damaged files:`, Object.fromEntries(counts));
	// Every value is printed: one that its type can't hold would end the process that reads it.
	const looks = committed.map(
		([table]) =>
			`SELECT '${table}' AS t, count(*)::INT AS n, bit_xor(hash(row::VARCHAR))::VARCHAR AS h FROM ${table} AS row`,
	);
	const found = await query(world.database, `SELECT t, n FROM (${looks.join(" UNION ALL ")})`);
	expect(new Map(found as [string, number][])).toEqual(
		new Map(committed.map(([table, { rows_inserted }]) => [table, rows_inserted])),
	);
	const there = "SELECT table_name FROM duckdb_tables() WHERE schema_name = 'main'";
	expect(new Set((await query(world.database, there)).flat())).toEqual(
		new Set(committed.map(([table]) => table)),
	);
	expect(
		await query(
			world.database,
			"SELECT count(*)::INT, count(DISTINCT load_id)::INT FROM _duckdock.loads",
		),
	).toEqual([[committed.length, committed.length]]);
});
