/** Bytes that apache-arrow wrote, through `openArrow` and the addon, to rows that another instance reads. */
import {
	Binary,
	Bool,
	type DataType,
	DateDay,
	Decimal,
	DurationMillisecond,
	Field,
	FixedSizeList,
	Float32,
	Float64,
	Int8,
	Int16,
	Int32,
	Int64,
	List,
	Map_,
	makeData,
	makeVector,
	Null,
	Schema,
	Struct,
	Table,
	TimeMicrosecond,
	TimestampMicrosecond,
	TimestampNanosecond,
	tableToIPC,
	Uint8,
	Uint64,
	Utf8,
	type Vector,
	vectorFromArray,
} from "apache-arrow";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { openArrow } from "../../src/arrow/open-arrow.ts";
import { loadModes } from "../../src/flow.ts";
import { defaultLimits } from "../../src/limits.ts";
import { nodeCodecs } from "../../src/replay/node-codecs.ts";
import { type Load, SinkFixture } from "./sink-fixture.ts";

let at: SinkFixture;
beforeEach(() => {
	at = new SinkFixture();
});
afterEach(() => at.remove());

async function arrow(table: Table): Promise<Pick<Load, "reader">> {
	const bytes = tableToIPC(table, "stream");
	const signal = new AbortController().signal;
	const reader = await openArrow(
		[
			{
				name: "test",
				stream: async function* () {
					yield bytes;
				},
				atRest: null,
			},
		],
		{ codecs: nodeCodecs, limits: defaultLimits, requireEos: true, signal },
	);
	return { reader: () => reader };
}

const tableOf = (columns: Record<string, Vector>) => new Table(columns);

function withMetadata(name: string, vector: Vector, metadata: Record<string, string>): Table {
	const field = new Field(name, vector.type, true, new Map(Object.entries(metadata)));
	const plain = new Table({ [name]: vector });
	return new Table(
		new Schema([field]),
		plain.batches
			.map((batch) => batch.data.children[0]!)
			.map((data) => ({ [name]: data }))[0] as never,
	);
}

const types: [name: string, type: DataType, values: unknown[], duckdb: string, read: unknown[]][] =
	[
		["bool", new Bool(), [true, null], "BOOLEAN", [true, null]],
		["int8", new Int8(), [-128, null], "TINYINT", [-128, null]],
		["int16", new Int16(), [1, null], "SMALLINT", [1, null]],
		["int64", new Int64(), [-(2n ** 63n), null], "BIGINT", ["-9223372036854775808", null]],
		["uint8", new Uint8(), [255, null], "UTINYINT", [255, null]],
		["uint64", new Uint64(), [2n ** 64n - 1n, null], "UBIGINT", ["18446744073709551615", null]],
		["float32", new Float32(), [0.5, null], "FLOAT", [0.5, null]],
		["float64", new Float64(), [0.1, null], "DOUBLE", [0.1, null]],
		["utf8", new Utf8(), ["ü🦆", null], "VARCHAR", ["ü🦆", null]],
		["date", new DateDay(), [new Date("2026-11-30"), null], "DATE", ["2026-11-30", null]],
		["time", new TimeMicrosecond(), [1n, null], "TIME", ["00:00:00.000001", null]],
		[
			"timestamp",
			new TimestampMicrosecond(),
			[0, null],
			"TIMESTAMP",
			["1970-01-01 00:00:00", null],
		],
		[
			"timestamptz",
			new TimestampMicrosecond("America/New_York"),
			[0, null],
			"TIMESTAMP WITH TIME ZONE",
			["1970-01-01 00:00:00+00", null],
		],
		[
			"list",
			new List(new Field("item", new Int32(), true)),
			[[1, null], null],
			"INTEGER[]",
			[[1, null], null],
		],
		[
			"array",
			new FixedSizeList(2, new Field("item", new Int32(), true)),
			[[1, 2], null],
			"INTEGER[2]",
			[[1, 2], null],
		],
		[
			"struct",
			new Struct([new Field("a", new Int32(), true), new Field("b c", new Utf8(), true)]),
			[{ a: 1, "b c": "x" }, null],
			'STRUCT(a INTEGER, "b c" VARCHAR)',
			[{ a: 1, "b c": "x" }, null],
		],
		["null", new Null(), [null, null], "INTEGER", [null, null]],
	];

