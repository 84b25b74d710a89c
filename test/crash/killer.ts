/**
 * Kills its own process with SIGKILL at a chosen point of the flow.
 *
 * A process draws its death when it starts: mostly at a point where few have died
 * yet, else at the Nth point whatsoever, else at a random moment. It dies only
 * while a load is open, so that every kill counts, and writes down where just before.
 */
import { appendFileSync, existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";

export interface Killer {
	/** A place in the flow; may not return. */
	point(name: string): void;
	/** A load was begun (+1) or has ended (-1). */
	open(change: 1 | -1): void;
}

export interface Kill {
	process: string;
	/** Where: `store.put receipt after`, or `at a random moment`. */
	point: string;
	/** Loads that were open. */
	open: number;
}

const killsFile = "kills.jsonl";
const pointsFile = "points.jsonl";

function lines<T>(path: string): T[] {
	if (!existsSync(path)) return [];
	return readFileSync(path, "utf8")
		.split("\n")
		.filter((line) => line !== "")
		.map((line) => JSON.parse(line) as T);
}

export const readKills = (folder: string) => lines<Kill>(join(folder, killsFile));
/** Every point that any process came by. */
export const readPoints = (folder: string) =>
	new Set(
		lines<{ process: string; point: string }>(join(folder, pointsFile)).map(
			(line) => `${line.process}: ${line.point}`,
		),
	);

export function createKiller(folder: string, name: string): Killer {
	const kills = readKills(folder).filter((kill) => kill.process === name);
	const seen = new Set<string>();
	for (const line of lines<{ process: string; point: string }>(join(folder, pointsFile))) {
		if (line.process === name) seen.add(line.point);
	}
	let open = 0;
	let passed = 0;
	let due = false;
	const longer = name === "http" && process.env.CRASH_HTTP_LIVES !== "short" ? 12 : 1;
	const target = draw();

	/** A point with few deaths, the Nth point, or a moment. */
	function draw(): { point: string; times: number } | { nth: number } | { ms: number } {
		const random = Math.random();
		if (random < 0.2) return { ms: 20 + Math.random() * 1_500 * longer };
		if (random < 0.4 || seen.size === 0) {
			return { nth: 1 + Math.floor(Math.random() * 120 * longer) };
		}
		const counts = new Map([...seen].map((point) => [point, 0]));
		for (const { point } of kills) counts.set(point, (counts.get(point) ?? 0) + 1);
		const fewest = [...counts].sort((a, b) => a[1] - b[1]).slice(0, Math.ceil(counts.size / 4));
		const [point] = fewest[Math.floor(Math.random() * fewest.length)]!;
		return { point, times: 1 + Math.floor(Math.random() * 3) };
	}

	function die(point: string): void {
		const kill: Kill = { process: name, point, open };
		appendFileSync(join(folder, killsFile), `${JSON.stringify(kill)}\n`);
		process.kill(process.pid, "SIGKILL");
	}

	if ("ms" in target) {
		const strike = () => {
			if (open > 0) die("at a random moment");
			else setTimeout(strike, 5);
		};
		setTimeout(strike, target.ms).unref();
	}
	// Who waits for a point that doesn't come dies at the next one; the service lives longer than its loaders.
	const lifeMs = longer === 1 ? 8_000 : 40_000;
	setTimeout(() => {
		due = true;
	}, lifeMs).unref();
	let times = "times" in target ? target.times : 0;

	return {
		open(change) {
			open += change;
		},
		point(point) {
			if (!seen.has(point)) {
				seen.add(point);
				appendFileSync(join(folder, pointsFile), `${JSON.stringify({ process: name, point })}\n`);
			}
			passed++;
			if (open === 0) return;
			if (due || ("nth" in target && passed >= target.nth)) die(point);
			if ("point" in target && target.point === point && --times <= 0) die(point);
		},
	};
}
