/** One child process, measured: wall time and the peak memory of it and its descendants. */
import { type ChildProcess, spawn } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import process from "node:process";

export interface Finished {
	stdout: string;
	wallSeconds: number;
	/** VmHWM in bytes, by process name; empty where there is no /proc. */
	peakBytes: Record<string, number>;
}

const pollMs = 50;

/** Rejects with standard error when the process ends with another code than 0. */
export async function runChild(
	command: string,
	args: readonly string[],
	env: Record<string, string> = {},
): Promise<Finished> {
	const started = performance.now();
	const child = spawn(command, args, {
		env: { ...process.env, ...env },
		stdio: ["ignore", "pipe", "pipe"],
	});
	const output = collectOutput(child);
	const peaks: Record<string, number> = {};
	const timer = setInterval(() => notePeaks(child.pid!, peaks), pollMs);
	const code = await new Promise<number | null>((resolve, reject) => {
		child.on("error", reject);
		child.on("close", resolve);
	}).finally(() => clearInterval(timer));
	if (code !== 0) {
		throw new Error(
			`${command} ${args.join(" ")} ended with ${code}: ${output.stderr.slice(-2000)}`,
		);
	}
	return {
		stdout: output.stdout,
		wallSeconds: (performance.now() - started) / 1000,
		peakBytes: peaks,
	};
}

/** Processor time of a process so far, in milliseconds by process name as `notePeaks` has it; empty where there is no /proc. */
export function cpuMs(pid: number, times: Record<string, number> = {}, name = "main") {
	try {
		const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
		// Behind the name in brackets: fields 14 and 15 of proc_pid_stat(5), in ticks of 10 ms.
		const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
		times[name] = (times[name] ?? 0) + 10 * (Number(fields[11]) + Number(fields[12]));
		for (const child of childrenOf(pid)) cpuMs(child, times, "child");
	} catch {
		// The process has ended, or there is no /proc.
	}
	return times;
}

function childrenOf(pid: number): number[] {
	return readdirSync(`/proc/${pid}/task`).flatMap((thread) => {
		const children = readFileSync(`/proc/${pid}/task/${thread}/children`, "utf8").trim();
		return children === "" ? [] : children.split(" ").map(Number);
	});
}

export function collectOutput(child: ChildProcess): { stdout: string; stderr: string } {
	const output = { stdout: "", stderr: "" };
	child.stdout?.on("data", (chunk) => {
		output.stdout += chunk;
	});
	child.stderr?.on("data", (chunk) => {
		output.stderr = (output.stderr + chunk).slice(-100_000);
	});
	return output;
}

/** Keeps the highest seen of each process of the tree. */
export function notePeaks(pid: number, peaks: Record<string, number>, name = "main"): void {
	try {
		const status = readFileSync(`/proc/${pid}/status`, "utf8");
		const peak = Number(/^VmHWM:\s+(\d+) kB/m.exec(status)?.[1] ?? 0) * 1024;
		peaks[name] = Math.max(peaks[name] ?? 0, peak);
		for (const child of childrenOf(pid)) notePeaks(child, peaks, "child");
	} catch {
		// The process has ended, or there is no /proc.
	}
}
