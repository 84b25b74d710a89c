/**
 * `npm run bench [-- NAME…] [-- --rounds N] [-- --paths WORD,…]`: workloads in, a table and a JSON
 * file out. With `--paths` just those whose name has one of the words in it.
 *
 * Every run of a path is a fresh process on a fresh DuckDB file; the order of the
 * paths is reversed each round; the table's first column is the ratio of medians to
 * the workload's yardstick. Raw values are kept under bench/results.
 */
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { parseArgs } from "node:util";
import { cacheFolder, resultsFolder } from "./folders.ts";
import { describeMachine } from "./machine.ts";
import { findPython } from "./python.ts";
import { median, printTable } from "./table.ts";
import { type BenchCase, type RunResult, type Workload, workloads } from "./workloads.ts";

const { values, positionals } = parseArgs({
	allowPositionals: true,
	options: { rounds: { type: "string" }, paths: { type: "string" }, list: { type: "boolean" } },
});
if (values.list) {
	for (const workload of workloads) console.log(`${workload.name.padEnd(12)} ${workload.describe}`);
	process.exit(0);
}
const unknown = positionals.filter((name) => !workloads.some((workload) => workload.name === name));
if (unknown.length > 0) {
	console.error(
		`no workload ${unknown.join(", ")}; there are ${workloads.map((one) => one.name).join(", ")}`,
	);
	process.exit(2);
}
const chosen = workloads.filter((workload) =>
	positionals.length === 0 ? workload.usual : positionals.includes(workload.name),
);

/** No new round begins after this long, so that a workload stays under nine minutes. */
const budgetMs = 7 * 60_000;

for (const workload of chosen) await runWorkload(workload);

async function runWorkload(workload: Workload): Promise<void> {
	mkdirSync(cacheFolder, { recursive: true });
	mkdirSync(resultsFolder, { recursive: true });
	const python = findPython();
	const started = Date.now();
	console.error(`── ${workload.name}: ${workload.describe}`);
	const cases = onlyWanted(await workload.prepare(python));
	const rounds = Number(values.rounds ?? workload.rounds);
	const runs: (RunResult & { case: string; round: number })[] = [];
	for (let round = 0; round < rounds && (round === 0 || Date.now() - started < budgetMs); round++) {
		const order = round % 2 === 0 ? cases : cases.toReversed();
		for (const one of order) {
			const folder = join(cacheFolder, `run-${process.pid}`);
			rmSync(folder, { recursive: true, force: true });
			mkdirSync(folder, { recursive: true });
			try {
				const result = await one.run(folder);
				runs.push({ case: one.name, round, ...result });
				console.error(`   round ${round + 1} ${one.name}: ${result.seconds.toFixed(2)} s`);
			} catch (error) {
				// The other paths' numbers are worth having; the exit code says that one is missing.
				console.error(
					`   round ${round + 1} ${one.name} FAILED: ${error instanceof Error ? error.message : error}`,
				);
				process.exitCode = 1;
			} finally {
				rmSync(folder, { recursive: true, force: true });
			}
		}
	}
	const machine = describeMachine();
	const yardstick = median(
		runs.filter((run) => run.case === workload.yardstick).map((run) => run.seconds),
	);
	const measured = cases.filter(({ name }) => runs.some((run) => run.case === name));
	const rows = measured.map(({ name }) => {
		const ofCase = runs.filter((run) => run.case === name);
		const seconds = median(ofCase.map((run) => run.seconds));
		return { name, seconds, runs: ofCase, ratio: seconds / yardstick };
	});
	const stamp = machine.date.replaceAll(":", "").slice(0, 15);
	const path = join(resultsFolder, `${stamp}-${workload.name}.json`);
	writeFileSync(
		path,
		`${JSON.stringify({ workload: workload.name, describe: workload.describe, yardstick: workload.yardstick, machine, runs }, null, "\t")}\n`,
	);
	printTable(workload, machine, rows);
	console.log(`raw values: ${path}`);
}

function onlyWanted(cases: readonly BenchCase[]): readonly BenchCase[] {
	if (values.paths === undefined) return cases;
	const words = values.paths.toLowerCase().split(",");
	const found = cases.filter(({ name }) => words.some((word) => name.toLowerCase().includes(word)));
	if (found.length > 0) return found;
	throw new Error(
		`no path has ${words.join(" or ")} in its name: ${cases.map(({ name }) => name).join("; ")}`,
	);
}
