/** The promises of `BatchSink` on a DuckDB file, with the real addon: what is there afterwards is read by an instance that the sink doesn't know. */
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { IngestError } from "../../src/errors.ts";
import { loadModes } from "../../src/flow.ts";
import { attachDatabase } from "../../src/insert/duckdb/attached-database.ts";
import { ensureLedger, ledgerOf } from "../../src/insert/duckdb/ledger.ts";
import { runLoads } from "../../src/insert/duckdb/load-transaction.ts";
import { createSemaphore } from "../../src/insert/duckdb/semaphore.ts";
import { tenantTarget } from "../../src/insert/duckdb/targets.ts";
import { parseTarget } from "../../src/target-template.ts";
import { binary, float64, int32, int64, struct, timestamp, utf8 } from "./arrow-columns.ts";
import { jobOf, SinkFixture } from "./sink-fixture.ts";

let at: SinkFixture;
beforeEach(() => {
	at = new SinkFixture();
});
afterEach(() => at.remove());

const broken = () => new IngestError("invalid_arrow", "broken", { column: "id", batch: 7 });
const twoRows = () => [int32("id", [1, 2]), utf8("name", ["a", null])];

describe("modes", () => {
	test.each(loadModes.filter((mode) => mode !== "append"))(
		"%s makes a table that is missing",
		async (mode) => {
			const receipt = await at.insert({ mode, columns: twoRows() });
			expect(receipt).toMatchObject({
				status: "committed",
				rows_inserted: 2,
				rows_streamed: 2,
				created_table: true,
				columns: [
					{ name: "id", arrow_type: "int32", duckdb_type: "INTEGER" },
					{ name: "name", arrow_type: "string", duckdb_type: "VARCHAR" },
				],
				engine: "duckdb v1.5.5",
			});
			expect(await at.sql("FROM t")).toEqual([
				[1, "a"],
				[2, null],
			]);
		},
	);

	test("append to a table that is missing is table_not_found and makes nothing", async () => {
		expect((await at.refusal({ mode: "append", columns: twoRows() })).code).toBe("table_not_found");
		expect(
			await at.sql("SELECT table_name FROM duckdb_tables() WHERE schema_name <> '_duckdock'"),
		).toEqual([]);
	});

	test("create of a table that is there, in any case of letters, is table_exists", async () => {
		await at.insert({ table: "Events", columns: twoRows() });
		const error = await at.refusal({ table: "eVENTS", mode: "create", columns: twoRows() });
		expect(error.code).toBe("table_exists");
		await at.insert({ table: "EVENTS", mode: "append", columns: twoRows() });
		expect(await at.sql("SELECT count(*) FROM events")).toEqual([["4"]]);
	});

	test("create_append and append add to a table that is there, replace swaps it", async () => {
		await at.insert({ columns: twoRows() });
		expect((await at.insert({ columns: twoRows() })).created_table).toBe(false);
		await at.insert({ mode: "append", columns: twoRows() });
		expect(await at.sql("SELECT count(*) FROM t")).toEqual([["6"]]);
		await at.insert({ mode: "replace", columns: [float64("x", [0.5])] });
		expect(await at.sql("FROM t")).toEqual([[0.5]]);
	});

	test("a load of no rows makes its table", async () => {
		expect((await at.insert({ columns: [int32("id", [])] })).rows_inserted).toBe(0);
		expect(await at.sql("SELECT count(*) FROM t")).toEqual([["0"]]);
	});

	test("columns that are not nullable in Arrow are NOT NULL in a new table", async () => {
		await at.insert({ columns: [int32("id", [1], { nullable: false }), utf8("name", [null])] });
		expect(
			await at.sql("SELECT column_name, is_nullable FROM duckdb_columns() WHERE table_name = 't'"),
		).toEqual([
			["id", false],
			["name", true],
		]);
	});

	test("a view by the target's name is table_exists, in append table_not_found", async () => {
		await at.sql("CREATE VIEW v AS SELECT 1 AS id");
		for (const mode of loadModes) {
			const error = await at.refusal({ table: "V", mode, columns: [int32("id", [1])] });
			expect(error.code).toBe(mode === "append" ? "table_not_found" : "table_exists");
		}
	});

	test.each(["_duckdock.loads", "_DUCKDOCK.x", "information_schema.x", "Pg_Catalog.x", "temp.x"])(
		"%s is forbidden_table in every mode",
		async (table) => {
			for (const mode of loadModes) {
				expect((await at.refusal({ table, mode, columns: twoRows() })).code).toBe(
					"forbidden_table",
				);
			}
		},
	);
});