describe("types", () => {
	test.each(types)(
		"%s lands, in a new table, in one that is there, and in one that is replaced",
		async (name, type, values, duckdb, read) => {
			const table = tableOf({ [name]: vectorFromArray(values, type) });
			for (const mode of ["create", "append", "create_append", "replace"] as const) {
				const receipt = await at.insert({ mode, ...(await arrow(table)) });
				expect(receipt.columns.map((column) => column.duckdb_type)).toEqual([duckdb]);
				expect(receipt.warnings).toEqual([]);
				if (mode === "create_append")
					expect(await at.sql("SELECT count(*) FROM t")).toEqual([["6"]]);
			}
			expect(await at.sql("FROM t")).toEqual(read.map((value) => [value]));
		},
	);

	test("binary lands as BLOB", async () => {
		await at.insert(
			await arrow(tableOf({ b: vectorFromArray([new Uint8Array([0, 255])], new Binary()) })),
		);
		expect(await at.sql("SELECT hex(b) FROM t")).toEqual([["00FF"]]);
	});

	test("decimals arrive digit for digit, and a smaller scale in the target is a warning", async () => {
		const digits = new Uint32Array(4);
		let value = 12345678901234567890123456780123456789n;
		for (let word = 0; word < 4; word++, value >>= 32n) digits[word] = Number(value & 0xffffffffn);
		const table = tableOf({ d: vectorFromArray([digits], new Decimal(10, 38, 128)) });
		await at.insert(await arrow(table));
		expect(await at.sql("FROM t")).toEqual([["1234567890123456789012345678.0123456789"]]);
		await at.sql("CREATE TABLE small(d DECIMAL(38, 2))");
		const receipt = await at.insert({ table: "small", ...(await arrow(table)) });
		expect(receipt.warnings).toMatchObject([{ code: "lossy_cast", column: "d" }]);
		await at.sql("CREATE TABLE tiny(d DECIMAL(5, 2))");
		const error = await at.refusal({ table: "tiny", ...(await arrow(table)) });
		expect([error.code, error.place.column]).toEqual(["cast_failed", "d"]);
	});

	test("nanoseconds keep their last digit, and with a zone the receipt says that they lost it", async () => {
		// An array of its own each: apache-arrow writes one that two columns share only once.
		const ofType = (type: TimestampNanosecond) =>
			makeVector(
				makeData({
					type,
					length: 1,
					nullCount: 0,
					data: BigInt64Array.of(1_700_000_000_123_456_789n),
				}),
			);
		const plain = ofType(new TimestampNanosecond());
		const zoned = ofType(new TimestampNanosecond("UTC"));
		const receipt = await at.insert(await arrow(tableOf({ plain, zoned })));
		expect(receipt.warnings).toMatchObject([
			{ code: "timestamp_ns_tz_truncated", column: "zoned" },
		]);
		expect(await at.sql("SELECT epoch_ns(plain), epoch_us(zoned) FROM t")).toEqual([
			["1700000000123456789", "1700000000123456"],
		]);
	});

	test("a duration is an INTERVAL, a map a MAP", async () => {
		const map = new Map_(
			new Field(
				"entries",
				new Struct([
					new Field("key", new Utf8(), false),
					new Field("value", new Int32(), true),
				]) as never,
				false,
			),
		);
		const table = tableOf({
			d: vectorFromArray([1500n], new DurationMillisecond()),
			m: vectorFromArray([new Map([["a", 1]])], map),
		});
		const receipt = await at.insert(await arrow(table));
		expect(receipt.columns.map((column) => column.duckdb_type)).toEqual([
			"INTERVAL",
			"MAP(VARCHAR, INTEGER)",
		]);
		expect(await at.sql("SELECT d::VARCHAR, m['a'] FROM t")).toEqual([["00:00:01.5", 1]]);
	});

	test.each([
		"DATE",
		"VARCHAR",
		"DOUBLE",
		"INTEGER[]",
		"STRUCT(a DATE)",
		"BLOB",
		"UUID",
		"TIMESTAMPTZ",
		"GEOMETRY",
		"JSON",
	])("a column of type null goes into a column of type %s", async (type) => {
		await at.sql(`CREATE TABLE t(c ${type} DEFAULT NULL, id INTEGER)`);
		const table = tableOf({
			c: vectorFromArray([null, null], new Null()),
			id: vectorFromArray([1, 2], new Int32()),
		});
		expect((await at.insert(await arrow(table))).warnings).toEqual([]);
		expect(await at.sql("FROM t")).toEqual([
			[null, 1],
			[null, 2],
		]);
	});
});

