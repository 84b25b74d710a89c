/**
 * `npm run crash -- --kills 500 [--services 4] [--who http] [--record]`: callers that never give up load into a
 * service whose processes are killed with SIGKILL at every point of the flow;
 * round by round the database is opened by a fresh process and everything looked at.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { appendFileSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { cpus, tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { systemClock } from "../../src/clock.ts";
import { createFsStore } from "../../src/stage/stores/fs-store.ts";
import { createKey } from "../../src/tenant/keys.ts";
import { bundleChild } from "./bundle-child.ts";
import { type Ended, loadUntilDone, type Spec } from "./client.ts";
import { type Kill, readKills, readPoints } from "./killer.ts";
import { verify, verifySweep } from "./verify.ts";

export interface CrashResult {
	kills: Kill[];
	/** That any process came by. */
	points: string[];
	services: number;
	loads: number;
	rows: number;
	requests: number;
	rounds: number;
	seconds: number;
	faults: string[];
}

const service = fileURLToPath(new URL("service.child.ts", import.meta.url));
const clients = 8;

export async function runCrashes(options: {
	kills: number;
	loadsPerRound: number;
	/** Loaders, and now and then the service above them; or the service alone, soon. */
	who?: "all" | "http";
	say?: (line: string) => void;
}): Promise<CrashResult> {
	const { say = () => {} } = options;
	const started = Date.now();
	const loader = await bundleChild("loader.child");
	const folder = mkdtempSync(join(tmpdir(), "duckdock-crash-"));
	const store = await createFsStore({ folder: join(folder, "objects") });
	const { key } = await createKey(store, systemClock, {
		tenant: "acme",
		rights: ["append", "create", "replace", "read"],
	});
	const database = join(folder, "db/acme.duckdb");
	const ended: Ended[] = [];
	const faults: string[] = [];
	let rounds = 0;
	let made = 0;
	let services = 0;
	let url = "http://127.0.0.1:9";
	let child: ChildProcess | null = null;
	let listen = "127.0.0.1:0";
	let stopping = false;

	function spec(): Spec {
		const n = ++made;
		const kind = Math.random();
		const table = kind < 0.5 ? `events_${n % 3}` : kind < 0.7 ? `swap_${n % 2}` : `made_${n}`;
		const mode =
			kind < 0.5
				? "create_append"
				: kind < 0.7
					? "replace"
					: kind < 0.85
						? "create"
						: "create_append";
		const size = Math.random();
		const rows =
			size < 0.8 ? 1 + Math.floor(Math.random() * 2_000) : size < 0.95 ? 20_000 : 300_000;
		const way = (["ingest", "ingest", "keyed parts", "parts", "appends"] as const)[n % 5]!;
		return { tag: `load-${n}`, table, mode, rows, way };
	}

	/** Up again whenever it dies, until the round is over. */
	async function keepUp(): Promise<void> {
		while (!stopping) {
			const running = spawn(process.execPath, [service], {
				env: {
					...process.env,
					DUCKDOCK_STORE: `file:${join(folder, "objects")}`,
					DUCKDOCK_TARGET: join(folder, "db/{tenant}.duckdb"),
					DUCKDOCK_LISTEN: listen,
					DUCKDOCK_LOG: "warn",
					DUCKDOCK_PART_BYTES: "262144",
					CRASH_FOLDER: folder,
					CRASH_LOADER_MODULE: loader,
					CRASH_LOADER: options.who === "http" ? "0" : "1",
					CRASH_HTTP: options.who === "http" || services++ % 4 !== 3 ? "1" : "0",
					CRASH_HTTP_LIVES: options.who === "http" ? "short" : "long",
				},
				stdio: ["ignore", "pipe", "pipe"],
			});
			child = running;
			running.stderr.on("data", (chunk) => {
				appendFileSync(join(folder, "service.log"), chunk);
			});
			running.stdout.on("data", (chunk) => {
				url = JSON.parse(String(chunk)).url;
				listen = new URL(url).host;
			});
			await new Promise((resolve) => running.once("close", resolve));
			child = null;
		}
	}

	try {
		while (readKills(folder).length < options.kills && faults.length === 0) {
			rounds++;
			stopping = false;
			const up = keepUp();
			let left = options.loadsPerRound;
			await Promise.all(
				Array.from({ length: clients }, async () => {
					while (left-- > 0) {
						const one = spec();
						try {
							ended.push(await loadUntilDone(() => ({ url, key }), one));
						} catch (error) {
							faults.push((error as Error).message);
						}
					}
				}),
			);
			stopping = true;
			(child as ChildProcess | null)?.kill("SIGTERM");
			await up;
			// A loader whose parent was killed may still be letting go of the file.
			await new Promise((resolve) => setTimeout(resolve, 500));
			try {
				faults.push(...(await verify(store, database, ended)));
			} catch (error) {
				faults.push(`the database cannot be looked at: ${(error as Error).message}`);
			}
			const kills = readKills(folder).length;
			say(`round ${rounds}: ${kills} kills, ${ended.length} loads, ${faults.length} faults`);
		}
		faults.push(...(await verifySweep(store)));
	} finally {
		stopping = true;
		(child as ChildProcess | null)?.kill("SIGKILL");
		if (faults.length > 0) {
			say(`kept for a look: ${folder}`);
			writeFileSync(join(folder, "ended.json"), JSON.stringify(ended));
		} else {
			// Below, what was counted is still read.
			process.once("exit", () => rmSync(folder, { recursive: true, force: true }));
		}
	}
	const total = (of: (one: Ended) => number) => ended.reduce((sum, one) => sum + of(one), 0);
	return {
		kills: readKills(folder),
		points: [...readPoints(folder)],
		services: 1,
		loads: ended.filter(({ receipt }) => receipt !== null).length,
		rows: total(({ receipt }) => receipt?.rows_inserted ?? 0),
		requests: total(({ requests }) => requests),
		rounds,
		seconds: (Date.now() - started) / 1000,
		faults,
	};
}