describe("names", () => {
	const names = [
		"create",
		"select",
		'quo"te',
		"da-sh",
		"a space",
		"🦆",
		"new\nline",
		"'); DROP TABLE t;--",
		"back\\slash",
		"data.csv",
		"/etc/passwd",
		"x".repeat(255),
	];
	test.each(names)("%j is a table, a schema and a column like any other", async (name) => {
		const quoted = `"${name.replaceAll('"', '""')}"`;
		const table = `${quoted}.${quoted}`;
		for (let round = 0; round < 2; round++) {
			await at.insert({ table, columns: [utf8(name, ["value"]), int32("index", [round])] });
		}
		await at.insert({ table, mode: "append", columns: [utf8(name, ["value"])] });
		expect(await at.sql(`SELECT ${quoted}, index FROM ${table} ORDER BY ALL`)).toEqual([
			["value", 0],
			["value", 1],
			["value", null],
		]);
		await at.insert({ table, mode: "replace", columns: [int32(name, [7])] });
		expect(await at.sql(`FROM ${table}`)).toEqual([[7]]);
		const found = await (await at.database()).describeTable(name, name);
		expect(found).toMatchObject({ schema: name, table: name, rows: 1 });
	});

	test("columns a and A are duplicate_column before the engine", async () => {
		const error = await at.refusal({ columns: [int32("a", [1]), int32("A", [2])] });
		expect([error.code, error.place.column]).toEqual(["duplicate_column", "A"]);
	});

	test("columns Ä and ä are two, as DuckDB sees them", async () => {
		await at.insert({ columns: [int32("Ä", [1]), int32("ä", [2])] });
		expect(await at.sql('SELECT "Ä", "ä" FROM t')).toEqual([[1, 2]]);
	});
});