describe("geometry", () => {
	const point = new Uint8Array(21);
	new DataView(point.buffer).setUint8(0, 1);
	new DataView(point.buffer).setUint32(1, 1, true);
	new DataView(point.buffer).setFloat64(5, 1.5, true);
	new DataView(point.buffer).setFloat64(13, 2.5, true);
	const wkb = (crs?: string) =>
		withMetadata("g", vectorFromArray([point, null], new Binary()), {
			"ARROW:extension:name": "geoarrow.wkb",
			"ARROW:extension:metadata": JSON.stringify(crs === undefined ? {} : { crs }),
		});

	test.each(loadModes)("lands as GEOMETRY in mode %s", async (mode) => {
		if (mode !== "create") await at.sql("CREATE TABLE t(g GEOMETRY)");
		await at.insert({ mode, ...(await arrow(wkb())) });
		expect(await at.sql("SELECT ST_AsText(g) FROM t")).toEqual([["POINT (1.5 2.5)"], [null]]);
	});

	test("keeps its CRS in the type, after the file was opened again too", async () => {
		const receipt = await at.insert(await arrow(wkb("OGC:CRS84")));
		expect([receipt.columns[0]?.duckdb_type, receipt.warnings]).toEqual([
			"GEOMETRY('OGC:CRS84')",
			[],
		]);
		expect(await at.sql("SELECT data_type FROM duckdb_columns() WHERE table_name = 't'")).toEqual([
			["GEOMETRY('OGC:CRS84')"],
		]);
		await at.insert({ mode: "append", ...(await arrow(wkb("OGC:CRS84"))) });
	});

	test("in a file of an older storage version the CRS is lost by DuckDB, and the receipt says so", async () => {
		await at.sql("CREATE TABLE other(id INTEGER)");
		const receipt = await at.insert(await arrow(wkb("OGC:CRS84")));
		expect(receipt.warnings).toMatchObject([{ code: "crs_dropped", column: "g" }]);
		expect(await at.sql("SELECT data_type FROM duckdb_columns() WHERE table_name = 't'")).toEqual([
			["GEOMETRY"],
		]);
	});

	test("with a CRS into a column without one is crs_dropped, into one with another schema_mismatch", async () => {
		await at.insert({ table: "none", ...(await arrow(wkb())) });
		const receipt = await at.insert({ table: "none", ...(await arrow(wkb("OGC:CRS84"))) });
		expect(receipt.warnings).toMatchObject([{ code: "crs_dropped", column: "g" }]);
		await at.insert({ table: "other", ...(await arrow(wkb("OGC:CRS83"))) });
		const error = await at.refusal({ table: "other", ...(await arrow(wkb("OGC:CRS84"))) });
		expect([error.code, error.place.column]).toEqual(["schema_mismatch", "g"]);
	});
});

describe("copied Arrow bodies", () => {
	test("give the same rows and receipt, but for the engine's name", async () => {
		const table = tableOf({
			id: vectorFromArray(
				Array.from({ length: 1000 }, (_, n) => n),
				new Int32(),
			),
			name: vectorFromArray(
				Array.from({ length: 1000 }, (_, n) => `name ${n}`.repeat(n % 5)),
				new Utf8(),
			),
		});
		const pinned = await at.insert({ table: "pinned", ...(await arrow(table)) });
		const copying = new SinkFixture({ target: at.options.target, copyArrow: true });
		await at.close();
		const copied = await copying.insert({ table: "copied", ...(await arrow(table)) });
		await copying.remove();
		expect(copied.engine).toBe("duckdb v1.5.5 (arrow copied)");
		const same = { engine: "", table: "", load_id: "" };
		expect({ ...copied, ...same }).toEqual({ ...pinned, ...same });
		expect(await at.sql("SELECT count(*) FROM (FROM pinned EXCEPT ALL FROM copied)")).toEqual([
			["0"],
		]);
	});
});

