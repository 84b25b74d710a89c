/**
 * `npm test`: every suite that needs nothing but npm and a C++ compiler. With a
 * vitest configuration as its first argument, that one's suites.
 * Prints vitest's report, then alone on the last line `N passed, N failed, N skipped`.
 */
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";

const folder = mkdtempSync(join(tmpdir(), "duckdock-test-"));
const report = join(folder, "report.json");
const root = new URL("..", import.meta.url).pathname;
const given = process.argv.slice(2);
const config = given[0]?.endsWith("vitest.config.ts") ? given.shift()! : "test/vitest.config.ts";
const run = spawnSync(
	process.execPath,
	[
		join(root, "node_modules/vitest/vitest.mjs"),
		"run",
		`--config=${config}`,
		"--reporter=default",
		"--reporter=json",
		`--outputFile.json=${report}`,
		...given,
	],
	{ cwd: root, stdio: "inherit" },
);

interface JsonReport {
	numPassedTests: number;
	numFailedTests: number;
	numPendingTests: number;
	numTodoTests: number;
	testResults: { status: string; assertionResults: unknown[] }[];
}
let passed = 0;
let failed = 0;
let skipped = 0;
try {
	const result = JSON.parse(readFileSync(report, "utf8")) as JsonReport;
	passed = result.numPassedTests;
	failed = result.numFailedTests;
	skipped = result.numPendingTests + result.numTodoTests;
	// A file that could not even be loaded has no test to count.
	failed += result.testResults.filter(
		(file) => file.status === "failed" && file.assertionResults.length === 0,
	).length;
} catch {
	failed += 1;
}
if (run.status !== 0 && failed === 0) failed = 1;
rmSync(folder, { recursive: true, force: true });
console.log(`${passed} passed, ${failed} failed, ${skipped} skipped`);
process.exitCode = failed === 0 ? 0 : 1;