describe("a table that is there", () => {
	test("columns come in any order and case, fewer take defaults and NULLs and are named", async () => {
		await at.sql(
			"CREATE TABLE t(id INTEGER, b VARCHAR DEFAULT 'dflt', c DOUBLE, d INTEGER NOT NULL)",
		);
		const receipt = await at.insert({ columns: [int32("D", [5]), int32("ID", [1])] });
		expect(receipt.columns_defaulted).toEqual(["b", "c"]);
		expect(await at.sql("FROM t")).toEqual([[1, "dflt", null, 5]]);
	});

	test("a NOT NULL column without default that is missing is schema_mismatch by name", async () => {
		await at.sql("CREATE TABLE t(id INTEGER, need VARCHAR NOT NULL)");
		const error = await at.refusal({ columns: [int32("id", [1])] });
		expect([error.code, error.place.column]).toEqual(["schema_mismatch", "need"]);
	});

	test("extra columns under error are schema_mismatch and all listed", async () => {
		await at.sql("CREATE TABLE t(id INTEGER)");
		const error = await at.refusal({
			columns: [int32("x", [1]), int32("id", [1]), int32("y", [1])],
		});
		expect(error.code).toBe("schema_mismatch");
		expect((error.extra.columns as { column: string }[]).map((one) => one.column)).toEqual([
			"x",
			"y",
		]);
	});

	test("extra columns under ignore leave the scan, whatever their place, and are warned of", async () => {
		await at.sql("CREATE TABLE t(id INTEGER, name VARCHAR)");
		const receipt = await at.insert({
			on_extra_columns: "ignore",
			batches: [1, 2].map((n) => [
				utf8("before", ["x"]),
				utf8("name", [`n${n}`]),
				int64("between", [9n]),
				int32("id", [n]),
				utf8("after", ["z"]),
			]),
		});
		expect(receipt.warnings.map(({ code, column }) => [code, column])).toEqual([
			["extra_columns_ignored", "before"],
			["extra_columns_ignored", "between"],
			["extra_columns_ignored", "after"],
		]);
		expect(await at.sql("FROM t")).toEqual([
			[1, "n1"],
			[2, "n2"],
		]);
	});

	test("with no column left under ignore it is schema_mismatch", async () => {
		await at.sql("CREATE TABLE t(id INTEGER)");
		const error = await at.refusal({ on_extra_columns: "ignore", columns: [int32("x", [1])] });
		expect([error.code, error.place.column]).toEqual(["schema_mismatch", "x"]);
		// In the form that every other schema_mismatch has: it was bare names once.
		expect(error.extra.columns).toEqual([
			{ column: "x", detail: 'main.t has no column "x" that takes values' },
		]);
	});

	test("extra columns under add are added in the same transaction and NULL in older rows", async () => {
		await at.insert({ columns: [int32("id", [1])] });
		const receipt = await at.insert({
			on_extra_columns: "add",
			columns: [int32("id", [2]), utf8("more", ["x"]), struct("s", [int32("a", [3])])],
		});
		expect(receipt.columns_added).toEqual(["more", "s"]);
		expect(await at.sql("FROM t ORDER BY id")).toEqual([
			[1, null, null],
			[2, "x", { a: 3 }],
		]);
	});

	test("a column that could not be added because the load fails is not there", async () => {
		await at.insert({ columns: [int32("id", [1])] });
		const before = await at.snapshot();
		await at.refusal({
			on_extra_columns: "add",
			columns: [int32("id", [2]), utf8("more", ["x"])],
			rows: 3,
		});
		expect(await at.snapshot()).toEqual(before);
	});

	test("a generated column can't be sent, is left out under ignore, and is not called defaulted", async () => {
		await at.sql(
			"CREATE TABLE t(id INTEGER, twice INTEGER GENERATED ALWAYS AS (id * 2), x INTEGER)",
		);
		const columns = () => [int32("id", [4]), int32("twice", [5])];
		const error = await at.refusal({ columns: columns() });
		expect([error.code, error.place.column]).toEqual(["schema_mismatch", "twice"]);
		const receipt = await at.insert({ columns: columns(), on_extra_columns: "ignore" });
		expect(receipt.columns_defaulted).toEqual(["x"]);
		expect(await at.sql("FROM t")).toEqual([[4, 8, null]]);
	});

	test("a nested field that the target lacks is schema_mismatch with its path, not a silent drop", async () => {
		await at.sql("CREATE TABLE t(s STRUCT(a INTEGER))");
		const error = await at.refusal({ columns: [struct("s", [int32("a", [1]), int32("b", [2])])] });
		expect([error.code, error.place.column]).toEqual(["schema_mismatch", "s.b"]);
	});

	test("a nested field that the upload lacks is NULL and named in columns_defaulted", async () => {
		await at.sql("CREATE TABLE t(s STRUCT(a INTEGER, b INTEGER))");
		const receipt = await at.insert({ columns: [struct("s", [int32("b", [2])])] });
		expect(receipt.columns_defaulted).toEqual(["s.a"]);
		expect(await at.sql("FROM t")).toEqual([[{ a: null, b: 2 }]]);
	});

	test("sequences, enums and macros of the database work in defaults", async () => {
		await at.sql(
			"CREATE SEQUENCE s",
			"CREATE TYPE mood AS ENUM ('ok', 'sad')",
			"CREATE MACRO twice(a) AS a * 2",
			"CREATE TABLE t(id INTEGER DEFAULT nextval('s'), m mood, x INTEGER DEFAULT twice(21))",
		);
		await at.insert({ columns: [utf8("m", ["sad", "ok"])] });
		expect(await at.sql("FROM t")).toEqual([
			[1, "sad", 42],
			[2, "ok", 42],
		]);
	});
});

