import { DOUBLE, INTEGER, VARCHAR } from "@duckdb/node-api";
import { describe, expect, test } from "vitest";
import type { IngestError } from "../../../../src/errors.ts";
import type { LoadParameters } from "../../../../src/flow.ts";
import { checkNames, positionsToScan } from "../../../../src/insert/duckdb/check-load.ts";
import { planInsert, type ScannedColumn } from "../../../../src/insert/duckdb/insert-plan.ts";
import type { TargetColumn, TargetTable } from "../../../../src/insert/duckdb/target-table.ts";
import { field } from "../../../contract/arrow-columns.ts";

const parameters = (more: Partial<LoadParameters> = {}): LoadParameters => ({
	table: { schema: 'odd"schema', table: "t" },
	mode: "create_append",
	on_extra_columns: "error",
	dry_run: false,
	require_eos: false,
	rows: null,
	idempotency_key: null,
	...more,
});
const utf8 = (name: string, nullable = true) => field(name, { kind: "utf8" }, { nullable });
const scan = (...names: string[]): ScannedColumn[] =>
	names.map((name) => ({ field: utf8(name), type: VARCHAR, typeText: "VARCHAR" }));
const column = (name: string, more: Partial<TargetColumn> = {}): TargetColumn => ({
	name,
	type: VARCHAR,
	typeText: "VARCHAR",
	nullable: true,
	default: null,
	generated: false,
	...more,
});
const table = (...columns: TargetColumn[]): TargetTable => ({
	name: { schema: "main", table: "T" },
	kind: "table",
	columns,
});
const plan = (
	scanned: ScannedColumn[],
	existing: TargetTable | null,
	more: Partial<LoadParameters> = {},
) =>
	planInsert({
		catalog: "target",
		parameters: parameters(more),
		sentFields: scanned.map((one) => one.field),
		scanned,
		existing,
		schema: existing ? "main" : null,
	});
const refusal = (work: () => unknown): IngestError => {
	try {
		work();
	} catch (error) {
		return error as IngestError;
	}
	throw new Error("nothing was refused");
};

describe("planInsert", () => {
	test("quotes every name, makes a missing schema, keeps NOT NULL", () => {
		const scanned: ScannedColumn[] = [
			{ field: utf8('a"; DROP', false), type: VARCHAR, typeText: "VARCHAR" },
			{ field: utf8("b"), type: INTEGER, typeText: "INTEGER" },
		];
		const { ddl, target, created_table } = plan(scanned, null);
		expect(ddl).toEqual([
			{ run: 'CREATE SCHEMA "target"."odd""schema"', shown: 'CREATE SCHEMA "odd""schema"' },
			{
				run: 'CREATE TABLE "target"."odd""schema"."t" ("a""; DROP" VARCHAR NOT NULL, "b" INTEGER)',
				shown: 'CREATE TABLE "odd""schema"."t" ("a""; DROP" VARCHAR NOT NULL, "b" INTEGER)',
			},
		]);
		expect([target, created_table]).toEqual(['"target"."odd""schema"."t"', true]);
	});

	test("replace takes its columns from the upload alone", () => {
		const { ddl, created_table, replaces, columns_defaulted } = plan(
			scan("new"),
			table(column("old", { nullable: false })),
			{ mode: "replace" },
		);
		expect(ddl[0]?.shown).toBe('CREATE OR REPLACE TABLE "main"."T" ("new" VARCHAR)');
		expect([created_table, replaces, columns_defaulted]).toEqual([false, true, []]);
	});

	test("lists every column that does not fit, with its reason, and the first as the column at fault", () => {
		const error = refusal(() =>
			plan(
				scan("extra", "g", "blob"),
				table(
					column("need", { nullable: false }),
					column("g", { generated: true }),
					column("blob", { typeText: "DOUBLE[]" }),
				),
			),
		);
		expect([error.code, error.place.column]).toEqual(["schema_mismatch", "extra"]);
		expect((error.extra.columns as { column: string }[]).map((one) => one.column)).toEqual([
			"extra",
			"g",
			"need",
		]);
	});

	test("what is missing and may be is defaulted; what is missing and generated is not named", () => {
		const { columns_defaulted } = plan(
			scan("a"),
			table(
				column("A"),
				column("b"),
				column("c", { nullable: false, default: "1" }),
				column("g", { generated: true }),
			),
		);
		expect(columns_defaulted).toEqual(["b", "c"]);
	});

	test("the receipt's column has the name as sent and the type of the target", () => {
		const existing = table(column("A", { type: DOUBLE, typeText: "DOUBLE" }));
		const { columns, warnings } = plan(scan("a"), existing);
		expect(columns).toEqual([{ name: "a", arrow_type: "string", duckdb_type: "DOUBLE" }]);
		expect(warnings).toMatchObject([{ code: "lossy_cast", column: "a" }]);
	});
});

describe("positionsToScan", () => {
	const fields = [utf8("x"), utf8("A"), utf8("g"), utf8("b")];
	const existing = table(column("a"), column("b"), column("g", { generated: true }));

	test("leaves out what the table has no place for, under ignore alone", () => {
		const ignore = parameters({ on_extra_columns: "ignore" });
		expect(positionsToScan(fields, ignore, existing)).toEqual([1, 3]);
		expect(positionsToScan(fields, parameters(), existing)).toEqual([0, 1, 2, 3]);
		expect(positionsToScan(fields, ignore, null)).toEqual([0, 1, 2, 3]);
		const replace = parameters({ on_extra_columns: "ignore", mode: "replace" });
		expect(positionsToScan(fields, replace, existing)).toEqual([0, 1, 2, 3]);
	});
});

describe("checkNames", () => {
	test("names that differ by ASCII case alone are duplicate_column, no columns are invalid_arrow", () => {
		expect(refusal(() => checkNames([utf8("a"), utf8("b"), utf8("A")])).code).toBe(
			"duplicate_column",
		);
		expect(refusal(() => checkNames([])).code).toBe("invalid_arrow");
		expect(() => checkNames([utf8("ä"), utf8("Ä")])).not.toThrow();
	});
});
