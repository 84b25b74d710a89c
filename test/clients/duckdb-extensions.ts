/** DuckDB's signed extensions from Python's package index, laid out as DuckDB looks for them. */
import { execFileSync } from "node:child_process";
import { copyFileSync, mkdirSync, mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DuckDBInstance, version } from "@duckdb/node-api";
import { pythonWith } from "./python-venv.ts";

/** Packages by the names that DuckDB loads. */
const packages = {
	ducklake: "ducklake",
	postgres_scanner: "postgres",
	httpfs: "httpfs",
	motherduck: "motherduck",
} as const;

/** The folder for `extension_directory`. */
export async function extensionFolder(): Promise<string> {
	const number = version().slice(1);
	const wanted = Object.values(packages).map((name) => `duckdb-extension-${name}==${number}`);
	const python = pythonWith("duckdb-extensions", wanted);
	const query = "import sysconfig; print(sysconfig.get_paths()['purelib'])";
	const site = execFileSync(python, ["-c", query], { encoding: "utf8" }).trim();
	const folder = mkdtempSync(join(tmpdir(), "duckdock-extensions-"));
	const place = join(folder, version(), await platform());
	mkdirSync(place, { recursive: true });
	for (const [name, from] of Object.entries(packages)) {
		copyFileSync(
			join(site, `duckdb_extension_${from}/extensions`, version(), `${from}.duckdb_extension`),
			join(place, `${name}.duckdb_extension`),
		);
	}
	return folder;
}

async function platform(): Promise<string> {
	const instance = await DuckDBInstance.create(":memory:");
	const connection = await instance.connect();
	const rows = await (await connection.run("PRAGMA platform")).getRowsJS();
	connection.closeSync();
	instance.closeSync();
	return String(rows[0]![0]);
}