describe("casts into columns that are there", () => {
	test("values of a wider type arrive, those that don't fit are cast_failed with column and types", async () => {
		await at.sql("CREATE TABLE t(n SMALLINT)");
		expect((await at.insert({ columns: [int64("n", [32767n])] })).warnings).toEqual([]);
		const error = await at.refusal({ columns: [int64("N", [1n, 32768n])] });
		expect(error.code).toBe("cast_failed");
		expect(error.place).toMatchObject({
			column: "N",
			arrow_type: "int64",
			target_type: "SMALLINT",
		});
		expect(await at.sql("FROM t")).toEqual([[32767]]);
	});

	test("1.7 into an INTEGER rounds and says so", async () => {
		await at.sql("CREATE TABLE t(n INTEGER)");
		const receipt = await at.insert({ columns: [float64("n", [1.7])] });
		expect(receipt.warnings).toMatchObject([{ code: "lossy_cast", column: "n" }]);
		expect(await at.sql("FROM t")).toEqual([[2]]);
	});

	test("text is parsed into numbers and dates with a warning, and what isn't one is cast_failed", async () => {
		await at.sql("CREATE TABLE t(n INTEGER, d DATE)");
		const receipt = await at.insert({ columns: [utf8("n", ["12"]), utf8("d", ["2026-11-30"])] });
		expect(receipt.warnings.map((warning) => warning.column)).toEqual(["n", "d"]);
		const error = await at.refusal({ columns: [utf8("n", ["twelve"])] });
		expect([error.code, error.place.column]).toEqual(["cast_failed", "n"]);
		expect(await at.sql("FROM t")).toEqual([[12, "2026-11-30"]]);
	});

	test.each([
		["binary into VARCHAR", "VARCHAR", () => binary("c", ["\\x41"])],
		["text into BLOB", "BLOB", () => utf8("c", ["\\x41"])],
		["a struct into VARCHAR", "VARCHAR", () => struct("c", [int32("a", [1])])],
		["a number into DATE", "DATE", () => int32("c", [1])],
		["a struct into INTEGER", "INTEGER", () => struct("c", [int32("a", [1])])],
	])("%s is schema_mismatch before a row is read", async (_, type, column) => {
		await at.sql(`CREATE TABLE t(c ${type})`);
		const error = await at.refusal({ columns: [column()] });
		expect([error.code, error.place.column, error.place.target_type]).toEqual([
			"schema_mismatch",
			"c",
			type,
		]);
	});

	test("times with a zone go into TIMESTAMP as UTC with a warning", async () => {
		await at.sql("CREATE TABLE t(ts TIMESTAMP)");
		const receipt = await at.insert({ columns: [timestamp("ts", "America/New_York", [0n])] });
		expect(receipt.warnings).toMatchObject([{ code: "lossy_cast", column: "ts" }]);
		expect(await at.sql("FROM t")).toEqual([["1970-01-01 00:00:00"]]);
	});
});

describe("constraints", () => {
	test.each([
		["a primary key", "id INTEGER PRIMARY KEY, n INTEGER", "id"],
		["a unique column", "id INTEGER UNIQUE, n INTEGER", "id"],
		["NOT NULL", "id INTEGER, n INTEGER NOT NULL", "n"],
		["a CHECK", "id INTEGER CHECK (id < 2), n INTEGER", undefined],
	])("%s is constraint_violation and no row", async (_, columns, column) => {
		await at.sql(`CREATE TABLE t(${columns})`, "INSERT INTO t VALUES (1, 1)");
		const before = await at.snapshot();
		const error = await at.refusal({ columns: [int32("id", [3, 1, 2]), int32("n", [1, null, 2])] });
		expect(error.code).toBe("constraint_violation");
		if (column) expect(error.place.column).toBe(column);
		expect(await at.snapshot()).toEqual(before);
	});

	test("a foreign key is constraint_violation", async () => {
		await at.sql(
			"CREATE TABLE p(id INTEGER PRIMARY KEY)",
			"CREATE TABLE t(p INTEGER REFERENCES p(id))",
		);
		expect((await at.refusal({ columns: [int32("p", [9])] })).code).toBe("constraint_violation");
	});

	test("a primary-key clash that shows only at COMMIT is constraint_violation and no row of the second", async () => {
		await at.sql("CREATE TABLE t(id INTEGER PRIMARY KEY)");
		const [first, second] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
		const slow = at.refusal({
			columns: [int32("id", [1])],
			beforeCommit: async () => {
				first.resolve();
				await second.promise;
			},
		});
		await first.promise;
		await at.insert({ columns: [int32("id", [1])] });
		second.resolve();
		expect((await slow).code).toBe("constraint_violation");
		expect(await at.sql("FROM t")).toEqual([[1]]);
		expect(await at.sql("SELECT count(*) FROM _duckdock.loads")).toEqual([["1"]]);
	});
});

