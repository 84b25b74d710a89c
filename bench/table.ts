/** Medians as a table, ratios first. */
import type { Machine } from "./machine.ts";
import type { RunResult, Workload } from "./workloads.ts";

export interface Row {
	name: string;
	seconds: number;
	ratio: number;
	runs: readonly RunResult[];
}

export function median(values: readonly number[]): number {
	const sorted = [...values].sort((a, b) => a - b);
	const middle = Math.floor(sorted.length / 2);
	if (sorted.length === 0) return Number.NaN;
	return sorted.length % 2 === 1 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2;
}

const mib = (bytes: number) => `${Math.round(bytes / 2 ** 20)}`;

export function printTable(workload: Workload, machine: Machine, rows: readonly Row[]): void {
	console.log(`\n### ${workload.name}: ${workload.describe}`);
	console.log(
		`${machine.date}, commit ${machine.commit}, ${machine.cores} cores of ${machine.cpu}, ${machine.memoryGib} GiB, ` +
			`${machine.system}, Node ${machine.node}, DuckDB ${machine.duckdb}, fsync ${machine.fsync}, load ${machine.load}\n`,
	);
	const extras = [
		...new Set(rows.flatMap((row) => row.runs.flatMap((run) => Object.keys(run.extra ?? {})))),
	];
	console.log(
		`| path | × ${workload.yardstick} | median s | min–max s | rows/s | peak MiB | ${extras.map((name) => `${name} | `).join("")}`,
	);
	console.log(`|---|---|---|---|---|---|${extras.map(() => "---|").join("")}`);
	for (const row of rows) {
		const seconds = row.runs.map((run) => run.seconds);
		const count = row.runs[0]?.rows ?? 0;
		const peaks = Object.entries(row.runs[0]?.peakBytes ?? {}).map(([name]) => {
			const peak = mib(median(row.runs.map((run) => run.peakBytes[name] ?? 0)));
			return `${name} ${peak}`;
		});
		const more = extras.map((name) => {
			const values = row.runs
				.map((run) => run.extra?.[name])
				.filter((value) => value !== undefined);
			return ` ${values.length === 0 ? "" : Number(median(values).toPrecision(4))} |`;
		});
		console.log(
			`| ${row.name} | ${row.ratio.toFixed(2)} | ${row.seconds.toFixed(2)} | ` +
				`${Math.min(...seconds).toFixed(2)}–${Math.max(...seconds).toFixed(2)} | ` +
				`${Math.round(count / row.seconds).toLocaleString("en-US")} | ${peaks.join(", ")} |${more.join("")}`,
		);
	}
	console.log("");
}
