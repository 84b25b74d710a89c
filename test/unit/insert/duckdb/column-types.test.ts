import {
	ARRAY,
	BIGINT,
	BIT,
	BLOB,
	BOOLEAN,
	DATE,
	DECIMAL,
	DOUBLE,
	DuckDBGeometryType,
	DuckDBInstance,
	type DuckDBType,
	DuckDBTypeId,
	DuckDBVarCharType,
	DuckDBVariantType,
	ENUM,
	FLOAT,
	HUGEINT,
	INTEGER,
	INTERVAL,
	LIST,
	MAP,
	SMALLINT,
	STRUCT,
	TIME,
	TIME_NS,
	TIMESTAMP,
	TIMESTAMP_MS,
	TIMESTAMP_NS,
	TIMESTAMP_S,
	TIMESTAMPTZ,
	TIMETZ,
	UBIGINT,
	UINTEGER,
	UNION,
	USMALLINT,
	UUID,
	VARCHAR,
} from "@duckdb/node-api";
import { describe, expect, test } from "vitest";
import { judgeCast } from "../../../../src/insert/duckdb/column-types.ts";
import { field, nulls } from "../../../contract/arrow-columns.ts";

const JSON_TYPE = DuckDBVarCharType.create("JSON");
const VARIANT = DuckDBVariantType.instance;
const geometry = (crs?: string) => DuckDBGeometryType.create(undefined, crs);
const kinds = (from: DuckDBType, to: DuckDBType) =>
	judgeCast("c", null, from, to).map((note) => note.kind);

const everyType = [
	BOOLEAN,
	INTEGER,
	UBIGINT,
	HUGEINT,
	DOUBLE,
	DECIMAL(10, 2),
	VARCHAR,
	JSON_TYPE,
	BLOB,
	BIT,
	UUID,
	DATE,
	TIME,
	TIME_NS,
	TIMETZ,
	TIMESTAMP_S,
	TIMESTAMP_NS,
	TIMESTAMPTZ,
	INTERVAL,
	geometry("OGC:CRS84"),
	LIST(INTEGER),
	ARRAY(INTEGER, 2),
	STRUCT({ a: INTEGER, b: LIST(VARCHAR) }),
	MAP(VARCHAR, DATE),
	UNION({ a: INTEGER, b: VARCHAR }),
];

