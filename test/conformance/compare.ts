/**
 * Is what a load left in its table what the file holds? In: a row of the index and
 * what was read back. Out: differences as text, none when all is right, and which
 * references they were judged by.
 */

import { existsSync, readFileSync } from "node:fs";
import type { Receipt } from "../../src/flow.ts";
import { type Canonical, firstDifference } from "./canonical.ts";
import { type FlechetteTable, readFlechette } from "./canonical-flechette.ts";
import { readGolden } from "./canonical-golden.ts";
import { sameValuesAs } from "./exceptions.ts";
import { type FixtureRow, fixturePath } from "./fixtures.ts";
import { oneSpelling, wktReference } from "./geo-reference.ts";

export interface LoadedTable {
	names: string[];
	types: string[];
	columns: Canonical[][];
	/** WKT of geometry columns by name. */
	geometry: Map<string, (string | null)[]>;
}

export interface Verdict {
	differences: string[];
	/** `golden`, `flechette`, `wkt`, `geometry`; or why one of them could not judge. */
	references: string[];
}

export function compare(row: FixtureRow, receipt: Receipt, table: LoadedTable): Verdict {
	const verdict: Verdict = { differences: [], references: [] };
	compareCounts(row, receipt, table, verdict);
	const path = fixturePath(row);
	const golden = path.replace(/\.(stream|arrow_file)$/, ".json.gz");
	if (golden !== path && existsSync(golden)) {
		const { names, columns } = readGolden(golden);
		verdict.references.push("golden");
		compareColumns("golden", names, columns, receipt, table, verdict);
	}
	const wkt = path.replace(/(_wkb|_wkt|_interleaved)?\.arrows$/, ".tsv");
	if (wkt !== path && existsSync(wkt)) {
		verdict.references.push("wkt");
		compareWkt(readFileSync(wkt, "utf8"), table, verdict);
	}
	const isBigEndian = row.path.includes("bigendian");
	if (!isBigEndian) compareFlechette(path, receipt, table, verdict);
	return verdict;
}

function compareCounts(row: FixtureRow, receipt: Receipt, table: LoadedTable, verdict: Verdict) {
	const { differences } = verdict;
	const rows = table.columns[0]?.length ?? 0;
	if (receipt.rows_inserted !== rows || receipt.rows_streamed !== rows) {
		differences.push(`${receipt.rows_inserted} rows in the receipt, ${rows} in the table`);
	}
	if (/^\d+$/.test(row.expected_rows) && Number(row.expected_rows) !== rows) {
		differences.push(`${rows} rows, expected ${row.expected_rows}`);
	}
	if (/^\d+$/.test(row.expected_cols) && Number(row.expected_cols) !== table.names.length) {
		differences.push(`${table.names.length} columns, expected ${row.expected_cols}`);
	}
	if (row.null_counts === "") return;
	const expected = row.null_counts
		.replace(/[[\] ]/g, "")
		.split(",")
		.map(Number);
	const actual = table.columns.map((column) => column.filter((cell) => cell === null).length);
	if (expected.join() !== actual.join()) {
		differences.push(`null counts ${actual}, expected ${expected}`);
	}
}

/**
 * Cells of a column that the receipt says were cut to microseconds, cut as DuckDB
 * does: towards zero.
 */
function asWarned(name: string, cells: Canonical[], receipt: Receipt): Canonical[] {
	const isCut = receipt.warnings.some(
		({ code, column }) =>
			column === name && (code === "timestamp_ns_tz_truncated" || code === "lossy_cast"),
	);
	if (!isCut) return cells;
	return cells.map((cell) => {
		if (typeof cell !== "string") return cell;
		return cell.replace(/^(ts:|iv:.*d)(-?\d+)(ns)?$/, (_, head: string, nanoseconds, tail = "") => {
			const microseconds = BigInt(nanoseconds as string) / 1000n;
			return `${head}${microseconds * 1000n}${tail}`;
		});
	});
}

function compareColumns(
	reference: string,
	names: string[],
	columns: Canonical[][],
	receipt: Receipt,
	table: LoadedTable,
	{ differences }: Verdict,
	skip: (name: string) => boolean = () => false,
): void {
	if (names.join("\n") !== table.names.join("\n")) {
		differences.push(`${reference}: columns ${names}, in the table ${table.names}`);
		return;
	}
	for (const [at, name] of names.entries()) {
		if (skip(name)) continue;
		const expected = asWarned(name, columns[at]!, receipt);
		const found = firstDifference(expected, table.columns[at]!);
		if (found === null) continue;
		differences.push(
			`${reference}: ${name} (${table.types[at]}) row ${found.row}: ${found.actual}, expected ${found.expected}`,
		);
	}
}

function compareFlechette(
	path: string,
	receipt: Receipt,
	table: LoadedTable,
	verdict: Verdict,
): void {
	const [, folder, file] = /^(.*\/)([^/]*)$/.exec(path)!;
	const readable = folder + (sameValuesAs[file!] ?? file);
	let read: FlechetteTable;
	try {
		read = readFlechette(new Uint8Array(readFileSync(readable)));
	} catch (error) {
		verdict.references.push(`flechette can't: ${error instanceof Error ? error.message : error}`);
		return;
	}
	// Of concatenated streams it reads the first.
	if ((read.columns[0]?.length ?? 0) < (table.columns[0]?.length ?? 0)) {
		verdict.references.push("flechette reads the first stream only");
		return;
	}
	verdict.references.push("flechette");
	compareColumns("flechette", read.names, read.columns, receipt, table, verdict, (name) =>
		table.geometry.has(name),
	);
	for (const [at, name] of read.names.entries()) {
		const texts = table.geometry.get(name);
		if (!texts) continue;
		const dimensions = read.leaves[at]!.length === 1 ? [...read.leaves[at]![0]!] : read.leaves[at]!;
		const wkt = wktReference(read.extensions[at] ?? "geoarrow.wkb", read.columns[at]!, dimensions);
		const found =
			wkt === null
				? firstDifference(read.columns[at]!, table.columns[at]!)
				: firstDifference(
						wkt,
						texts.map((text) => (text === null ? null : oneSpelling(text))),
					);
		verdict.references.push("geometry");
		if (found) {
			verdict.differences.push(
				`geometry: ${name} row ${found.row}: ${found.actual}, expected ${found.expected}`,
			);
		}
	}
}

/** The specification's own examples: one WKT a line under the column's name, an empty line a null. */
function compareWkt(tsv: string, table: LoadedTable, { differences }: Verdict): void {
	const [name, ...lines] = tsv.replace(/\n$/, "").split("\n");
	const actual = table.geometry.get(name!);
	if (!actual) {
		differences.push(`wkt: ${name} is ${table.types[table.names.indexOf(name!)]}, not GEOMETRY`);
		return;
	}
	const expected = lines.map((line) => (line === "" ? null : oneSpelling(line)));
	const spelled = actual.map((wkt) => (wkt === null ? null : oneSpelling(wkt)));
	const found = firstDifference(expected, spelled);
	if (found) differences.push(`wkt: row ${found.row}: ${found.actual}, expected ${found.expected}`);
}
