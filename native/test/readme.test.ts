import { spawnSync } from "node:child_process";
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { expect, test } from "vitest";

const here = import.meta.dirname;

test("the example in the README runs as it stands and prints what it says", () => {
	const readme = readFileSync(join(here, "../README.md"), "utf8");
	const example = /```js\n([\s\S]*?)```/.exec(readme)?.[1] ?? "";
	const file = join(here, `readme-example-${process.pid}.mjs`);
	writeFileSync(file, example.replace("@duckdock/duckdb-arrow-scan", "../index.js"));
	const child = spawnSync(process.execPath, [file], { encoding: "utf8" });
	rmSync(file);
	expect(child.stderr).toBe("");
	expect(child.stdout).toBe(/\/\/ (\d+)/.exec(example)?.[1]?.concat("\n"));
});
