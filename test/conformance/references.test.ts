/** The references and the comparison themselves: what is wrong must be seen as wrong. */

import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import type { Receipt } from "../../src/flow.ts";
import { type Canonical, decimal, firstDifference, float, integer } from "./canonical.ts";
import { compare, type LoadedTable } from "./compare.ts";
import { fixturePath, fixturesAreHere, readIndex } from "./fixtures.ts";
import { oneSpelling, wktReference } from "./geo-reference.ts";
import { bytesSource, Loader } from "./load-bytes.ts";
import { readTable } from "./read-table.ts";

describe("the common notation", () => {
	it("tells values apart that are not equal, and no others", () => {
		expect(decimal(1200n, 3)).toBe(decimal(12n, 1));
		expect(decimal(-120n, 0)).not.toBe(decimal(-12n, 0));
		expect(decimal(0n, 5)).toBe(decimal(0n, 0));
		expect(float(Number.NaN)).toBe(float(Number.NaN));
		expect(float(1)).not.toBe(integer(1));
		expect(firstDifference(["a", null], ["a", "b"])).toMatchObject({ row: 1 });
		expect(firstDifference(["a"], ["a", "b"])).toMatchObject({ row: 1 });
		expect(firstDifference([["a"]], [["a"]])).toBeNull();
	});

	it("one geometry has one spelling", () => {
		expect(oneSpelling("multipoint z ((1 2 3), ( 4.0 5 6 ))")).toBe("MULTIPOINT Z(1 2 3,4 5 6)");
		expect(oneSpelling("MULTIPOINT Z (1 2 3, 4 5 6)")).toBe("MULTIPOINT Z(1 2 3,4 5 6)");
		expect(oneSpelling("GEOMETRYCOLLECTION (MULTIPOINT ((1 2)), POINT EMPTY)")).toBe(
			"GEOMETRYCOLLECTION(MULTIPOINT(1 2),POINT EMPTY)",
		);
		expect(oneSpelling("POINT (1 2)")).not.toBe(oneSpelling("POINT (2 1)"));
		const cell: Canonical = [
			[
				{ x: "f:1", y: "f:2" },
				{ x: "f:3", y: "f:4" },
			],
		];
		expect(wktReference("geoarrow.polygon", [cell, null, []], ["x", "y"])).toEqual([
			oneSpelling("POLYGON ((1 2, 3 4))"),
			null,
			oneSpelling("POLYGON EMPTY"),
		]);
	});
});

describe.skipIf(!fixturesAreHere())("the comparison", () => {
	it.each([
		["cpp-21.0.0/generated_nested.stream", ["golden", "flechette"]],
		["files/example_polygon-zm.arrows", ["wkt", "flechette", "geometry"]],
	])("of %s sees one changed cell", async (suffix, references) => {
		const row = readIndex().find(({ path }) => path.endsWith(suffix))!;
		const loader = new Loader();
		try {
			const bytes = new Uint8Array(readFileSync(fixturePath(row)));
			const receipt: Receipt = await loader.load(
				[bytesSource(bytes)],
				"t",
				AbortSignal.timeout(30_000),
			);
			const table = await readTable(loader, "t");
			const right = compare(row, receipt, table);
			expect(right).toEqual({ differences: [], references });
			const at = table.columns.length - 1;
			const changed: LoadedTable = {
				...table,
				columns: table.columns.map((column, i) =>
					i === at ? column.map((cell, k) => (k === 1 ? ["x"] : cell)) : column,
				),
				geometry: new Map(
					[...table.geometry].map(([name, texts]) => [
						name,
						texts.map((text, k) => (k === 1 ? "POINT ZM (1 2 3 4)" : text)),
					]),
				),
			};
			expect(compare(row, receipt, changed).differences.length).toBeGreaterThan(0);
			const short = { ...table, columns: table.columns.map((column) => column.slice(1)) };
			expect(compare(row, receipt, short).differences.join()).toContain("rows");
		} finally {
			await loader.remove();
		}
	});
});
