/** Parquet files that pyarrow wrote, in each of its ways, dropped, and read back by DuckDB for Python. */
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { allowDrops, dropFile } from "../contract/drop-file.ts";
import { ReplayWorld } from "../contract/replay-world.ts";
import { root, runProcess } from "../e2e/world.ts";
import { librariesOfToday } from "./python-libraries.ts";
import { pythonWith } from "./python-venv.ts";

const folder = mkdtempSync(join(tmpdir(), "duckdock-pyarrow-"));
const world = new ReplayWorld();
let python: string;

beforeAll(async () => {
	python = pythonWith("libraries-of-today", librariesOfToday);
	await allowDrops(world);
	world.start();
});
afterAll(async () => {
	await world.end();
	await world.fixture.remove();
	rmSync(folder, { recursive: true });
});

const script = async (...args: string[]) => {
	const ran = await runProcess(python, [join(root, "test/clients/parquet-files.py"), ...args]);
	if (ran.code !== 0) throw new Error(ran.stderr);
	return ran.stdout;
};

it("every value of every type is what pyarrow wrote, in each of its codecs, encodings and versions", async () => {
	await script("write", folder);
	const files = readdirSync(folder).filter((name) => name.endsWith(".parquet"));
	expect(files.length).toBeGreaterThan(12);
	const lost = new Map<string, string[]>();
	for (const name of files) {
		const table = name.replace(".parquet", "");
		const receipt = await dropFile(
			world,
			`main/${table}/${name}`,
			readFileSync(join(folder, name)),
		);
		expect([name, receipt.error, receipt.status]).toEqual([name, undefined, "committed"]);
		expect(receipt.rows_inserted).toBe(table === "geo" ? 10 : 2_500);
		if (receipt.warnings.length > 0) {
			lost.set(
				table,
				receipt.warnings.map(({ code, column }) => `${code} ${column}`),
			);
		}
	}
	// INT96, and nothing else: all other ways keep their digits.
	const stamps = ["at_s", "at_ms", "at_us", "at_ns", "at_utc", "at_zone"];
	expect([...lost]).toEqual([["flavor", stamps.map((name) => `lossy_cast ${name}`)]]);
	const described = await world.receipts.history("acme", { limit: 100 });
	const zstd = described.receipts.find(({ table }) => table === "main.zstd")!;
	expect(zstd.batches).toBe(4);
	expect(zstd.columns.find(({ name }) => name === "u64")).toEqual({
		name: "u64",
		arrow_type: "uint64",
		duckdb_type: "UBIGINT",
	});
	await world.end();
	expect(await script("check", world.fixture.path, folder)).toMatch(/13 ways, 41 columns.*: equal/);
	const nullable = await world.fixture.sql(
		"SELECT column_name FROM duckdb_columns() WHERE table_name = 'plain' AND NOT is_nullable",
	);
	expect(nullable).toEqual([["must"]]);
});
