/** Counters of the workerd that a test started, as Linux keeps them of each process. */
import { readdirSync, readFileSync } from "node:fs";

export interface ProcessCounters {
	/** Bytes in memory, shared libraries and the program's own file included. */
	resident: number;
	/** Of these what no file stands behind: heaps, buffers, stacks. */
	anonymous: number;
	/** Seconds that its threads ran, in the kernel too. */
	cpuSeconds: number;
}

/** https://man7.org/linux/man-pages/man5/proc_pid_stat.5.html; a hundred ticks a second on every Linux that Node runs on. */
const ticksPerSecond = 100;

export function readCounters(pid: number): ProcessCounters {
	const status = readFileSync(`/proc/${pid}/status`, "latin1");
	const kilobytes = (name: string) =>
		Number(new RegExp(`^${name}:\\s+(\\d+) kB`, "m").exec(status)?.[1] ?? 0) * 1024;
	// After the name in brackets, which may hold anything, field 3 is the first.
	const fields = readFileSync(`/proc/${pid}/stat`, "latin1")
		.replace(/^.*\) /s, "")
		.split(" ");
	return {
		resident: kilobytes("VmRSS"),
		anonymous: kilobytes("RssAnon"),
		cpuSeconds: (Number(fields[11]) + Number(fields[12])) / ticksPerSecond,
	};
}

/** The youngest workerd below a process, other than `not`. */
export function workerdOf(parent: number, not?: number): number | undefined {
	const found: { pid: number; ppid: number; name: string }[] = [];
	for (const entry of readdirSync("/proc")) {
		if (!/^\d+$/.test(entry)) continue;
		try {
			const stat = readFileSync(`/proc/${entry}/stat`, "latin1");
			const [, name, ppid] = /\((.*)\) \S (\d+)/.exec(stat)!;
			found.push({ pid: Number(entry), ppid: Number(ppid), name: name! });
		} catch {
			// It ended meanwhile.
		}
	}
	const below = (pid: number): typeof found =>
		found.filter((one) => one.ppid === pid).flatMap((one) => [one, ...below(one.pid)]);
	return below(parent)
		.filter(({ name, pid }) => name.startsWith("workerd") && pid !== not)
		.map(({ pid }) => pid)
		.sort((a, b) => b - a)[0];
}

export interface Peaks {
	resident: number;
	anonymous: number;
	cpuSeconds: number;
}

/** The highest that was seen, every 50 ms, while `work` ran, and the processor's time it took. */
export async function watchWhile(pid: number, work: () => Promise<void>): Promise<Peaks> {
	const before = readCounters(pid);
	const peaks: Peaks = { resident: 0, anonymous: 0, cpuSeconds: 0 };
	const look = () => {
		const { resident, anonymous, cpuSeconds } = readCounters(pid);
		peaks.resident = Math.max(peaks.resident, resident);
		peaks.anonymous = Math.max(peaks.anonymous, anonymous);
		peaks.cpuSeconds = cpuSeconds - before.cpuSeconds;
	};
	const watch = setInterval(look, 50);
	try {
		await work();
		look();
	} finally {
		clearInterval(watch);
	}
	return peaks;
}
