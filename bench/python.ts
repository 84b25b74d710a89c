/**
 * The rivals' Python: a virtual environment under the cache, made once. Null, said
 * loudly, where python3 or its packages can't be had.
 */
import { execFileSync, spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { cacheFolder } from "./folders.ts";

const packages = ["duckdb==1.5.5", "pyarrow", "tpchgen-cli", "adbc-driver-manager"];

export function findPython(): string | null {
	const folder = join(cacheFolder, "venv");
	const python = join(folder, "bin/python");
	if (works(python)) return python;
	console.error("   making a virtual environment for the rivals …");
	try {
		if (!existsSync(python)) execFileSync("python3", ["-m", "venv", folder], { stdio: "inherit" });
		const install = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", ...packages];
		execFileSync(python, install, { stdio: ["ignore", "ignore", "inherit"] });
	} catch (error) {
		console.error(
			`   NO PYTHON (${error instanceof Error ? error.message.split("\n")[0] : error}):`,
		);
		console.error("   the rivals in Python and TPC-H's generator are left out");
		return null;
	}
	return works(python) ? python : null;
}

function works(python: string): boolean {
	return existsSync(python) && spawnSync(python, ["-c", "import duckdb, pyarrow"]).status === 0;
}
