#!/usr/bin/env node
/**
 * The command line's entry: reads the environment, constructs what commands need
 * when they need it, and ends with the command's exit code.
 */
import "./young-generation.node.ts";
import { readFileSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { availableParallelism, homedir, tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import type { CliDeps } from "../src/cli/cli-deps.ts";
import { InterruptedError } from "../src/cli/cli-errors.ts";
import { createDoctorChecks } from "../src/cli/doctor-checks.ts";
import { runCli } from "../src/cli/run-cli.ts";
import { sampleStream } from "../src/cli/sample-stream.ts";
import { systemClock } from "../src/clock.ts";
import { readConfig, type StoreConfig } from "../src/config.ts";
import { createLog, type Log } from "../src/log.ts";

const { env } = process;
// Before the pool's first use. Four threads would make objects wait for each other's
// fsync, which a journal takes many of at once, and streaming statements for reads.
env.UV_THREADPOOL_SIZE ??= String(Math.max(16, 2 * availableParallelism()));
const clock = systemClock;
const stop = new AbortController();
for (const signal of ["SIGINT", "SIGTERM"] as const) {
	process.once(signal, () => {
		stop.abort(new InterruptedError(`stopped by ${signal}`));
		// Asked twice, we go at once.
		process.once(signal, () => process.exit(130));
	});
}

const config = () => readConfig(env);
const createStderrLog = (): Log =>
	createLog(config().logLevel, (line) => void process.stderr.write(`${line}\n`));

async function openConfigured(store: StoreConfig) {
	const { openStore } = await import("./open-store.node.ts");
	return openStore(store, config());
}

const deps: CliDeps = {
	clock,
	signal: stop.signal,
	stdin: process.stdin,
	stdout: process.stdout,
	stderr: process.stderr,
	url: env.DUCKDOCK_URL,
	key: env.DUCKDOCK_KEY,
	stateFolder: join(env.XDG_STATE_HOME || join(homedir(), ".local/state"), "duckdock"),
	version: JSON.parse(readFileSync(new URL("../package.json", import.meta.url), "utf8")).version,
	openStore: () => openConfigured(config().store),
	openKeysStore: () => openConfigured(config().keysStore ?? config().store),
	openDropStore: () => openConfigured(config().dropStore ?? config().store),

	async loadFiles(request) {
		const { loadLocalFiles } = await import("./load-files.node.ts");
		return loadLocalFiles(request, { env, clock });
	},

	async serve(signal) {
		const log = createStderrLog();
		const { startService } = await import("./all.node.ts");
		for (const name of config().unknownNames) log.warn("an unknown variable is set", { name });
		const service = await startService(config(), { log });
		const stopped = new Promise<void>((done) =>
			signal.aborted ? done() : signal.addEventListener("abort", () => done(), { once: true }),
		).then(() => service.close());
		return { url: service.url, stopped };
	},

	async collectGarbage(signal) {
		const { createStoreReceiptBook } = await import("../src/receipt/store-receipt-book.ts");
		const { sweep } = await import("../src/trigger/sweep.ts");
		const store = await deps.openStore();
		const receipts = createStoreReceiptBook({ store, clock });
		const { limits } = config();
		const log = createStderrLog();
		const result = await sweep({ store, receipts, clock, log, limits, send: null }, signal);
		return result.removed;
	},

	doctorChecks: (target) =>
		createDoctorChecks(
			{
				nodeVersion: process.version,
				checkConfig: () => config().unknownNames,
				loadSample: () =>
					inTemporaryFolder(async (folder) => {
						const path = join(folder, "sample.arrow");
						const bytes = sampleStream();
						await writeFile(path, bytes);
						const receipt = await deps.loadFiles({
							files: [{ path, size: bytes.length }],
							open: () => process.stdin,
							dbPath: join(folder, "sample.duckdb"),
							parameters: sampleParameters(false),
							signal: stop.signal,
						});
						return receipt.engine;
					}),
				openStore: () => deps.openStore(),
				async tryTarget(given) {
					const { tryTarget } = await import("./load-files.node.ts");
					return inTemporaryFolder(async (folder) => {
						const path = join(folder, "sample.arrow");
						const bytes = sampleStream();
						await writeFile(path, bytes);
						const settings = given === undefined ? env : { ...env, DUCKDOCK_TARGET: given };
						const parameters = sampleParameters(true);
						const sample = { path, size: bytes.length, parameters, signal: stop.signal };
						return tryTarget(readConfig(settings), sample, { env, clock });
					});
				},
			},
			target,
		),
};

function sampleParameters(dryRun: boolean) {
	return {
		table: { schema: "main", table: "duckdock_doctor" },
		mode: "create_append",
		on_extra_columns: "error",
		dry_run: dryRun,
		require_eos: true,
		rows: 3,
		idempotency_key: null,
	} as const;
}

async function inTemporaryFolder<T>(work: (folder: string) => Promise<T>): Promise<T> {
	const folder = await mkdtemp(join(tmpdir(), "duckdock-doctor-"));
	try {
		return await work(folder);
	} finally {
		await rm(folder, { recursive: true, force: true });
	}
}

process.exitCode = await runCli(process.argv.slice(2), deps);
