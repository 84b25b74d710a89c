/** Parquet files that appear under `drop/`: from the bucket's message to rows, with the real sink. */
import { mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { hostname } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { systemClock } from "../../src/clock.ts";
import { attachDatabase } from "../../src/insert/duckdb/attached-database.ts";
import { tenantTarget } from "../../src/insert/duckdb/targets.ts";
import { defaultLimits, type Limits } from "../../src/limits.ts";
import { silentLog } from "../../src/log.ts";
import { nodeCodecs } from "../../src/replay/node-codecs.ts";
import { createParquetCopies } from "../../src/replay/parquet-copies.ts";
import { takeParquet } from "../../src/replay/parquet-drops.ts";
import { parseTarget } from "../../src/target-template.ts";
import { arrowNumbers } from "./arrow-bytes.ts";
import { allowDrops, announce, dropFile } from "./drop-file.ts";
import { everyType, parquetOf } from "./parquet-bytes.ts";
import { ReplayWorld } from "./replay-world.ts";

let world: ReplayWorld;

beforeEach(async () => {
	world = new ReplayWorld();
	await allowDrops(world);
	world.start();
});
afterEach(async () => {
	await world.stop();
	await world.fixture.remove();
});

const drop = (name: string, bytes: Uint8Array) => dropFile(world, name, bytes);

async function rows(sql: string): Promise<unknown[][]> {
	await world.stop();
	return world.fixture.sql(sql);
}

/** Copies that lie around. */
const copies = () =>
	readdirSync(dirname(world.copies.folder), { recursive: true }).filter((name) =>
		String(name).endsWith(".parquet"),
	);

/** Everywhere: in its page and in the statistics, which would tell otherwise. */
function replaceInt64(bytes: Uint8Array, was: bigint, now: bigint): Uint8Array {
	const found = bytes.slice();
	const view = new DataView(found.buffer);
	for (let at = 0; at + 8 <= found.length; at++) {
		if (view.getBigInt64(at, true) === was) view.setBigInt64(at, now, true);
	}
	return found;
}

const numbers = (count: number, first = 0) =>
	parquetOf(`SELECT range + ${first} AS n FROM range(${count})`);

describe("a Parquet file under drop/", () => {
	it("becomes rows, with a receipt that counts row groups and the file's own bytes", async () => {
		const bytes = await parquetOf(
			"SELECT range AS n, 'row ' || range AS t FROM range(300000)",
			", ROW_GROUP_SIZE 100000",
		);
		const receipt = await drop("raw/events/day=1/a b.parquet", bytes);
		expect(receipt).toMatchObject({
			status: "committed",
			table: "raw.events",
			mode: "create_append",
			rows_streamed: 300_000,
			rows_inserted: 300_000,
			batches: 3,
			parts: 1,
			bytes: bytes.length,
			created_table: true,
			columns: [
				{ name: "n", arrow_type: "int64", duckdb_type: "BIGINT" },
				{ name: "t", arrow_type: "string", duckdb_type: "VARCHAR" },
			],
			source: { kind: "drop", key: "drop/acme/raw/events/day=1/a b.parquet" },
		});
		const sha256 = nodeCodecs.createSha256();
		sha256.update(bytes);
		const digest = Buffer.from(sha256.digestHex(), "hex").toString("base64");
		expect(receipt.repr_digest).toBe(`sha-256=:${digest}:`);
		expect(copies()).toEqual([]);
		expect(await rows("SELECT count(*)::INT, sum(n)::BIGINT, max(t) FROM raw.events")).toEqual([
			[300_000, "44999850000", "row 99999"],
		]);
		expect(await rows("SELECT load_id, rows_inserted::INT FROM _duckdock.loads")).toEqual([
			[receipt.load_id, 300_000],
		]);
	});

	it("loads once however often its event comes, and each version once", async () => {
		const info = (await world.store.put("drop/acme/main/t/x.parquet", await numbers(5)))!;
		const object = { key: info.key, size: info.size, eTag: info.etag };
		const first = await announce(world, object);
		for (let n = 0; n < 20; n++)
			expect((await announce(world, object)).load_id).toBe(first.load_id);
		await drop("main/t/x.parquet", await numbers(2, 100));
		expect(await rows("SELECT count(*)::INT, max(n)::INT FROM t")).toEqual([[7, 101]]);
	});

	it("is known by its bytes where its name doesn't say it, and stands beside Arrow in one table", async () => {
		expect((await drop("main/t/one", await numbers(3))).status).toBe("committed");
		expect((await drop("main/t/two.PARQUET", await numbers(2))).status).toBe("committed");
		expect((await drop("main/u/three.arrow", arrowNumbers(2))).status).toBe("committed");
		expect(await rows("SELECT count(*)::INT FROM t")).toEqual([[5]]);
	});

	it("appends, creates and replaces as the rule and its place say", async () => {
		await drop("main/t/a.parquet", await numbers(3));
		const replaced = await drop(
			"main/t/mode=replace/b.parquet",
			await parquetOf("SELECT 'x' AS other"),
		);
		expect(replaced).toMatchObject({ status: "committed", mode: "replace", created_table: false });
		const refused = await drop("main/t/c.parquet", await numbers(1));
		expect(refused).toMatchObject({
			status: "failed",
			error: { code: "schema_mismatch", column: "n" },
		});
		expect(await rows("SELECT * FROM t")).toEqual([["x"]]);
	});

	it("is cast into the columns that are there, and what does not fit is refused whole", async () => {
		await world.fixture.sql("CREATE TABLE t (n TINYINT, more VARCHAR DEFAULT 'd')");
		expect(await drop("main/t/a.parquet", await numbers(100))).toMatchObject({
			status: "committed",
			columns_defaulted: ["more"],
			columns: [{ name: "n", arrow_type: "int64", duckdb_type: "TINYINT" }],
		});
		expect(await drop("main/t/b.parquet", await numbers(200))).toMatchObject({
			status: "failed",
			error: { code: "cast_failed" },
		});
		expect(await rows("SELECT count(*)::INT, max(n)::INT, min(more) FROM t")).toEqual([
			[100, 99, "d"],
		]);
	});

	it.each(["UNCOMPRESSED", "SNAPPY", "GZIP", "ZSTD", "BROTLI", "LZ4_RAW"])(
		"has every type's values as they were, compressed with %s",
		async (codec) => {
			const options = `, COMPRESSION ${codec}, ROW_GROUP_SIZE 100, PARQUET_VERSION ${codec === "ZSTD" ? "V2" : "V1"}`;
			const receipt = await drop("main/t/all.parquet", await parquetOf(everyType, options));
			expect(receipt).toMatchObject({ status: "committed", rows_inserted: 256, warnings: [] });
			await world.stop();
			const [[missing, extra, types]] = (await world.fixture.sql(
				"SET threads = 1",
				`CREATE TABLE wanted AS ${everyType}`,
				`SELECT (SELECT count(*)::INT FROM (SELECT * FROM wanted EXCEPT ALL SELECT * FROM t)),
					(SELECT count(*)::INT FROM (SELECT * FROM t EXCEPT ALL SELECT * FROM wanted)),
					(SELECT list(column_name || ' ' || data_type) FROM duckdb_columns() WHERE table_name = 't')`,
			)) as [[number, number, string[]]];
			expect([missing, extra]).toEqual([0, 0]);
			const [[wanted]] = (await world.fixture.sql(
				"SELECT list(column_name || ' ' || data_type) FROM duckdb_columns() WHERE table_name = 'wanted'",
			)) as [[string[]]];
			expect(types).toEqual(wanted);
		},
	);

	it("keeps geometries with their CRS", async () => {
		const points = "SELECT ('POINT(' || range || ' 2)')::GEOMETRY('OGC:CRS84') AS g FROM range(10)";
		const receipt = await drop("main/t/g.parquet", await parquetOf(points));
		expect(receipt.columns).toEqual([
			{
				name: "g",
				arrow_type: "extension<geoarrow.wkb, storage=binary>",
				duckdb_type: "GEOMETRY('OGC:CRS84')",
			},
		]);
		expect(await rows("SELECT max(g::VARCHAR) FROM t")).toEqual([["POINT (9 2)"]]);
	});

	it("is refused with its reason where it is none, cut, encrypted or another thing's", async () => {
		const whole = await numbers(1_000);
		const encrypted = await parquetOf(
			"SELECT 1 AS n",
			", ENCRYPTION_CONFIG {footer_key: 'k'}",
			"SET force_mbedtls_unsafe = 'true'",
			"PRAGMA add_parquet_key('k', '0123456789012345')",
		);
		const text = new TextEncoder().encode("a,b\n1,2\n");
		const cases: [name: string, bytes: Uint8Array, code: string, detail: RegExp][] = [
			["csv.parquet", text, "not_arrow", /no Parquet file: it does not begin with PAR1/],
			["empty.parquet", new Uint8Array(0), "not_arrow", /no Parquet file/],
			["magic.parquet", whole.subarray(0, 4), "truncated_stream", /ends without its footer/],
			[
				"cut.parquet",
				whole.subarray(0, whole.length - 9),
				"truncated_stream",
				/ends without its footer/,
			],
			["encrypted.parquet", encrypted, "unsupported_codec", /encrypted/],
			["encrypted", encrypted, "unsupported_codec", /encrypted/],
			["same.parquet", await parquetOf("SELECT {'a': 1, 'b': 2} AS c, 1 AS d"), "", /./],
		];
		for (const [name, bytes, code, detail] of cases) {
			const receipt = await drop(`main/t_${name.replace(".", "_")}/${name}`, bytes);
			expect([name, receipt.error?.code ?? ""]).toEqual([name, code]);
			if (code !== "") expect(receipt.error!.detail).toMatch(detail);
			expect(receipt.attempts).toBe(1);
		}
		expect(copies()).toEqual([]);
		expect(
			await rows("SELECT count(*)::INT FROM duckdb_tables() WHERE schema_name = 'main'"),
		).toEqual([[1]]);
	});

	it("is refused where a page is broken, with the column, and the database goes on", async () => {
		const bytes = await parquetOf(
			"SELECT range AS good, 'v' || range AS bad FROM range(50000)",
			", COMPRESSION ZSTD",
		);
		// The chunk of the second column ends where the footer begins.
		const footer = new DataView(bytes.buffer, bytes.byteOffset + bytes.length - 8).getUint32(
			0,
			true,
		);
		const broken = bytes.slice();
		broken.fill(0x55, bytes.length - 8 - footer - 2_000, bytes.length - 8 - footer - 100);
		const receipt = await drop("main/t/x.parquet", broken);
		expect(receipt.error).toMatchObject({ code: "invalid_arrow", column: "bad", retryable: false });
		expect(receipt.error!.detail).not.toContain(world.fixture.folder);
		expect((await drop("main/t/y.parquet", bytes)).status).toBe("committed");
		expect(await rows("SELECT count(*)::INT FROM t")).toEqual([[50_000]]);
	});

	it.each([
		[
			"TIME",
			"TIME '10:00:00'",
			36_000_000_000n,
			[-1n, 86_400_000_001n, 2n ** 62n],
			"invalid_arrow",
		],
		["TIME in a list", "[TIME '10:00:00']", 36_000_000_000n, [2n ** 62n], "invalid_arrow"],
		[
			"TIME in a map",
			"MAP {'k': {'t': TIME '10:00:00'}}",
			36_000_000_000n,
			[2n ** 62n],
			"invalid_arrow",
		],
		[
			"TIMESTAMP",
			"TIMESTAMP '1970-01-01 10:00:00'",
			36_000_000_000n,
			[-(2n ** 63n) + 9n],
			"cast_failed",
		],
		[
			"TIMESTAMPTZ",
			"TIMESTAMPTZ '1970-01-01 10:00:00+00'",
			36_000_000_000n,
			[-(2n ** 63n) + 9n],
			"cast_failed",
		],
		[
			"TIMESTAMP_NS",
			"TIMESTAMP_NS '1970-01-01 00:00:36'",
			36_000_000_000n,
			[-(2n ** 63n) + 9n],
			"cast_failed",
		],
		[
			"DECIMAL",
			"360000000.00::DECIMAL(18, 2)",
			36_000_000_000n,
			[10n ** 18n, -(10n ** 18n)],
			"invalid_arrow",
		],
	] as const)(
		"is refused where a %s is none, which DuckDB's reader lets through",
		async (name, sql, was, values, code) => {
			const bytes = await parquetOf(
				`SELECT ${sql} AS v FROM range(3)`,
				", COMPRESSION UNCOMPRESSED",
			);
			for (const value of values) {
				const receipt = await drop("main/t/x.parquet", replaceInt64(bytes, was, value));
				expect([
					name,
					value,
					receipt.error?.code,
					receipt.error?.column,
					receipt.error?.row,
				]).toEqual([name, value, code, "v", 0]);
			}
			expect((await drop("main/t/y.parquet", bytes)).status).toBe("committed");
		},
	);

	it("may have columns that are named as DuckDB names its own", async () => {
		const sql =
			"SELECT 'x' AS File_Row_Number, 'y' AS filename, 'z' AS rowid, TIME '10:00:00' AS v FROM range(3)";
		const bytes = await parquetOf(sql, ", COMPRESSION UNCOMPRESSED");
		const broken = replaceInt64(bytes, 36_000_000_000n, -1n);
		const { error } = await drop("main/t/x.parquet", broken);
		expect(error).toMatchObject({ code: "invalid_arrow", column: "v" });
		expect(error).not.toHaveProperty("row");
		expect((await drop("main/t/y.parquet", bytes)).status).toBe("committed");
		expect(
			await rows('SELECT File_Row_Number, filename, t."rowid", v::VARCHAR FROM t LIMIT 1'),
		).toEqual([["x", "y", "z", "10:00:00"]]);
	});

	it("is held to the limits of a load", async () => {
		const limited = async (limits: Partial<Limits>, bytes: Uint8Array) => {
			await world.stop();
			const all = { ...defaultLimits, ...limits };
			const reader = { openReader: world.deps.openReader };
			const {
				copies,
				deps: { sink },
			} = world;
			world.start({}, takeParquet(reader, { copies, sink, limits: all }));
			return (await drop(`main/t/${bytes.length}.parquet`, bytes)).error;
		};
		const wide = await parquetOf(
			`SELECT ${Array.from({ length: 12 }, (_, n) => `${n} AS c${n}`).join(", ")}`,
		);
		expect(await limited({ maxColumns: 11 }, wide)).toMatchObject({ code: "too_large" });
		expect(await limited({ maxMetadataBytes: 200 }, wide)).toMatchObject({ code: "too_large" });
		// A few hundred bytes that unpack to a million rows.
		const bomb = await parquetOf(
			"SELECT 7 AS n FROM range(10000000)",
			", COMPRESSION ZSTD, ROW_GROUP_SIZE 10000000",
		);
		expect(bomb.length).toBeLessThan(100_000);
		expect(await limited({ maxUploadBytes: 1_000_000 }, bomb)).toMatchObject({ code: "too_large" });
		expect(copies()).toEqual([]);
	});

	it("is read from its tenant's own folder, and an instance reaches no other file for it", async () => {
		const { folder } = world.copies;
		const bytes = await numbers(7);
		for (const tenant of ["acme", "other", "acme.parquet"]) {
			mkdirSync(join(folder, tenant), { recursive: true });
			writeFileSync(join(folder, tenant, "x.parquet"), bytes);
		}
		writeFileSync(join(folder, "x.parquet"), bytes);
		const options = {
			parquetFolder: folder,
			clock: systemClock,
			log: silentLog,
			lockWaitMs: 1_000,
		};
		const target = tenantTarget(parseTarget(world.fixture.options.target), "acme");
		const attached = await attachDatabase(target, options, AbortSignal.timeout(20_000));
		const connection = await attached.connect();
		try {
			const read = (path: string) =>
				connection.run(`SELECT * FROM read_parquet('${join(folder, path)}')`);
			expect((await (await read("acme/x.parquet")).getRowsJS()).length).toBe(7);
			for (const path of [
				"other/x.parquet",
				"acme/../other/x.parquet",
				"x.parquet",
				"*/x.parquet",
				"acme.parquet/x.parquet",
			]) {
				await expect(read(path), path).rejects.toThrow("Permission Error");
			}
			await expect(connection.run("SELECT * FROM read_text('/etc/passwd')")).rejects.toThrow(
				"Permission Error",
			);
			await expect(connection.run("SET GLOBAL allowed_directories = ['/']")).rejects.toThrow(
				"locked",
			);
		} finally {
			connection.closeSync();
			await attached.close();
		}
	});

	it("leaves no copy behind a loader that died: the next one on this machine removes it", async () => {
		const parent = dirname(world.copies.folder);
		const dead = join(parent, `${hostname()}@999999999`, "acme");
		const other = join(parent, "another-host@1", "acme");
		for (const folder of [dead, other]) {
			mkdirSync(folder, { recursive: true });
			writeFileSync(join(folder, "left.parquet"), "left");
		}
		createParquetCopies(world.fixture.folder, nodeCodecs.createSha256);
		expect(readdirSync(parent)).toEqual(["another-host@1"]);
	});
});