describe("replace", () => {
	test("names each constraint that goes and keeps none", async () => {
		await at.sql(
			"CREATE TABLE t(id INTEGER PRIMARY KEY, n INTEGER NOT NULL DEFAULT 3 CHECK (n < 10), k INTEGER NOT NULL, g INTEGER GENERATED ALWAYS AS (id))",
			"CREATE INDEX ix ON t(k)",
		);
		const receipt = await at.insert({
			mode: "replace",
			columns: [int32("id", [1]), int32("n", [99]), int32("k", [1], { nullable: false })],
		});
		const dropped = receipt.warnings.filter(({ code }) => code === "constraint_dropped");
		expect(dropped.map(({ detail }) => detail)).toEqual([
			"PRIMARY KEY(id)",
			'NOT NULL of "n"',
			"CHECK((n < 10))",
			'DEFAULT 3 of "n"',
			'generated column CAST(id AS INTEGER) of "g"',
			'index "ix"',
		]);
		expect(await at.sql("SELECT sql FROM duckdb_tables() WHERE table_name = 't'")).toEqual([
			["CREATE TABLE t(id INTEGER, n INTEGER, k INTEGER NOT NULL);"],
		]);
	});

	test("a replace that fails leaves the old table with its rows and constraints", async () => {
		await at.sql("CREATE TABLE t(id INTEGER PRIMARY KEY)", "INSERT INTO t VALUES (1)");
		const before = await at.snapshot();
		const load = { mode: "replace" as const, columns: [utf8("other", ["x"])] };
		await at.refusal({ ...load, rows: 2 });
		await at.refusal({ ...load, fails: new IngestError("invalid_arrow", "broken") });
		expect(await at.snapshot()).toEqual(before);
	});

	test("a table that others refer to is not replaced: constraint_violation", async () => {
		await at.sql(
			"CREATE TABLE t(id INTEGER PRIMARY KEY)",
			"CREATE TABLE c(t INTEGER REFERENCES t(id))",
		);
		const error = await at.refusal({ mode: "replace", columns: [int32("id", [1])] });
		expect(error.code).toBe("constraint_violation");
	});

	test("views on the table read the new one", async () => {
		await at.sql("CREATE TABLE t(id INTEGER)", "CREATE VIEW v AS SELECT id FROM t");
		await at.insert({ mode: "replace", columns: [int32("id", [5])] });
		expect(await at.sql("FROM v")).toEqual([[5]]);
	});

	test("two replaces at once both end well, one after the other", async () => {
		await at.insert({ columns: [int32("id", [0])] });
		const both = await Promise.all(
			[1, 2, 3, 4].map((id) => at.insert({ mode: "replace", columns: [int32("id", [id])] })),
		);
		expect(both.map((receipt) => receipt.status)).toEqual(Array(4).fill("committed"));
		expect(await at.sql("SELECT count(*) FROM t")).toEqual([["1"]]);
		expect(await at.sql("SELECT count(*) FROM _duckdock.loads")).toEqual([["5"]]);
	});

	test("readers see the old rows until it is committed, then the new ones", async () => {
		await at.insert({ columns: [int32("id", [1, 2, 3])] });
		const database = await at.database();
		const seen: (number | undefined)[] = [];
		await at.insert({
			mode: "replace",
			columns: [int32("id", [9])],
			beforeCommit: async () => {
				seen.push((await database.describeTable("main", "t"))?.rows);
			},
		});
		seen.push((await database.describeTable("main", "t"))?.rows);
		expect(seen).toEqual([3, 1]);
	});
});