describe("judgeCast", () => {
	test.each(everyType.map((type) => [String(type), type] as const))(
		"%s fits itself and VARIANT",
		(_, type) => {
			expect(kinds(type, type)).toEqual([]);
			expect(kinds(type, VARIANT)).toEqual([]);
		},
	);

	const fits: [DuckDBType, DuckDBType][] = [
		[INTEGER, SMALLINT],
		[BIGINT, DECIMAL(5, 2)],
		[SMALLINT, FLOAT],
		[USMALLINT, FLOAT],
		[UINTEGER, DOUBLE],
		[BOOLEAN, INTEGER],
		[FLOAT, DOUBLE],
		[DECIMAL(10, 2), DECIMAL(5, 3)],
		[DECIMAL(10, 0), INTEGER],
		[DATE, TIMESTAMP_NS],
		[DATE, TIMESTAMPTZ],
		[TIMESTAMP_S, TIMESTAMP_NS],
		[TIMESTAMP, TIMESTAMPTZ],
		[TIME, TIMETZ],
		[VARCHAR, UUID],
		[VARCHAR, ENUM(["a"])],
		[VARCHAR, JSON_TYPE],
		[VARCHAR, geometry()],
		[JSON_TYPE, VARCHAR],
		[STRUCT({ a: INTEGER }), JSON_TYPE],
		[DATE, VARCHAR],
		[UUID, VARCHAR],
		[geometry(), geometry("OGC:CRS84")],
		[LIST(INTEGER), ARRAY(INTEGER, 3)],
		[ARRAY(INTEGER, 3), LIST(BIGINT)],
		[STRUCT({ B: INTEGER, a: INTEGER }), STRUCT({ A: BIGINT, b: INTEGER })],
		[INTEGER, UNION({ a: INTEGER })],
		[UNION({ a: INTEGER }), UNION({ b: VARCHAR, A: BIGINT })],
	];
	test.each(fits)("%s into %s fits", (from, to) => {
		expect(kinds(from, to)).toEqual([]);
	});

	const lossy: [DuckDBType, DuckDBType][] = [
		[INTEGER, FLOAT],
		[BIGINT, DOUBLE],
		[INTEGER, BOOLEAN],
		[DOUBLE, INTEGER],
		[DOUBLE, FLOAT],
		[DOUBLE, DECIMAL(10, 2)],
		[DECIMAL(10, 2), DECIMAL(10, 1)],
		[DECIMAL(10, 2), INTEGER],
		[DECIMAL(10, 2), DOUBLE],
		[TIMESTAMP_NS, TIMESTAMP],
		[TIMESTAMP, TIMESTAMP_MS],
		[TIMESTAMP, DATE],
		[TIMESTAMP, TIME],
		[TIMESTAMP_NS, TIMESTAMPTZ],
		[TIMESTAMPTZ, TIMESTAMP],
		[TIMESTAMPTZ, DATE],
		[TIME_NS, TIME],
		[TIMETZ, TIME],
		[VARCHAR, INTEGER],
		[VARCHAR, TIMESTAMP],
		[JSON_TYPE, STRUCT({ a: INTEGER })],
		[geometry(), VARCHAR],
	];
	test.each(lossy)("%s into %s is lossy", (from, to) => {
		expect(kinds(from, to)).toEqual(["lossy"]);
	});

	const refused: [DuckDBType, DuckDBType][] = [
		[BLOB, VARCHAR],
		[BLOB, UUID],
		[BLOB, geometry()],
		[VARCHAR, BLOB],
		[VARCHAR, LIST(VARCHAR)],
		[STRUCT({ a: INTEGER }), VARCHAR],
		[LIST(INTEGER), VARCHAR],
		[INTEGER, DATE],
		[DATE, INTEGER],
		[DATE, TIME],
		[TIME, TIME_NS],
		[TIME, TIMESTAMP],
		[TIMESTAMPTZ, TIME],
		[INTEGER, UUID],
		[INTERVAL, INTEGER],
		[INTEGER, LIST(INTEGER)],
		[LIST(INTEGER), INTEGER],
		[ARRAY(INTEGER, 2), ARRAY(INTEGER, 3)],
		[MAP(VARCHAR, INTEGER), STRUCT({ a: INTEGER })],
		[geometry("OGC:CRS84"), geometry("OGC:CRS83")],
		[DATE, UNION({ a: INTEGER, b: VARCHAR })],
		[UNION({ z: INTEGER }), UNION({ a: INTEGER })],
	];
	test.each(refused)("%s into %s is refused", (from, to) => {
		expect(kinds(from, to)).toEqual(["refused"]);
	});

	test("DuckDB has a conversion for every pair that is not refused", async () => {
		const samples = [
			"true",
			"1::TINYINT",
			"1::BIGINT",
			"1::UBIGINT",
			"1::HUGEINT",
			"1.5::FLOAT",
			"1.5::DOUBLE",
			"1.5::DECIMAL(4,2)",
			"'1'",
			"'1'::JSON",
			"'1'::BLOB",
			"'1'::BIT",
			"5::BIGNUM",
			"uuid()",
			"DATE '2026-11-30'",
			"TIME '10:00:00'",
			"'10:00:00'::TIME_NS",
			"'10:00:00+00'::TIMETZ",
			"'2026-11-30'::TIMESTAMP_S",
			"'2026-11-30'::TIMESTAMP_MS",
			"'2026-11-30'::TIMESTAMP",
			"'2026-11-30'::TIMESTAMP_NS",
			"'2026-11-30'::TIMESTAMPTZ",
			"INTERVAL 1 DAY",
			"'POINT (1 2)'::GEOMETRY",
			"[1]",
			"array_value(1)",
			"{'a': 1}",
			"map {'a': 1}",
			"union_value(a := 1)",
			"'a'::ENUM('a')",
			"1::VARIANT",
		];
		const instance = await DuckDBInstance.create(":memory:");
		const connection = await instance.connect();
		const missing: string[] = [];
		let judged = 0;
		for (const from of samples) {
			for (const to of samples) {
				const statement = await connection.prepare(`SELECT ${from} AS a, ${to} AS b`);
				const [sent, kept] = [statement.columnType(0), statement.columnType(1)];
				statement.destroySync();
				// What Arrow never brings.
				if (sent.typeId === DuckDBTypeId.ENUM || sent.typeId === DuckDBTypeId.VARIANT) continue;
				if (kinds(sent, kept).includes("refused")) continue;
				judged++;
				const typed = await connection.run(`SELECT typeof(${to})`);
				const name = (await typed.getRowsJS())[0]![0];
				await connection.run(`SELECT (x)::${name} FROM (SELECT ${from} AS x)`).catch((error) => {
					if (/Unimplemented type/.test(error.message)) missing.push(`${from} into ${name}`);
				});
			}
		}
		connection.closeSync();
		expect(missing).toEqual([]);
		expect(judged).toBeGreaterThan(250);
	});

	test("a CRS that the column has no place for is crs_dropped", () => {
		expect(kinds(geometry("OGC:CRS84"), geometry())).toEqual(["crs_dropped"]);
	});

	test("faults inside nested types name their path", () => {
		const sent = LIST(STRUCT({ n: DOUBLE, gone: INTEGER, m: MAP(VARCHAR, DATE) }));
		const kept = LIST(STRUCT({ n: FLOAT, m: MAP(VARCHAR, TIME), more: INTEGER }));
		const notes = judgeCast("rows", null, sent, kept);
		expect(notes.map((note) => [note.kind, note.path])).toEqual([
			["lossy", "rows[].n"],
			["refused", "rows[].gone"],
			["refused", "rows[].m.value"],
			["defaulted", "rows[].more"],
		]);
	});

	test("values that are all null by their Arrow type fit any column, at any depth", () => {
		const nothing = nulls("x", 0).field;
		expect(judgeCast("c", nothing, INTEGER, DATE)).toEqual([]);
		const list = field("c", { kind: "list" }, { children: [nothing] });
		expect(judgeCast("c", list, LIST(INTEGER), LIST(UUID))).toEqual([]);
	});
});
