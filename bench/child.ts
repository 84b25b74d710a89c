/** One child process, measured: wall time and the peak memory of it and its descendants. */
import { type ChildProcess, spawn } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import process from "node:process";

export interface Finished {
	stdout: string;
	wallSeconds: number;
	/** Processor time of it and its descendants; NaN where there is no /proc. */
	cpuSeconds: number;
	/** VmHWM in bytes, by process name; empty where there is no /proc. */
	peakBytes: Record<string, number>;
}

const pollMs = 50;

/**
 * Rejects with standard error when the process ends with another code than 0.
 * Its processor time is that of all children that end meanwhile: run one at a time.
 */
export async function runChild(
	command: string,
	args: readonly string[],
	env: Record<string, string> = {},
): Promise<Finished> {
	const started = performance.now();
	const before = childrenCpuSeconds();
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
		cpuSeconds: childrenCpuSeconds() - before,
		peakBytes: peaks,
	};
}

/** Processor time of a process so far, in milliseconds by process name as `notePeaks` has it; empty where there is no /proc. */
export function cpuMs(pid: number, times: Record<string, number> = {}, name = "main") {
	try {
		const { own } = cpuTicks(pid);
		times[name] = (times[name] ?? 0) + msPerTick * own;
		for (const child of childrenOf(pid)) cpuMs(child, times, "child");
	} catch {
		// The process has ended, or there is no /proc.
	}
	return times;
}

/** Of the children that have ended and were waited for. */
function childrenCpuSeconds(): number {
	try {
		return (msPerTick * cpuTicks("self").ofEndedChildren) / 1000;
	} catch {
		return Number.NaN;
	}
}

const msPerTick = 10;

/** Fields 14 to 17 of proc_pid_stat(5), which are the 12th and on behind the name in brackets. */
function cpuTicks(pid: number | "self"): { own: number; ofEndedChildren: number } {
	const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
	const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
	const ticks = (at: number) => Number(fields[at]) + Number(fields[at + 1]);
	return { own: ticks(11), ofEndedChildren: ticks(13) };
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
