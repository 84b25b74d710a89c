/** The texts are DuckDB 1.5.5's own, as the contract tests of the sink meet them. */
import { describe, expect, test } from "vitest";
import { IngestError } from "../../../../src/errors.ts";
import {
	isInstanceLost,
	TransactionConflict,
	toIngestError,
} from "../../../../src/insert/duckdb/engine-errors.ts";

const columns = [
	{ name: "id", arrow_type: "int64", duckdb_type: "INTEGER" },
	{ name: "a.b", arrow_type: "string", duckdb_type: "VARCHAR" },
];
const told = (text: string) =>
	toIngestError(new Error(text), { table: "t.x", columns, path: "/srv/db/acme.duckdb" });

describe("toIngestError", () => {
	test.each([
		["Constraint Error: NOT NULL constraint failed: t.x.a.b", "constraint_violation", "a.b"],
		[
			'Constraint Error: Duplicate key "ID: 1" violates primary key constraint.',
			"constraint_violation",
			"id",
		],
		[
			'Constraint Error: Duplicate key "id: 1, other: 2" violates primary key constraint.',
			"constraint_violation",
			undefined,
		],
		[
			"Constraint Error: CHECK constraint failed on table t with expression CHECK((d < 10))",
			"constraint_violation",
			undefined,
		],
		[
			'TransactionContext Error: Failed to commit: PRIMARY KEY or UNIQUE constraint violation: duplicate key "1"',
			"constraint_violation",
			undefined,
		],
		[
			"Conversion Error: Could not convert string 'abc' to INT32 when casting from source column id\n\nLINE 1: insert into t\n        ^",
			"cast_failed",
			"id",
		],
		["Out of Range Error: Positive bignum too large for type", "cast_failed", undefined],
		[
			'Dependency Error: Cannot drop entry "p" because there are entries that depend on it.',
			"constraint_violation",
			undefined,
		],
		[
			"Out of Memory Error: could not allocate block of size 256.0 KiB (38.1 MiB/38.1 MiB used)",
			"target_unavailable",
			undefined,
		],
		[
			'IO Error: Could not write file "/srv/db/acme.duckdb": No space left on device',
			"target_unavailable",
			undefined,
		],
		[
			'TransactionContext Error: Failed to commit: Could not write file "/srv/db/acme.duckdb.wal": No space left on device',
			"target_unavailable",
			undefined,
		],
		[
			'Invalid Input Error: Cannot execute statement of type "INSERT" on database "target" which is attached in read-only mode!',
			"target_unavailable",
			undefined,
		],
		["Binder Error: something new", "internal", undefined],
	])("%s is %s", (text, code, column) => {
		const error = told(text) as IngestError;
		expect([error.code, error.place.column]).toEqual([code, column]);
		expect(error.message).not.toContain("/srv/db");
		expect(error.message).not.toContain("LINE 1");
	});

	test("a column at fault comes with its types", () => {
		expect(
			(told("Conversion Error: x when casting from source column ID") as IngestError).place,
		).toEqual({ column: "id", arrow_type: "int64", target_type: "INTEGER" });
	});

	test.each([
		'TransactionContext Error: Catalog write-write conflict on create with "Schema\\0main\\0main\\0Table\\0main\\0r"',
		'TransactionContext Error: Transaction conflict: attempting to insert into table "r" but it has been altered by a different transaction',
		'TransactionContext Error: Failed to commit: Transaction conflict: attempting to insert into table "r" but it has been dropped by a different transaction',
	])("%s is a lost race", (text) => {
		expect(told(text)).toBeInstanceOf(TransactionConflict);
	});

	test.each([
		[
			"Conversion Error: Could not convert string 'No space left: constraint conflict' to INT32",
			"cast_failed",
		],
		[
			'TransactionContext Error: Failed to commit: PRIMARY KEY or UNIQUE constraint violation: duplicate key "Could not write"',
			"constraint_violation",
		],
	])("a value that reads like another error changes nothing: %s", (text, code) => {
		expect((told(text) as IngestError).code).toBe(code);
		expect(isInstanceLost(new Error(text))).toBe(false);
	});

	test("errors of ours pass through", () => {
		const error = new IngestError("invalid_arrow", "x");
		expect(toIngestError(error)).toBe(error);
	});
});

describe("isInstanceLost", () => {
	test.each([
		"FATAL Error: Failed: database has been invalidated because of a previous fatal error.",
		"INTERNAL Error: Attempted to dereference shared_ptr that is NULL!",
		'IO Error: Database "target" has been invalidated because checkpointing failed.',
	])("%s, also as the cause of another error", (text) => {
		expect(isInstanceLost(new Error(text))).toBe(true);
		expect(isInstanceLost(told(text))).toBe(true);
	});

	test("errors of the data leave the instance as it is", () => {
		expect(isInstanceLost(new Error("Constraint Error: Duplicate key"))).toBe(false);
		expect(isInstanceLost(new IngestError("invalid_arrow", "x"))).toBe(false);
	});
});
