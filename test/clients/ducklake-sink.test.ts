/**
 * The sink on DuckLake, whose tables have no keys: exactly once rests on the fence row.
 */
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { version } from "@duckdb/node-api";
import { afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { systemClock } from "../../src/clock.ts";
import { IngestError } from "../../src/errors.ts";
import { attachDatabase } from "../../src/insert/duckdb/attached-database.ts";
import { tenantTarget } from "../../src/insert/duckdb/targets.ts";
import { defaultLimits } from "../../src/limits.ts";
import { silentLog } from "../../src/log.ts";
import { readParquetFooter } from "../../src/parquet/parquet-footer.ts";
import { parseTarget } from "../../src/target-template.ts";
import { field, int32, struct, utf8 } from "../contract/arrow-columns.ts";
import { parquetOf } from "../contract/parquet-bytes.ts";
import { SinkFixture } from "../contract/sink-fixture.ts";
import { hasPython, pythonWith } from "./python-venv.ts";

/** Python's package index has DuckDB's signed extensions, of this very version. */
const requirement = `duckdb-extension-ducklake==${version().slice(1)}`;
const isThere = hasPython();
let extension = "";
beforeAll(() => {
	if (!isThere) return console.warn("skipped: the sink on DuckLake needs python3 with venv");
	const python = pythonWith("ducklake", [requirement]);
	const query = "import sysconfig; print(sysconfig.get_paths()['purelib'])";
	const packages = execFileSync(python, ["-c", query], { encoding: "utf8" }).trim();
	const versions = join(packages, "duckdb_extension_ducklake/extensions", version());
	extension = join(versions, "ducklake.duckdb_extension");
});

let folder: string;
let lake: SinkFixture;
const options = () => ({
	target: `ducklake:${folder}/{tenant}.ducklake`,
	extensionFiles: { ducklake: extension },
	parquetFolder: join(folder, "copies"),
});
beforeEach(() => {
	folder = mkdtempSync(join(tmpdir(), "duckdock-lake-"));
	lake = new SinkFixture(options());
});
afterEach(async () => {
	await lake.remove();
	rmSync(folder, { recursive: true, force: true });
});

const never = new AbortController().signal;
const twoRows = () => [int32("id", [1, 2]), utf8("name", ["a", null])];

/** Rows that another instance reads. */
async function sql(...statements: string[]): Promise<unknown[][]> {
	await lake.close();
	const attached = await attachDatabase(
		tenantTarget(parseTarget(options().target), "acme"),
		{ ...options(), clock: systemClock, log: silentLog, lockWaitMs: 1_000 },
		AbortSignal.timeout(20_000),
	);
	const connection = await attached.connect();
	try {
		let last: unknown[][] = [];
		for (const one of statements) last = await (await connection.run(one)).getRowsJson();
		return last;
	} finally {
		connection.closeSync();
		await attached.close();
	}
}

describe.skipIf(!isThere)("on DuckLake", () => {
	test("creates, appends and replaces, each with its row in the ledger", async () => {
		expect((await lake.insert({ table: "raw.t", columns: twoRows() })).created_table).toBe(true);
		await lake.insert({ table: "raw.T", mode: "append", columns: [int32("id", [3])] });
		expect(await sql("SELECT id, name FROM target.raw.t ORDER BY id")).toEqual([
			[1, "a"],
			[2, null],
			[3, null],
		]);
		await lake.insert({ table: "raw.t", mode: "replace", columns: [utf8("x", ["y"])] });
		expect(await sql("FROM target.raw.t")).toEqual([["y"]]);
		expect(await sql("SELECT count(*) FROM target._duckdock.loads")).toEqual([["3"]]);
	});

	test("writes data files that stay within the lake's folder", async () => {
		const ids = Array.from({ length: 20_000 }, (_, n) => n);
		await lake.insert({ batches: Array.from({ length: 10 }, () => [int32("id", ids)]) });
		expect(await sql("SELECT count(*), sum(id) FROM target.main.t")).toEqual([
			["200000", String(19_999 * 10_000 * 10)],
		]);
	});

	test("takes Parquet files from its tenant's own folder", async () => {
		const bytes = await parquetOf("SELECT range AS id, [range] AS l FROM range(5000)");
		const path = join(options().parquetFolder, "acme/x.parquet");
		mkdirSync(dirname(path), { recursive: true });
		writeFileSync(path, bytes);
		const read = async (offset: number, length: number) => bytes.slice(offset, offset + length);
		const footer = await readParquetFooter({ size: bytes.length, read }, defaultLimits);
		const counts = { bytes: bytes.length, repr_digest: "" };
		const remove = async () => rmSync(path);
		const reader = await lake.sink().openParquet({ path, footer, counts, remove }, never);
		const receipt = await lake.insert({ reader: () => reader });
		expect(receipt).toMatchObject({ rows_inserted: 5_000, created_table: true });
		await reader.close();
		expect(await sql("SELECT count(*), sum(l[1]) FROM target.main.t")).toEqual([
			["5000", "12497500"],
		]);
	});

	test("nothing is left of a load that fails", async () => {
		await lake.insert({ columns: twoRows() });
		await lake.refusal({ columns: twoRows(), rows: 9 });
		await lake.refusal({ columns: twoRows(), fails: new IngestError("invalid_arrow", "broken") });
		await lake.refusal({
			mode: "replace",
			columns: twoRows(),
			beforeCommit: () => Promise.reject(new IngestError("digest_mismatch", "x")),
		});
		expect(await sql("SELECT count(*) FROM target.main.t")).toEqual([["2"]]);
		expect(await sql("SELECT count(*) FROM target._duckdock.loads")).toEqual([["1"]]);
	});

	test("receipts come back as they went in", async () => {
		const receipt = await lake.insert({
			columns: twoRows(),
			warnings: [{ code: "lossy_cast", detail: "ü" }],
		});
		await lake.close();
		expect(await (await lake.database()).findLoad(receipt.load_id)).toEqual(receipt);
	});

	test("loads at once are all committed, once each, also those of the same id", async () => {
		await Promise.all([
			...Array.from({ length: 4 }, () => lake.insert({ loadId: "01SAME", columns: twoRows() })),
			...Array.from({ length: 4 }, (_, n) => lake.insert({ table: `t${n}`, columns: twoRows() })),
		]);
		expect(await sql("SELECT count(*) FROM target.main.t")).toEqual([["2"]]);
		expect(
			await sql("SELECT count(*), count(DISTINCT load_id) FROM target._duckdock.loads"),
		).toEqual([["5", "5"]]);
	});

	test("of two loaders that both looked and both insert, one conflicts at the fence and inserts nothing", async () => {
		await lake.insert({ columns: [int32("id", [0])] });
		await sql("SELECT 1");
		// Two connections that know nothing of each other, as two processes would be.
		const attached = await attachDatabase(
			tenantTarget(parseTarget(options().target), "acme"),
			{ ...options(), clock: systemClock, log: silentLog, lockWaitMs: 1_000 },
			AbortSignal.timeout(20_000),
		);
		const { runLoads } = await import("../../src/insert/duckdb/load-transaction.ts");
		const { createSemaphore } = await import("../../src/insert/duckdb/semaphore.ts");
		const { jobOf } = await import("../contract/sink-fixture.ts");
		const bothIn = Promise.withResolvers<void>();
		let inside = 0;
		const load = async () => {
			const connection = await attached.connect();
			const job = jobOf({
				loadId: "01TWICE",
				mode: "append",
				columns: [int32("id", [1])],
				beforeCommit: async () => {
					if (++inside === 2) bothIn.resolve();
					await bothIn.promise;
				},
			});
			try {
				return await runLoads(connection, [job], {
					target: attached.target,
					known: attached.known,
					engine: "duckdb",
					copyArrow: false,
					statements: createSemaphore(2),
					signal: job.signal,
					peeked: [{ exists: true, table: null }],
				});
			} finally {
				connection.closeSync();
			}
		};
		const settled = await Promise.allSettled([load(), load()]);
		await attached.close();
		expect(settled.map((one) => one.status).sort()).toEqual(["fulfilled", "rejected"]);
		const lost = settled.find((one) => one.status === "rejected");
		expect((lost as PromiseRejectedResult).reason.name).toBe("TransactionConflict");
		expect(await sql("SELECT count(*) FROM target.main.t")).toEqual([["2"]]);
		expect(
			await sql("SELECT count(*) FROM target._duckdock.loads WHERE load_id = '01TWICE'"),
		).toEqual([["1"]]);
	});

	test("a type that DuckLake has not is unsupported_type with its column", async () => {
		const item = field("item", { kind: "int", bits: 32, signed: true });
		const array = {
			field: field("xyz", { kind: "fixed_size_list", size: 2 }, { children: [item] }),
			data: {
				length: 1,
				nullCount: 0,
				buffers: [null],
				children: [int32("item", [1, 2]).data],
				dictionary: null,
			},
		};
		const error = await lake.refusal({ columns: [int32("id", [1]), array] });
		expect([error.code, error.place.column]).toEqual(["unsupported_type", "xyz"]);
	});

	test("nested fields, NOT NULL and missing columns are as on a file", async () => {
		await lake.insert({
			columns: [int32("id", [1], { nullable: false }), struct("s", [int32("a", [1])])],
		});
		const missing = await lake.refusal({ columns: [struct("s", [int32("a", [1])])] });
		expect([missing.code, missing.place.column]).toEqual(["schema_mismatch", "id"]);
		const nested = await lake.refusal({
			columns: [int32("id", [2]), struct("s", [int32("a", [1]), int32("b", [1])])],
		});
		expect([nested.code, nested.place.column]).toEqual(["schema_mismatch", "s.b"]);
		const nulls = await lake.refusal({ columns: [int32("id", [null])] });
		expect([nulls.code, nulls.place.column]).toEqual(["constraint_violation", "id"]);
	});

	test.each(["SELECT * FROM read_text('/etc/passwd')", "SELECT * FROM glob('/*')", "LOAD httpfs"])(
		"an instance refuses: %s",
		async (statement) => {
			await lake.insert({ columns: twoRows() });
			await expect(sql(statement)).rejects.toThrow(/disabled|Cannot/);
		},
	);
});
