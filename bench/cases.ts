/** The paths from Arrow bytes to a table, each as something to run and measure. */
import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { rename } from "node:fs/promises";
import { join } from "node:path";
import process from "node:process";
import { collectOutput, type Finished, notePeaks, runChild } from "./child.ts";
import type { Dataset } from "./datasets/datasets.ts";
import { cacheFolder, root } from "./folders.ts";
import { type Service, startService } from "./service.ts";

export interface RunResult {
	/** First byte to COMMIT, or to the receipt. */
	seconds: number;
	/** With the process's start and end, where the process is the path. */
	wallSeconds?: number;
	rows: number;
	/** VmHWM by process. */
	peakBytes: Record<string, number>;
	/** Further columns of the table. */
	extra?: Record<string, number>;
}

export interface BenchCase {
	name: string;
	/** `folder` is fresh, and removed afterwards. */
	run(folder: string): Promise<RunResult>;
}

const table = "lineitem";
const cli = join(root, "functions/duckdock.js");
const script = (name: string) => join(root, "bench/paths", name);
const pythonScript = (name: string) => join(root, "bench/python", name);
/** pyarrow's readers warn of buffers that no writer aligns to 64 bytes. */
const quietPython = { ACERO_ALIGNMENT_HANDLING: "ignore" };

/** What the first path said the table's sum is; every other must say the same. */
const knownSums = new Map<string, string>();

async function check(data: Dataset, database: string): Promise<void> {
	const run = await runChild(process.execPath, [
		script("check-table.ts"),
		database,
		table,
		data.checkSql,
	]);
	const found = JSON.parse(run.stdout) as { rows: number; check: string };
	if (found.rows !== data.rows)
		throw new Error(`${database} has ${found.rows} rows, not ${data.rows}`);
	const known = knownSums.get(data.path) ?? found.check;
	if (known !== found.check)
		throw new Error(`${data.checkSql} is ${found.check}, elsewhere ${known}`);
	knownSums.set(data.path, known);
}

async function ofScript(data: Dataset, database: string, run: Finished): Promise<RunResult> {
	await check(data, database);
	const said = JSON.parse(run.stdout) as Pick<RunResult, "seconds" | "rows" | "extra">;
	return { ...said, wallSeconds: run.wallSeconds, peakBytes: run.peakBytes };
}

export function load(
	data: Dataset,
	name = "duckdock load",
	env: Record<string, string> = {},
): BenchCase {
	return {
		name,
		async run(folder) {
			const database = join(folder, "load.duckdb");
			const args = [script("load-file.ts"), data.path, database, table];
			return ofScript(data, database, await runChild(process.execPath, args, env));
		},
	};
}

/** curl, which costs the machine least, sends the file as one body. */
export function httpOneRequest(data: Dataset, name = "HTTP, one request"): BenchCase {
	return {
		name,
		async run(folder) {
			const service = await startService(folder);
			try {
				const args = ["-sS", "--fail-with-body", "-X", "POST", "-T", data.path, "-H", "Expect:"];
				const format = '\n{"seconds":%{time_total}}';
				const before = service.cpuMs();
				const run = await runChild("curl", [
					...args,
					"-H",
					`Authorization: Bearer ${service.key}`,
					"-w",
					format,
					`${service.url}/v1/ingest/${table}?mode=create`,
				]);
				const [receipt, timing] = run.stdout.trim().split(/\n+/).slice(-2) as [string, string];
				const peakBytes = service.peakBytes();
				const extra = cpuOf(run, before, service);
				await service.stop();
				await check(data, service.databasePath);
				return {
					seconds: JSON.parse(timing).seconds,
					rows: JSON.parse(receipt).rows_inserted,
					peakBytes,
					extra,
				};
			} finally {
				await service.stop();
			}
		},
	};
}

/** Processor time until the caller has its receipt: the caller's own, with its start, and the service's since `before`. */
function cpuOf(
	{ cpuSeconds: caller }: Finished,
	before: Record<string, number>,
	service: Service,
): Record<string, number> {
	const now = service.cpuMs();
	const since = (name: string) => ((now[name] ?? Number.NaN) - (before[name] ?? 0)) / 1000;
	const http = since("main");
	const loader = since("child");
	return {
		"CPU s": caller + http + loader,
		"caller CPU s": caller,
		"HTTP CPU s": http,
		"loader CPU s": loader,
	};
}

export function httpParts(
	data: Dataset,
	name = "HTTP, parts in parallel",
	env: Record<string, string> = {},
): BenchCase {
	return {
		name,
		async run(folder) {
			const service = await startService(folder, env);
			try {
				const args = [script("push-parts.ts"), service.url, service.key, data.path, table];
				const before = service.cpuMs();
				const run = await runChild(process.execPath, args);
				const peakBytes = service.peakBytes();
				const extra = cpuOf(run, before, service);
				await service.stop();
				return { ...(await ofScript(data, service.databasePath, run)), peakBytes, extra };
			} finally {
				await service.stop();
			}
		},
	};
}