describe("text of the upload that becomes part of a type's SQL", () => {
	const attack = `x'), y INTEGER); DROP TABLE victim; CREATE TABLE z(a INTEGER); --`;

	test("a quote in a CRS stays in the CRS", async () => {
		// By the sink: a file that DuckDB makes itself keeps no CRS.
		await at.insert({
			table: "victim",
			...(await arrow(tableOf({ id: vectorFromArray([1], new Int32()) }))),
		});
		const point = new Uint8Array(21);
		point.set([1, 1]);
		const crs = { type: "GeographicCRS", name: attack, id: { authority: "X'", code: 1 } };
		const table = withMetadata("g", vectorFromArray([point], new Binary()), {
			"ARROW:extension:name": "geoarrow.wkb",
			"ARROW:extension:metadata": JSON.stringify({ crs }),
		});
		const [outcome] = await at.insertAll(await arrow(table));
		expect(outcome).toHaveProperty("receipt");
		expect(await at.sql("FROM victim")).toEqual([[1]]);
		const [[type]] = (await at.sql(
			"SELECT data_type FROM duckdb_columns() WHERE table_name = 't'",
		)) as [[string]];
		expect(type).toContain(attack.replaceAll("'", "''"));
		await at.insert({ mode: "append", ...(await arrow(table)) });
	});

	test.each([
		attack,
		"'); ATTACH '/etc/passwd' AS p; --",
		"../../../etc/passwd",
		"/etc/passwd",
		"read_text('/etc/passwd')",
		"httpfs",
		"duckdb.geometry",
		"arrow.opaque",
		"arrow.uuid ",
		"ARROW.JSON",
		"x".repeat(100_000),
		"\0",
	])("an extension that is named to do harm is its storage, and no more: %j", async (name) => {
		await at.sql("CREATE TABLE victim(id INTEGER)", "INSERT INTO victim VALUES (1)");
		const table = withMetadata(
			"c",
			vectorFromArray(["/etc/passwd", name.slice(0, 99)], new Utf8()),
			{
				"ARROW:extension:name": name,
				"ARROW:extension:metadata": JSON.stringify({
					type_name: name,
					vendor_name: "DuckDB",
					crs: name,
				}),
			},
		);
		for (const mode of ["create", "append"] as const) {
			const receipt = await at.insert({ mode, ...(await arrow(table)) });
			expect(receipt.columns.map(({ duckdb_type }) => duckdb_type)).toEqual(["VARCHAR"]);
		}
		expect(await at.sql("SELECT DISTINCT c FROM t ORDER BY length(c) = 11 DESC")).toEqual(
			expect.arrayContaining([["/etc/passwd"], [name.slice(0, 99)]]),
		);
		expect(await at.sql("FROM victim")).toEqual([[1]]);
		expect(await at.sql("SELECT count(*)::INT FROM duckdb_databases() WHERE NOT internal")).toEqual(
			[[1]],
		);
	});

	test("quotes in names of nested fields stay in the names", async () => {
		await at.sql("CREATE TABLE victim(id INTEGER)", "INSERT INTO victim VALUES (1)");
		const names = [attack, `"${attack}`, `a" INTEGER); DROP TABLE victim; --`];
		const type = new Struct(names.map((name) => new Field(name, new Int32(), true)));
		const value = Object.fromEntries(names.map((name, n) => [name, n]));
		const table = tableOf({ s: vectorFromArray([value], type) });
		await at.insert(await arrow(table));
		await at.insert({
			on_extra_columns: "add",
			table: "victim",
			...(await arrow(
				tableOf({ id: vectorFromArray([2], new Int32()), s: vectorFromArray([value], type) }),
			)),
		});
		expect(await at.sql("SELECT s FROM t")).toEqual([[value]]);
		expect(await at.sql("SELECT id FROM victim ORDER BY id")).toEqual([[1], [2]]);
	});
});
