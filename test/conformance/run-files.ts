/**
 * Runs files through child processes, several a process, each under a limit of time
 * and memory. A process that dies counts against the file it was at; the others of
 * its lot go on in another.
 */

import { type ChildProcess, fork } from "node:child_process";
import { readFileSync } from "node:fs";
import { type FileOutcome, failedOutcome } from "./file-outcome.ts";
import type { FixtureRow } from "./fixtures.ts";

const filesPerProcess = 24;
const fileTimeoutMs = 90_000;
const maxResidentBytes = 3 * 1024 ** 3;
const watchEveryMs = 250;

/** Outcomes in the order of the rows. */
export async function runFiles(rows: FixtureRow[], processes = 2): Promise<FileOutcome[]> {
	const outcomes = new Map<FixtureRow, FileOutcome>();
	const lots: FixtureRow[][] = [];
	for (let at = 0; at < rows.length; at += filesPerProcess) {
		lots.push(rows.slice(at, at + filesPerProcess));
	}
	const worker = async () => {
		for (let lot = lots.shift(); lot !== undefined; lot = lots.shift()) {
			const result = await runLot(lot);
			if (result.outcomes) {
				for (const [at, row] of lot.entries()) outcomes.set(row, result.outcomes[at]!);
				continue;
			}
			const culprit = lot[result.at]!;
			outcomes.set(culprit, failedOutcome("died", result.reason));
			const rest = lot.filter((row) => row !== culprit);
			if (rest.length > 0) lots.push(rest);
		}
	};
	await Promise.all(Array.from({ length: processes }, worker));
	return rows.map((row) => outcomes.get(row)!);
}

type LotResult = { outcomes: FileOutcome[] } | { outcomes: null; at: number; reason: string };

function runLot(lot: FixtureRow[]): Promise<LotResult> {
	return new Promise((resolve) => {
		const child = fork(new URL("load.child.ts", import.meta.url).pathname, { stdio: "inherit" });
		let at = 0;
		let reason = "";
		const kill = (why: string) => {
			reason = why;
			child.kill("SIGKILL");
		};
		const limit = () => setTimeout(() => kill(`over ${fileTimeoutMs / 1000} s`), fileTimeoutMs);
		let timer = limit();
		const watch = setInterval(() => {
			if (residentBytes(child) > maxResidentBytes) kill("over the memory bound");
		}, watchEveryMs);
		const finish = (result: LotResult) => {
			clearTimeout(timer);
			clearInterval(watch);
			child.removeAllListeners();
			child.kill();
			resolve(result);
		};
		child.on("message", (message: { at?: number; outcomes?: FileOutcome[] }) => {
			clearTimeout(timer);
			timer = limit();
			if (message.outcomes) finish({ outcomes: message.outcomes });
			else at = message.at!;
		});
		child.on("exit", (code, signal) =>
			finish({ outcomes: null, at, reason: reason || `exit ${code ?? signal}` }),
		);
		child.send(lot);
	});
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