/** The same with the objects on an S3 server beside us, which shares the machine's cores. */
export function httpPartsOnS3(data: Dataset, name = "HTTP, parts over S3"): BenchCase {
	return {
		name,
		async run(folder) {
			const { startSeaweedfs } = await import("../test/clients/servers/seaweedfs.ts");
			const server = await startSeaweedfs();
			try {
				const env = { ...server.env, DUCKDOCK_STORE: `s3://${server.bucket}/bench` };
				return await httpParts(data, name, env).run(folder);
			} finally {
				await server.stop();
			}
		},
	};
}

export function manyUploads(
	clients: number,
	uploads: number,
	name: string,
	env: Record<string, string> = {},
): BenchCase {
	return {
		name,
		async run(folder) {
			const service = await startService(folder, env);
			try {
				const numbers = [clients, uploads, 1_000, Math.ceil(uploads / 5)].map(String);
				const args = [script("many-uploads.ts"), service.url, service.key, ...numbers];
				const client = spawn(process.execPath, args, { stdio: ["pipe", "pipe", "pipe"] });
				const output = collectOutput(client);
				const ended = new Promise<number | null>((resolve) => client.on("close", resolve));
				await Promise.race([ended, new Promise((resolve) => client.stdout.once("data", resolve))]);
				const before = service.cpuMs();
				client.stdin.end("go");
				if ((await ended) !== 0) throw new Error(`the clients ended: ${output.stderr}`);
				const after = service.cpuMs();
				const result = JSON.parse(output.stdout.split("\n")[1]!) as Omit<RunResult, "peakBytes">;
				const each = (name: string) => ((after[name] ?? 0) - (before[name] ?? 0)) / uploads;
				const cpu = { "HTTP CPU ms": each("main"), "loader CPU ms": each("child") };
				return {
					...result,
					peakBytes: service.peakBytes(),
					extra: { ...result.extra, ...cpu },
				};
			} finally {
				await service.stop();
			}
		},
	};
}

export function appendCells(data: Dataset, name = "Appender, cell by cell"): BenchCase {
	return {
		name,
		async run(folder) {
			const database = join(folder, "cells.duckdb");
			const run = await runChild(process.execPath, [
				script("append-cells.ts"),
				data.path,
				database,
				table,
			]);
			return ofScript(data, database, run);
		},
	};
}

export function copyTable(data: Dataset, name: string): BenchCase {
	return {
		name,
		async run(folder) {
			const source = await loadedSource(data);
			const database = join(folder, "copy.duckdb");
			const run = await runChild(process.execPath, [
				script("copy-table.ts"),
				source,
				database,
				table,
			]);
			return ofScript(data, database, run);
		},
	};
}

/** The data as a table of a DuckDB file, to copy from: loaded once, by ourselves. */
async function loadedSource(data: Dataset): Promise<string> {
	const source = join(cacheFolder, "data", `${data.path.split("/").at(-1)}.duckdb`);
	if (!existsSync(source)) {
		const args = [cli, "load", data.path, "--db", `${source}.part`, "--table", table, "--json"];
		await runChild(process.execPath, args);
		await rename(`${source}.part`, source);
	}
	return source;
}

export function pythonInProcess(python: string, data: Dataset, name: string): BenchCase {
	return pythonInsert(python, data, name, "in_process.py");
}

export function adbcIngest(python: string, data: Dataset, name = "ADBC in Python"): BenchCase {
	return pythonInsert(python, data, name, "adbc.py");
}

/** One of Python's ways into a new database, in a process of its own. */
function pythonInsert(python: string, data: Dataset, name: string, script: string): BenchCase {
	return {
		name,
		async run(folder) {
			const database = join(folder, "python.duckdb");
			const args = [pythonScript(script), data.path, database, table];
			return ofScript(data, database, await runChild(python, args, quietPython));
		},
	};
}

export function flight(python: string, data: Dataset, name = "Flight server in Python"): BenchCase {
	return {
		name,
		async run(folder) {
			const database = join(folder, "flight.duckdb");
			const server = spawn(python, [pythonScript("flight_server.py"), database], {
				stdio: ["pipe", "pipe", "pipe"],
				env: { ...process.env, ...quietPython },
			});
			const output = collectOutput(server);
			const ended = new Promise<void>((resolve) => server.on("close", () => resolve()));
			const port = await new Promise<string>((resolve, reject) => {
				server.stdout.on("data", () => resolve(output.stdout.trim()));
				ended.then(() => reject(new Error(`the Flight server ended: ${output.stderr}`)));
			});
			const peakBytes: Record<string, number> = {};
			let run: Finished;
			try {
				const args = [pythonScript("flight_client.py"), port, data.path, table];
				run = await runChild(python, args, quietPython);
				notePeaks(server.pid!, peakBytes);
			} finally {
				server.stdin.end();
				await ended;
			}
			return { ...(await ofScript(data, database, run)), peakBytes };
		},
	};
}
