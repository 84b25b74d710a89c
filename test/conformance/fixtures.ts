/** The folder of other writers' files and its index, one row a file. */

import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";

/** Beside the repository; tests that need it skip loudly where it isn't. */
export const fixturesFolder = new URL("../../../shared/fixtures", import.meta.url).pathname;

export interface FixtureRow {
	path: string;
	format: string;
	kind: string;
	exercises: string;
	expected_rows: string;
	expected_cols: string;
	schema: string;
	null_counts: string;
	expect: string;
}

export function fixturesAreHere(): boolean {
	return existsSync(join(fixturesFolder, "INDEX.tsv"));
}

export function readIndex(): FixtureRow[] {
	const [head, ...lines] = readFileSync(join(fixturesFolder, "INDEX.tsv"), "utf8")
		.trimEnd()
		.split("\n");
	const names = head!.split("\t");
	return lines.map((line) => {
		const cells = line.split("\t");
		return Object.fromEntries(
			names.map((name, i) => [name, cells[i] ?? ""]),
		) as unknown as FixtureRow;
	});
}

export function fixturePath(row: FixtureRow): string {
	return join(fixturesFolder, row.path);
}