describe("all or nothing", () => {
	const failures: [string, () => Promise<IngestError>, string][] = [
		[
			"the reader fails before its first batch",
			() => at.refusal({ batches: [twoRows()], before: () => Promise.reject(broken()) }),
			"invalid_arrow",
		],
		[
			"the reader fails after many batches",
			() => at.refusal({ batches: Array.from({ length: 200 }, twoRows), fails: broken() }),
			"invalid_arrow",
		],
		[
			"the declared rows differ",
			() => at.refusal({ columns: twoRows(), rows: 3 }),
			"row_count_mismatch",
		],
		[
			"the reader counted other rows than DuckDB",
			async () => {
				const { readerOf } = await import("./arrow-columns.ts");
				return at.refusal({ reader: () => readerOf([twoRows()], { rows: 5 }) });
			},
			"row_count_mismatch",
		],
		[
			"beforeCommit throws",
			() =>
				at.refusal({
					columns: twoRows(),
					beforeCommit: () => Promise.reject(new IngestError("digest_mismatch", "other bytes")),
				}),
			"digest_mismatch",
		],
	];

	test.each(failures)("nothing is left when %s", async (_, fail, code) => {
		await at.sql("CREATE TABLE t(id INTEGER, name VARCHAR)", "INSERT INTO t VALUES (0, 'old')");
		const before = await at.snapshot();
		const error = await fail();
		expect(error.code).toBe(code);
		expect(error.message).not.toContain("arrow_scan");
		expect(await at.snapshot()).toEqual(before);
		await at.insert({ columns: twoRows() });
	});

	test("what beforeCommit throws is the outcome itself, whatever it is", async () => {
		const lost = new Error("the lease is another's");
		const [outcome] = await at.insertAll({
			columns: twoRows(),
			beforeCommit: () => Promise.reject(lost),
		});
		expect(outcome).toEqual({ error: lost });
	});

	test("an abort in the middle ends the statement, and its reason is the outcome", async () => {
		const abort = new AbortController();
		const reason = new IngestError("timeout", "too long");
		const [outcome] = await at.insertAll({
			batches: Array.from({ length: 50 }, twoRows),
			signal: abort.signal,
			before: async (batch) => {
				if (batch === 20) setTimeout(() => abort.abort(reason), 20);
				if (batch >= 20) await new Promise((resolve) => setTimeout(resolve, 10));
			},
		});
		expect(outcome).toEqual({ error: reason });
		expect(
			await at.sql("SELECT table_name FROM duckdb_tables() WHERE schema_name <> '_duckdock'"),
		).toEqual([]);
	});

	test("beforeCommit sees the counts, and the rows are not there for others yet", async () => {
		const database = await at.database();
		await at.insert({
			columns: twoRows(),
			beforeCommit: async (counts) => {
				expect(counts.rows_streamed).toBe(2);
				expect(await database.describeTable("main", "t")).toBeNull();
			},
		});
		expect((await database.describeTable("main", "t"))?.rows).toBe(2);
	});

	test("no view is left in the file, and none in the instance, after success and failure of every kind", async () => {
		await at.sql("CREATE TABLE t(id INTEGER PRIMARY KEY)");
		const attached = await attachDatabase(
			tenantTarget(parseTarget(at.options.target), "acme"),
			{ ...at.options, lockWaitMs: 1_000 },
			AbortSignal.timeout(20_000),
		);
		const connection = await attached.connect();
		await ensureLedger(connection, ledgerOf(attached.target));
		const abort = new AbortController();
		const outcomes: string[] = [];
		for (const load of [
			{ columns: [int32("id", [1])] },
			{ columns: [int32("id", [1])] },
			{ columns: [utf8("id", ["x"])] },
			{ columns: [int32("other", [1])] },
			{ columns: [int32("id", [2])], rows: 5 },
			{ columns: [int32("id", [3])], fails: broken() },
			{ columns: [int32("id", [4])], before: () => Promise.reject(broken()) },
			{ columns: [int32("id", [5])], beforeCommit: () => Promise.reject(broken()) },
			{
				batches: Array.from({ length: 30 }, (_, n) => [int32("id", [100 + n])]),
				signal: abort.signal,
				before: async (batch: number) => {
					if (batch === 20) abort.abort(new IngestError("timeout", "enough"));
				},
			},
		]) {
			const job = jobOf(load);
			const options = {
				target: attached.target,
				known: attached.known,
				engine: "duckdb",
				copyArrow: false,
				statements: createSemaphore(2),
				signal: job.signal,
				peeked: [{ exists: true, table: null }],
			};
			outcomes.push(
				await runLoads(connection, [job], options).then(
					() => "committed",
					(error) => error.code,
				),
			);
			const views = await connection.run("SELECT view_name FROM duckdb_views() WHERE NOT internal");
			expect(await views.getRowsJS()).toEqual([]);
		}
		expect(outcomes).toEqual([
			"committed",
			"constraint_violation",
			"cast_failed",
			"schema_mismatch",
			"row_count_mismatch",
			"invalid_arrow",
			"invalid_arrow",
			"invalid_arrow",
			"timeout",
		]);
		connection.closeSync();
		await attached.close();
		expect(await at.sql("FROM t")).toEqual([[1]]);
		expect(await at.sql("SELECT view_name FROM duckdb_views() WHERE NOT internal")).toEqual([]);
	});
});

describe("dry run", () => {
	test("counts and lists its DDL where no file is, and makes none", async () => {
		const receipt = await at.insert({ table: "raw.t", columns: twoRows(), dry_run: true });
		expect(receipt).toMatchObject({ status: "dry_run", rows_inserted: 2, created_table: true });
		expect(receipt.ddl).toEqual([
			'CREATE SCHEMA "raw"',
			'CREATE TABLE "raw"."t" ("id" INTEGER, "name" VARCHAR)',
		]);
		const { readdirSync } = await import("node:fs");
		expect(readdirSync(at.folder)).toEqual([]);
	});

	test("changes nothing in a database that is there, and tells the same problems", async () => {
		await at.sql("CREATE TABLE t(id INTEGER PRIMARY KEY)", "INSERT INTO t VALUES (1)");
		const before = await at.snapshot();
		const receipt = await at.insert({
			dry_run: true,
			on_extra_columns: "add",
			columns: [int32("id", [2]), utf8("x", ["y"])],
		});
		expect(receipt.ddl).toEqual(['ALTER TABLE "main"."t" ADD COLUMN "x" VARCHAR']);
		const clash = await at.refusal({ dry_run: true, columns: [int32("id", [1])] });
		expect(clash.code).toBe("constraint_violation");
		expect(await at.snapshot()).toEqual(before);
	});
});