function together(results: CrashResult[]): CrashResult {
	const sum = (of: (result: CrashResult) => number) =>
		results.reduce((total, result) => total + of(result), 0);
	return {
		services: results.length,
		kills: results.flatMap(({ kills }) => kills),
		points: [...new Set(results.flatMap(({ points }) => points))],
		loads: sum(({ loads }) => loads),
		rows: sum(({ rows }) => rows),
		requests: sum(({ requests }) => requests),
		rounds: sum(({ rounds }) => rounds),
		seconds: Math.max(...results.map(({ seconds }) => seconds)),
		faults: results.flatMap(({ faults }) => faults),
	};
}

export function report(result: CrashResult): string {
	const histogram = new Map<string, number>();
	for (const { process: name, point } of result.kills) {
		const key = `| ${name} | ${point} |`;
		histogram.set(key, (histogram.get(key) ?? 0) + 1);
	}
	const reached = new Set(
		result.kills
			.map((kill) => `${kill.process}: ${kill.point}`)
			.filter((point) => result.points.includes(point)),
	).size;
	const lines = [...histogram].sort((a, b) => a[0].localeCompare(b[0]));
	return [
		"# Killed at every point",
		"",
		`${new Date().toISOString().slice(0, 10)}, Node ${process.version}, ${cpus().length} cores of ${cpus()[0]?.model ?? "unknown"}.`,
		"",
		`${result.kills.length} SIGKILLs, each while at least one load was open, at ${reached} of ${result.points.length} points and at random moments;`,
		`${result.loads} loads of ${result.rows} rows by ${clients * result.services} callers of ${result.services} services in ${result.requests} requests;`,
		`${result.rounds} rounds, after each of which a fresh process opened the database;`,
		`${Math.round(result.seconds)} s. Promises broken: ${result.faults.length}.`,
		"",
		"Looked at: every answered load is in the ledger once, with its rows in its table once; the ledger",
		"holds no other; each receipt is the one that was answered and stands in the history; a replaced",
		"table holds the rows of its last replace and no others; no view is left; after the sweep nothing is",
		"left of any upload.",
		"",
		"| process | killed at | kills |",
		"|---|---|--:|",
		...lines.map(([key, count]) => `${key} ${count} |`),
		"",
	].join("\n");
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
	const { values } = parseArgs({
		options: {
			kills: { type: "string", default: "100" },
			loads: { type: "string", default: "120" },
			/** Services side by side, each with a store and a database of its own. */
			services: { type: "string", default: "1" },
			/** `http`: the HTTP process alone dies. */
			who: { type: "string", default: "all" },
			record: { type: "boolean", default: false },
		},
	});
	const services = Number(values.services);
	const results = await Promise.all(
		Array.from({ length: services }, (_, at) =>
			runCrashes({
				kills: Math.ceil(Number(values.kills) / services),
				loadsPerRound: Number(values.loads),
				who: values.who === "http" ? "http" : "all",
				say: (line) => process.stderr.write(`service ${at + 1}, ${line}\n`),
			}),
		),
	);
	const result = together(results);
	process.stdout.write(report(result));
	for (const fault of result.faults.slice(0, 50)) process.stdout.write(`FAULT ${fault}\n`);
	if (values.record && result.faults.length === 0) {
		writeFileSync(
			new URL(values.who === "http" ? "RECORD-http.md" : "RECORD.md", import.meta.url),
			report(result),
		);
	}
	process.exit(result.faults.length === 0 ? 0 : 1);
}
