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
		for (const thread of readdirSync(`/proc/${pid}/task`)) {
			const children = readFileSync(`/proc/${pid}/task/${thread}/children`, "utf8").trim();
			for (const child of children === "" ? [] : children.split(" ")) {
				notePeaks(Number(child), peaks, "child");
			}
		}
	} catch {
		// The process has ended, or there is no /proc.
	}
}
