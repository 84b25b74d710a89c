/** Virtual environments by name, made once and kept beside the repository's other caches. */
import { execFileSync, spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { root } from "../e2e/world.ts";

const cache = join(root, "node_modules/.cache/duckdock-python");

/** The interpreter of an environment that has exactly these requirements. */
export function pythonWith(name: string, requirements: readonly string[]): string {
	const folder = join(cache, name);
	const python = join(folder, "bin/python");
	const mark = join(folder, "requirements.txt");
	const wanted = requirements.join("\n");
	if (existsSync(mark) && readFileSync(mark, "utf8") === wanted) return python;
	mkdirSync(cache, { recursive: true });
	execFileSync("python3", ["-m", "venv", "--clear", folder], { stdio: "inherit" });
	const install = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check"];
	execFileSync(python, [...install, ...requirements], { stdio: ["ignore", "ignore", "inherit"] });
	writeFileSync(mark, wanted);
	return python;
}

export function hasPython(): boolean {
	return spawnSync("python3", ["-m", "venv", "--help"]).status === 0;
}