describe("the ledger", () => {
	test("gives every receipt back as it went in, after a restart too", async () => {
		const receipt = await at.insert({
			table: '"odd.name".t',
			columns: twoRows(),
			warnings: [{ code: "lossy_cast", column: 'a"b', detail: "ü 🦆 \n'" }],
			source: { kind: "file", files: ["a.arrow", "b c.arrow"] },
		});
		await at.close();
		expect(await (await at.database()).findLoad(receipt.load_id)).toEqual(receipt);
		expect(receipt).toMatchObject({
			started_at: "2026-11-30T10:00:00.123Z",
			committed_at: "2026-11-30T10:00:01.456Z",
			table: '"odd.name".t',
			source: { kind: "file", files: ["a.arrow", "b c.arrow"] },
		});
	});

	test("has nothing where no database is, and making sure makes none", async () => {
		const database = await at.database();
		expect(await database.findLoad("x")).toBeNull();
		expect(await database.listLoads({ limit: 5 })).toEqual([]);
		expect(await database.findLastOfSource("b", "k")).toBeNull();
		expect(await database.describeTable("main", "t")).toBeNull();
		const { readdirSync } = await import("node:fs");
		expect(readdirSync(at.folder)).toEqual([]);
	});

	test("lists newest first, page by page", async () => {
		const ids: string[] = [];
		for (let n = 0; n < 5; n++) ids.unshift((await at.insert({ columns: twoRows() })).load_id);
		const database = await at.database();
		const first = await database.listLoads({ limit: 3 });
		const second = await database.listLoads({ limit: 3, before: first[2]!.load_id });
		expect([...first, ...second].map((receipt) => receipt.load_id)).toEqual(ids);
	});

	test("finds the last load of a dropped object by bucket and key", async () => {
		const drop = (key: string, version: string) => ({
			kind: "drop" as const,
			bucket: "b",
			key,
			version,
			etag: "e",
			sequencer: null,
			last_modified: "2026-11-30T00:00:00.000Z",
		});
		for (const [key, version] of [
			["k'1", "1"],
			["k'1", "2"],
			["other", "3"],
		] as const) {
			await at.insert({ columns: twoRows(), source: drop(key, version) });
		}
		const database = await at.database();
		expect((await database.findLastOfSource("b", "k'1"))?.source).toEqual(drop("k'1", "2"));
		expect(await database.findLastOfSource("other", "k'1")).toBeNull();
	});

	test("a load that is in it is not inserted again: its receipt is the outcome", async () => {
		const receipt = await at.insert({ loadId: "01SAME", columns: twoRows() });
		expect(await at.insert({ loadId: "01SAME", columns: twoRows() })).toEqual(receipt);
		expect(await at.sql("SELECT count(*) FROM t")).toEqual([["2"]]);
	});

	test.each(loadModes)("also in mode %s, and nothing is read for it", async (mode) => {
		await at.sql("CREATE TABLE other(id INTEGER)");
		await at.insert({ columns: twoRows() });
		const table = mode === "create" ? "fresh" : "t";
		const receipt = await at.insert({ loadId: "01SAME", table, mode, columns: twoRows() });
		let reads = 0;
		const again = await at.insertAll(
			{ loadId: "01SAME", table, mode, columns: twoRows(), before: async () => void reads++ },
			{ table: "other", columns: [int32("id", [1])] },
		);
		expect([again[0], reads]).toEqual([{ receipt }, 0]);
		expect(again[1]).toHaveProperty("receipt");
	});

	test("of two that insert the same load at once, one inserts and both have its receipt", async () => {
		await at.sql("CREATE TABLE t(id INTEGER, name VARCHAR)");
		const both = await Promise.all(
			Array.from({ length: 4 }, () => at.insert({ loadId: "01RACE", columns: twoRows() })),
		);
		expect(new Set(both.map((receipt) => JSON.stringify(receipt))).size).toBe(1);
		expect(await at.sql("SELECT count(*) FROM t")).toEqual([["2"]]);
	});
});

