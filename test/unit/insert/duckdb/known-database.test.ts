import { describe, expect, it } from "vitest";
import { createKnownDatabase } from "../../../../src/insert/duckdb/known-database.ts";
import type { TargetTable } from "../../../../src/insert/duckdb/target-table.ts";
import { tableKey } from "../../../../src/table-name.ts";

const name = { schema: "main", table: "T" };
const table: TargetTable = { name, kind: "table", columns: [] };

describe("what is known of a database that nobody else changes", () => {
	it("is a table by any spelling of its name, as it was asked for", () => {
		const known = createKnownDatabase(true);
		known.reading().table(table);
		expect(known.table({ schema: "MAIN", table: "t" })).toEqual({
			...table,
			name: { schema: "MAIN", table: "t" },
		});
		expect(known.table({ schema: "main", table: "u" })).toBeNull();
	});

	it("is no view, which may become a table without a look", () => {
		const known = createKnownDatabase(true);
		known.reading().table({ ...table, kind: "view" });
		expect(known.table(name)).toBeNull();
	});

	it("is forgotten before tables change, and what was read meanwhile is not kept", () => {
		const known = createKnownDatabase(true);
		const before = known.reading();
		before.table(table);
		const over = known.changing();
		expect(known.table(name)).toBeNull();
		before.table(table);
		const meanwhile = known.reading();
		meanwhile.table(table);
		expect(known.table(name)).toBeNull();
		over();
		before.table(table);
		meanwhile.table(table);
		expect(known.table(name)).toBeNull();
		known.reading().table(table);
		expect(known.table(name)).toEqual(table);
	});

	it("counts rows on from a count, with what each COMMIT added", () => {
		const known = createKnownDatabase(true);
		known.committing()(new Map([[tableKey(name), 5]]));
		expect(known.rows(name)).toBeNull();
		known.reading().rows(name, 100);
		known.committing()(new Map([[tableKey(name), 5]]));
		expect(known.rows({ schema: "Main", table: "t" })).toBe(105);
	});

	it("keeps no count that a COMMIT overlaps, and none after a COMMIT that nobody knows the end of", () => {
		const known = createKnownDatabase(true);
		const before = known.reading();
		const done = known.committing();
		const meanwhile = known.reading();
		meanwhile.rows(name, 7);
		done(new Map());
		before.rows(name, 7);
		meanwhile.rows(name, 7);
		expect(known.rows(name)).toBeNull();
		known.reading().rows(name, 7);
		known.committing()(null);
		expect(known.rows(name)).toBeNull();
	});

	it("is nothing where others may change it", () => {
		const known = createKnownDatabase(false);
		known.reading().table(table);
		known.reading().rows(name, 1);
		known.ledger = true;
		expect([known.table(name), known.rows(name), known.ledger]).toEqual([null, null, false]);
	});
});
