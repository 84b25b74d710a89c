/**
 * `npm test`: every suite that needs nothing but npm and a C++ compiler. With a
 * vitest configuration as its first argument, that one's suites.
 * Prints vitest's report, then what failed in a line each (`failed: file > test: why`),
 * then alone on the last line `N passed, N failed, N skipped`.
 */
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
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
	testResults: {
		name: string;
		status: string;
		message: string;
		assertionResults: { fullName: string; status: string; failureMessages: string[] }[];
	}[];
}

const firstLine = (text: string | undefined) => text?.split("\n", 1)[0] ?? "";

/** One line for each test that failed, and for each file that could not even be loaded. */
function failures(report: JsonReport): string[] {
	return report.testResults.flatMap((file) => {
		const name = relative(root, file.name);
		if (file.status === "failed" && file.assertionResults.length === 0) {
			return [`${name}: ${firstLine(file.message)}`];
		}
		return file.assertionResults
			.filter((test) => test.status === "failed")
			.map((test) => `${name} > ${test.fullName}: ${firstLine(test.failureMessages[0])}`);
	});
}

let passed = 0;
let failed = 0;
let skipped = 0;
try {
	const result = JSON.parse(readFileSync(report, "utf8")) as JsonReport;
	passed = result.numPassedTests;
	skipped = result.numPendingTests + result.numTodoTests;
	const failing = failures(result);
	failed = failing.length;
	for (const one of failing) console.log(`failed: ${one}`);
} catch (error) {
	failed += 1;
	console.log(`failed: ${config} wrote no report (status ${run.status}): ${error}`);
}
if (run.status !== 0 && failed === 0) {
	failed = 1;
	console.log(`failed: ${config} ended with ${run.status}, though no test failed`);
}
rmSync(folder, { recursive: true, force: true });
console.log(`${passed} passed, ${failed} failed, ${skipped} skipped`);
process.exitCode = failed === 0 ? 0 : 1;