describe("several loads", () => {
	test("in one transaction: all are there, in order, each with its row in the ledger", async () => {
		const outcomes = await at.insertAll(
			{ table: "a", columns: twoRows() },
			{ table: "b", columns: twoRows() },
			{ table: "a", mode: "append", columns: [int32("id", [7])] },
		);
		expect(outcomes.map((one) => "receipt" in one && one.receipt.status)).toEqual(
			Array(3).fill("committed"),
		);
		expect(await at.sql("SELECT count(*) FROM a")).toEqual([["3"]]);
		expect(await at.sql("SELECT count(*) FROM _duckdock.loads")).toEqual([["3"]]);
	});

	test("with the same columns into one table: each receipt counts its own rows, warnings and declared rows", async () => {
		const outcomes = await at.insertAll(
			{ columns: [int32("id", [1])] },
			{ batches: [[int32("id", [2, 3])], [int32("id", [4])]], rows: 3 },
			{ columns: [int32("id", [])] },
			{ columns: [int32("id", [5])], warnings: [{ code: "no_end_of_stream", detail: "x" }] },
		);
		const receipts = outcomes.map((one) => ("receipt" in one ? one.receipt : null));
		expect(receipts.map((receipt) => receipt?.rows_inserted)).toEqual([1, 3, 0, 1]);
		expect(receipts.map((receipt) => receipt?.created_table)).toEqual([true, false, false, false]);
		expect(receipts.map((receipt) => receipt?.warnings.length)).toEqual([0, 0, 0, 1]);
		expect(await at.sql("FROM t")).toEqual([[1], [2], [3], [4], [5]]);
	});

	test("with the same columns, of which one declares other rows than it has", async () => {
		const outcomes = await at.insertAll(
			{ columns: [int32("id", [1])] },
			{ columns: [int32("id", [2])], rows: 7 },
			{ columns: [int32("id", [3])] },
		);
		expect(
			outcomes.map((one) =>
				"receipt" in one ? one.receipt.status : (one.error as IngestError).code,
			),
		).toEqual(["committed", "row_count_mismatch", "committed"]);
		expect(await at.sql("FROM t")).toEqual([[1], [3]]);
	});

	test("of which one is bad: the others are loaded, the bad one has its own error", async () => {
		const outcomes = await at.insertAll(
			{ table: "a", columns: twoRows() },
			{ table: "a", columns: [utf8("id", ["no number"])] },
			{ table: "b", columns: twoRows(), fails: new IngestError("invalid_arrow", "broken") },
			{ table: "c", columns: twoRows() },
		);
		expect(
			outcomes.map((one) =>
				"receipt" in one ? one.receipt.status : (one.error as IngestError).code,
			),
		).toEqual(["committed", "cast_failed", "invalid_arrow", "committed"]);
		expect(await at.sql("SELECT count(*) FROM a")).toEqual([["2"]]);
		expect(await at.sql("SELECT count(*) FROM _duckdock.loads")).toEqual([["2"]]);
	});

	test("with a dry run among them: it writes nothing", async () => {
		await at.insertAll(
			{ table: "a", columns: twoRows() },
			{ table: "b", columns: twoRows(), dry_run: true },
			{ table: "c", columns: twoRows() },
		);
		expect(await at.sql("SELECT table_name FROM duckdb_tables() ORDER BY 1")).toEqual([
			["a"],
			["c"],
			["loads"],
		]);
	});

	test("at once into one missing table: one makes it, the others append", async () => {
		const receipts = await Promise.all(
			Array.from({ length: 8 }, () => at.insert({ table: "s.t", columns: twoRows() })),
		);
		expect(receipts.filter((receipt) => receipt.created_table)).toHaveLength(1);
		expect(await at.sql("SELECT count(*) FROM s.t")).toEqual([["16"]]);
	});

	test("at once into different tables, more of them than libuv has threads", async () => {
		await Promise.all(
			Array.from({ length: 12 }, (_, n) =>
				at.insert({
					table: `t${n}`,
					batches: Array.from({ length: 5 }, twoRows),
					before: async () => {
						// What a load waits for needs a thread of the same pool.
						await (await import("node:fs/promises")).stat(at.folder);
					},
				}),
			),
		);
		expect(await at.sql("SELECT sum(rows_inserted) FROM _duckdock.loads")).toEqual([["120"]]);
	});

	test("creates at once: one is committed, the others are table_exists", async () => {
		const outcomes = await Promise.all(
			Array.from({ length: 4 }, () => at.insertAll({ mode: "create", columns: twoRows() })),
		);
		const codes = outcomes.map(([one]) =>
			"receipt" in one! ? "committed" : (one!.error as IngestError).code,
		);
		expect(codes.sort()).toEqual(["committed", "table_exists", "table_exists", "table_exists"]);
	});
});
