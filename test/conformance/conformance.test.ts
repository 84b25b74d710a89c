/**
 * Every Arrow file of other writers through the service's own code into DuckDB,
 * and back by plain SQL, cell by cell against references that are not ours.
 */

import { availableParallelism } from "node:os";
import { beforeAll, describe, expect, it } from "vitest";
import { errorCodes } from "../../src/errors.ts";
import { refusedWithReason } from "./exceptions.ts";
import type { FileOutcome } from "./file-outcome.ts";
import { type FixtureRow, fixturesAreHere, fixturesFolder, readIndex } from "./fixtures.ts";
import { runFiles } from "./run-files.ts";

const isHere = fixturesAreHere();
if (!isHere) console.warn(`SKIPPED: conformance needs ${fixturesFolder}, which is not here`);

const index = isHere ? readIndex() : [];
/** What goes with the files: values, WKT, a manifest. */
const isReference = (row: FixtureRow) =>
	row.expect === "expected values" || row.expect === "description";
const files = index.filter((row) => !isReference(row));

const outcomes = new Map<string, FileOutcome>();

beforeAll(async () => {
	if (!isHere) return;
	const results = await runFiles(files, Math.min(2, availableParallelism()));
	for (const [at, outcome] of results.entries()) outcomes.set(files[at]!.path, outcome);
	printTable();
}, 900_000);

describe.skipIf(!isHere)("files of other writers", () => {
	it.each(files.map((row) => [row.path, row.expect, row] as const))("%s: %s", (path, _, row) => {
		const outcome = outcomes.get(path)!;
		const told = `${outcome.code} ${outcome.detail}`;
		expect(["died", "threw"], told).not.toContain(outcome.code);
		expect(outcome.differences).toEqual([]);
		if (outcome.code !== "ok") expect(Object.keys(errorCodes), told).toContain(outcome.code);

		const exception = refusedWithReason.find((entry) => entry.path.test(path));
		if (exception) expect(exception.codes, told).toContain(outcome.code);
		else if (row.expect === "accept") expect(outcome.code, told).toBe("ok");
		else if (/^reject( \(|$)/.test(row.expect)) expect(outcome.code).not.toBe("ok");

		expect(outcome.streamed).toBe(outcome.code === "ok" ? "same" : outcome.code);
	});

	it("each exception is needed", () => {
		for (const { path, codes } of refusedWithReason) {
			const matching = files.filter((row) => path.test(row.path));
			expect(matching.length, String(path)).toBeGreaterThan(0);
			const found = new Set(matching.map((row) => outcomes.get(row.path)!.code));
			expect([...found].every((code) => codes.includes(code))).toBe(true);
		}
	});

	it("all loaded files but a handful were judged cell by cell by another reader", () => {
		const judged = /^(golden|flechette|wkt|geometry)$/;
		const unjudged = [...outcomes]
			.filter(([, outcome]) => outcome.code === "ok")
			.filter(([, outcome]) => !outcome.references.some((reference) => judged.test(reference)))
			.map(([path, outcome]) => `${path}: ${outcome.references}`);
		expect(unjudged.length, unjudged.join("\n")).toBeLessThan(5);
	});

	it("every geometry lands as GEOMETRY", () => {
		const geometry = files.filter((row) => /ext:(geoarrow\.|WKB|WKT)/.test(row.exercises));
		expect(geometry.length).toBeGreaterThan(170);
		const others = geometry
			.filter((row) => !outcomes.get(row.path)!.types.some((type) => type.startsWith("GEOMETRY")))
			.map((row) => row.path);
		expect(others).toEqual([]);
	});
});

/** How many of each kind load, and with which code the others are refused. */
function printTable(): void {
	const table: Record<string, Record<string, number>> = {};
	for (const row of files) {
		const { code, differences } = outcomes.get(row.path)!;
		const key = `${row.kind}: ${row.expect}`;
		table[key] ??= {};
		const outcome = code === "ok" && differences.length > 0 ? "wrong" : code;
		table[key][outcome] = (table[key][outcome] ?? 0) + 1;
	}
	const lines = Object.entries(table)
		.sort(([a], [b]) => a.localeCompare(b))
		.map(([key, counts]) => {
			const told = Object.entries(counts).map(([code, count]) => `${count} ${code}`);
			return `  ${key.padEnd(100)} ${told.join(", ")}`;
		});
	console.log(`conformance, ${files.length} files:\n${lines.join("\n")}`);
}
