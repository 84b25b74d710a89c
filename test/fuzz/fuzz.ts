/**
 * The fuzzer: N inputs of one seed through child processes, counted.
 *
 * In: how many, which seed, how many processes. Out: what the inputs came to, how
 * far they got, and finds: deaths, hangs, errors that are ours, values that differ
 * from what flechette reads. An input of a find can be made again from its number.
 */

import { type ChildProcess, fork } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { FuzzLot } from "./fuzz.child.ts";

export interface FuzzOptions {
	/** The first input's number. */
	from?: number;
	count: number;
	seed: number;
	processes: number;
	/** The same corpus on every machine. */
	grammarOnly?: boolean;
	/** After every lot; `finds` so far. */
	onProgress?(done: number, finds: Find[]): void;
}

export interface Find {
	index: number;
	origin: string;
	what: string;
}

export interface FuzzReport {
	count: number;
	outcomes: Record<string, number>;
	pastSchema: number;
	pastFirstBatch: number;
	compared: number;
	slowestMs: number;
	maxResidentBytes: number;
	finds: Find[];
}

/** A machine under load takes its time; a loop takes for ever. */
const hangMs = 30_000;
const startMs = 300_000;
const maxResidentBytes = 2 * 1024 ** 3;
const watchEveryMs = 200;
/** Processes are exchanged after so many inputs. */
const inputsPerProcess = 2_500;

export async function fuzz(options: FuzzOptions): Promise<FuzzReport> {
	const report: FuzzReport = {
		count: 0,
		outcomes: {},
		pastSchema: 0,
		pastFirstBatch: 0,
		compared: 0,
		slowestMs: 0,
		maxResidentBytes: 0,
		finds: [],
	};
	const folder = mkdtempSync(join(tmpdir(), "fuzz-"));
	let next = options.from ?? 0;
	const end = next + options.count;
	const worker = async (number: number) => {
		while (next < end) {
			let from = next;
			const to = Math.min(next + inputsPerProcess, end);
			next = to;
			while (from < to) {
				from = await runRange(from, to, join(folder, String(number)), options, report);
			}
		}
	};
	await Promise.all(Array.from({ length: options.processes }, (_, number) => worker(number)));
	rmSync(folder, { recursive: true, force: true });
	report.finds.sort((a, b) => a.index - b.index);
	return report;
}

/** Returns where to go on: `to`, or after the input that the process died of. */
function runRange(
	from: number,
	to: number,
	progressFile: string,
	options: FuzzOptions,
	report: FuzzReport,
): Promise<number> {
	return new Promise((resolve) => {
		writeFileSync(progressFile, "");
		const child = fork(
			new URL("fuzz.child.ts", import.meta.url).pathname,
			[
				String(options.seed),
				String(from),
				String(to),
				progressFile,
				options.grammarOnly ? "grammar-only" : "all",
			],
			{ stdio: ["ignore", "ignore", "pipe", "ipc"] },
		);
		let stderr = "";
		child.stderr!.on("data", (text) => {
			stderr = (stderr + text).slice(-4_000);
		});
		/** Inputs before this one have been reported. */
		let reported = from;
		let isDone = false;
		let reason = "";
		const current = () => Math.max(reported, readNumber(progressFile) ?? reported);
		let last = { index: -1, since: Date.now() };
		const watch = setInterval(() => {
			const index = readNumber(progressFile) ?? -1;
			if (index !== last.index) last = { index, since: Date.now() };
			// Until it is at its first input it makes the corpus.
			const limitMs = index < 0 ? startMs : hangMs;
			if (Date.now() - last.since > limitMs) reason = `hangs: over ${limitMs / 1000} s`;
			if (residentBytes(child) > maxResidentBytes)
				reason = `memory: over ${maxResidentBytes} bytes`;
			if (reason !== "") child.kill("SIGKILL");
		}, watchEveryMs);
		child.on("message", (lot: FuzzLot) => {
			addLot(lot, report);
			reported += lot.results.length;
			isDone = lot.done;
			options.onProgress?.(report.count, report.finds);
		});
		child.on("exit", (code, signal) => {
			clearInterval(watch);
			if (isDone) return resolve(to);
			const index = current();
			report.finds.push({
				index,
				origin: "",
				what: reason || `died: ${code ?? signal} ${stderr}`,
			});
			report.outcomes.died = (report.outcomes.died ?? 0) + 1;
			if (index === reported) return resolve(index + 1);
			// Results since the last lot died with the process; the inputs are the same every time.
			runRange(reported, index, progressFile, options, report).then(() => resolve(index + 1));
		});
	});
}

function addLot(lot: FuzzLot, report: FuzzReport): void {
	report.maxResidentBytes = Math.max(report.maxResidentBytes, lot.maxResidentBytes);
	for (const { index, origin, milliseconds, result } of lot.results) {
		report.count++;
		report.outcomes[result.outcome] = (report.outcomes[result.outcome] ?? 0) + 1;
		report.pastSchema += Number(result.pastSchema);
		report.pastFirstBatch += Number(result.pastFirstBatch);
		report.compared += Number(result.compared);
		report.slowestMs = Math.max(report.slowestMs, milliseconds);
		if (result.find !== null) report.finds.push({ index, origin, what: result.find });
	}
}

/** Null: nothing was written yet. */
function readNumber(path: string): number | null {
	const number = Number.parseInt(readFileSync(path, "utf8"), 10);
	return Number.isNaN(number) ? null : number;
}

/** Linux only; elsewhere the time limit alone holds. */
function residentBytes(child: ChildProcess): number {
	try {
		const status = readFileSync(`/proc/${child.pid}/status`, "utf8");
		return Number(/VmRSS:\s+(\d+) kB/.exec(status)?.[1] ?? 0) * 1024;
	} catch {
		return 0;
	}
}

export function describeReport(report: FuzzReport, options: FuzzOptions, seconds: number): string {
	const percent = (part: number) => `${((100 * part) / report.count).toFixed(1)} %`;
	const outcomes = Object.entries(report.outcomes)
		.sort(([, a], [, b]) => b - a)
		.map(([outcome, count]) => `  ${outcome.padEnd(20)} ${String(count).padStart(8)}`);
	const finds = report.finds
		.slice(0, 50)
		.map(({ index, origin, what }) => `  input ${index} (${origin}): ${what.slice(0, 600)}`);
	return [
		`${report.count} inputs of seed ${options.seed} from number ${options.from ?? 0} in ${seconds.toFixed(0)} s on ${options.processes} processes`,
		`past the schema ${percent(report.pastSchema)}, past the first batch ${percent(report.pastFirstBatch)}, cells compared with flechette ${percent(report.compared)}`,
		`slowest input ${report.slowestMs.toFixed(0)} ms, largest process ${(report.maxResidentBytes / 1024 ** 2).toFixed(0)} MiB`,
		...outcomes,
		`finds: ${report.finds.length}`,
		...finds,
	].join("\n");
}
