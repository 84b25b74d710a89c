/**
 * README's table of types, made by loads and not by hand: one column of each type
 * in one stream, and what the receipt says became of it. `UPDATE_README=1` writes it.
 */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { afterAll, describe, expect, it } from "vitest";
import type { ArrowType, Field } from "../../src/arrow/types.ts";
import { extension, field, int } from "../unit/arrow/support/arrays.ts";
import { writeStream } from "../unit/arrow/support/write-ipc.ts";
import { cliJson, query, root } from "./world.ts";

const readmePath = join(root, "README.md");
const begin = "<!-- types: begin -->";
const end = "<!-- types: end -->";

const of = (type: ArrowType, more: Partial<Field> = {}) => field("", type, more);
const kind = (name: "utf8" | "binary" | "list" | "null" | "bool") => ({ kind: name }) as ArrowType;
const item = field("item", int(32));
const point = [field("x", { kind: "float", bits: 64 }), field("y", { kind: "float", bits: 64 })];
const decimal = (bits: 32 | 64 | 128 | 256, precision: number, scale: number) =>
	of({ kind: "decimal", bits, precision, scale });
const entries = field(
	"entries",
	{ kind: "struct" },
	{
		nullable: false,
		children: [field("key", kind("utf8"), { nullable: false }), field("value", int(64))],
	},
);

/** Rows of the table: types that land alike stand together. */
const groups: Field[][] = [
	([8, 16, 32, 64] as const).map((bits) => of(int(bits))),
	([8, 16, 32, 64] as const).map((bits) => of(int(bits, false))),
	[of(kind("bool")), of(int(8), { metadata: extension("arrow.bool8") })],
	([16, 32, 64] as const).map((bits) => of({ kind: "float", bits })),
	[
		decimal(32, 9, 2),
		decimal(64, 18, 4),
		decimal(128, 38, 10),
		decimal(256, 38, 10),
		decimal(128, 10, -2),
	],
	(["utf8", "large_utf8", "utf8_view"] as const).map((name) => of({ kind: name })),
	[
		...(["binary", "large_binary", "binary_view"] as const).map((name) => of({ kind: name })),
		of({ kind: "fixed_size_binary", byteWidth: 7 }),
	],
	[of({ kind: "date", unit: "day" }), of({ kind: "date", unit: "ms" })],
	[
		of({ kind: "time", bits: 32, unit: "s" }),
		of({ kind: "time", bits: 32, unit: "ms" }),
		of({ kind: "time", bits: 64, unit: "us" }),
		of({ kind: "time", bits: 64, unit: "ns" }),
	],
	(["s", "ms", "us", "ns"] as const).map((unit) => of({ kind: "timestamp", unit, zone: null })),
	(["us", "ns"] as const).map((unit) => of({ kind: "timestamp", unit, zone: "UTC" })),
	[
		of({ kind: "duration", unit: "us" }),
		...(["month", "day_time", "month_day_nano"] as const).map((unit) =>
			of({ kind: "interval", unit }),
		),
	],
	[
		of(kind("list"), { children: [item] }),
		of({ kind: "large_list" }, { children: [item] }),
		of({ kind: "list_view" }, { children: [item] }),
		of({ kind: "large_list_view" }, { children: [item] }),
	],
	[of({ kind: "fixed_size_list", size: 3 }, { children: [item] })],
	[of({ kind: "struct" }, { children: point })],
	[of({ kind: "map", keysSorted: false }, { children: [entries] })],
	(["sparse", "dense"] as const).map((mode) =>
		of(
			{ kind: "union", mode, typeIds: [0, 1] },
			{ children: [field("i", int(32)), field("s", kind("utf8"))] },
		),
	),
	[
		of(kind("utf8"), { dictionary: { id: 1n, indexType: int(32), ordered: false } }),
		of(
			{ kind: "run_end_encoded" },
			{
				children: [field("run_ends", int(32), { nullable: false }), field("values", kind("utf8"))],
			},
		),
	],
	[of(kind("null"))],
	[of({ kind: "fixed_size_binary", byteWidth: 16 }, { metadata: extension("arrow.uuid") })],
	[of(kind("utf8"), { metadata: extension("arrow.json") })],
	[
		of(kind("binary"), { metadata: extension("geoarrow.wkb") }),
		of(kind("binary"), { metadata: extension("ogc.wkb") }),
		of(kind("utf8"), { metadata: extension("geoarrow.wkt") }),
		of({ kind: "struct" }, { children: point, metadata: extension("geoarrow.point") }),
	],
];

const folder = mkdtempSync(join(tmpdir(), "duckdock-types-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

async function makeTable(): Promise<string> {
	const fields = groups.flat().map((one, at) => ({ ...one, name: `c${at}` }));
	const path = join(folder, "types.arrow");
	writeFileSync(path, writeStream(fields, []));
	const database = join(folder, "types.duckdb");
	const { code, json } = await cliJson(["load", path, "--db", database, "--table", "t"]);
	expect(code, JSON.stringify(json)).toBe(0);
	// What the receipt says is what the table has.
	const described = await query(
		database,
		"SELECT column_name, data_type FROM duckdb_columns() WHERE table_name = 't' ORDER BY column_index",
	);
	const columns: { name: string; arrow_type: string; duckdb_type: string }[] = json.columns;
	expect(described).toEqual(columns.map((column) => [column.name, column.duckdb_type]));
	let at = 0;
	const rows = groups.map((group) => {
		const mine = columns.slice(at, at + group.length);
		at += group.length;
		const unique = (texts: string[]) => [...new Set(texts)].map((text) => `\`${text}\``).join(", ");
		return [
			unique(mine.map((column) => column.arrow_type)),
			unique(mine.map((column) => column.duckdb_type)),
		];
	});
	return [
		"| Arrow | DuckDB |",
		"| --- | --- |",
		...rows.map(([arrow, duckdb]) => `| ${arrow} | ${duckdb} |`),
	].join("\n");
}

describe("README's table of types", () => {
	it("is what loads make of each type", async () => {
		const table = await makeTable();
		const readme = readFileSync(readmePath, "utf8");
		const start = readme.indexOf(begin) + begin.length;
		if (process.env.UPDATE_README === "1") {
			writeFileSync(
				readmePath,
				`${readme.slice(0, start)}\n${table}\n${readme.slice(readme.indexOf(end))}`,
			);
			return;
		}
		expect(readme.slice(start, readme.indexOf(end)).trim()).toBe(table);
	});
});
