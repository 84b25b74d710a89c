/** `duckdock load` and the doctor's dry run: the loader of the service on a sink of their own. */
import { existsSync } from "node:fs";
import { rm } from "node:fs/promises";
import { availableParallelism } from "node:os";
import { resolve } from "node:path";
import process from "node:process";
import type { LoadFilesRequest } from "../src/cli/cli-deps.ts";
import { fileSource, pipeSource } from "../src/cli/file-source.ts";
import type { Clock } from "../src/clock.ts";
import { type Config, type Environment, readConfig } from "../src/config.ts";
import type { LoadParameters, Receipt } from "../src/flow.ts";
import { createDuckdbSink } from "../src/insert/duckdb/duckdb-sink.ts";
import { createLog } from "../src/log.ts";
import { loadFiles } from "../src/replay/load-files.ts";
import { createIdMaker } from "../src/stage/new-id.ts";
import { targetOf } from "../src/target-template.ts";
import { engineOptions } from "./engine-options.node.ts";

interface World {
	env: Environment;
	clock: Clock;
}

const localTenant = "local";

export async function loadLocalFiles(request: LoadFilesRequest, world: World): Promise<Receipt> {
	const config = readConfig(loaderSettings(world.env));
	const sink = createSink(databaseTarget(request.dbPath), localTenant, config, world);
	try {
		const receipt = await loadFiles({
			sources: request.files.map(({ path, size }) =>
				size === null
					? pipeSource(path === "-" ? "standard input" : path, () => request.open(path))
					: fileSource(path, size),
			),
			source: { kind: "file", files: request.files.map(({ path }) => path) },
			tenant: localTenant,
			parameters: request.parameters,
			sink,
			clock: world.clock,
			limits: config.limits,
			newId: createIdMaker(world.clock),
			signal: request.signal,
			...(request.onRows ? { onRows: request.onRows } : {}),
		});
		request.onReceipt?.(receipt);
		return receipt;
	} finally {
		await sink.close();
	}
}

const doctorTenant = "duckdock-doctor";

/** Attaches, creates a table, inserts and rolls back; a database file made for it goes again. */
export async function tryTarget(
	config: Config,
	sample: { path: string; size: number; parameters: LoadParameters; signal: AbortSignal },
	world: World,
): Promise<string> {
	const { target } = config;
	const tenant = config.singleTenant ?? doctorTenant;
	const file = target.kind === "file" ? targetOf(target, tenant) : null;
	const wasThere = file !== null && existsSync(file);
	const sink = createSink(target.template, tenant, config, world);
	try {
		const receipt = await loadFiles({
			sources: [fileSource(sample.path, sample.size)],
			source: { kind: "file", files: [] },
			tenant,
			parameters: sample.parameters,
			sink,
			clock: world.clock,
			limits: config.limits,
			newId: createIdMaker(world.clock),
			signal: sample.signal,
		});
		return `${target.template} as tenant ${tenant}: ${receipt.rows_streamed} rows were inserted and rolled back`;
	} finally {
		await sink.close();
		if (file !== null && !wasThere) {
			for (const path of [file, `${file}.wal`]) await rm(path, { force: true });
		}
	}
}

function createSink(target: string, tenant: string, config: Config, { env, clock }: World) {
	const { threads } = config.engine;
	// Statements that stream hold a thread of libuv's pool each while they are fed.
	const threadPoolSize = Number(process.env.UV_THREADPOOL_SIZE ?? 4);
	return createDuckdbSink({
		target,
		singleTenant: tenant,
		...engineOptions(config),
		threads: threads ?? availableParallelism(),
		copyArrow: env.DUCKDOCK_ARROW_COPY === "1",
		threadPoolSize,
		clock,
		log: createLog("warn", (line) => void process.stderr.write(`${line}\n`)),
	});
}

/** A path is taken as it is; what DuckDB attaches by a scheme of its own stays. */
function databaseTarget(dbPath: string): string {
	return /^(md|motherduck|ducklake):/i.test(dbPath) ? dbPath : resolve(dbPath);
}

/** Limits and engine count for `load`; a service's store, target and address don't. */
function loaderSettings(env: Environment): Environment {
	const names = /^DUCKDOCK_(MEMORY_LIMIT|THREADS|EXTENSIONS|LAKE_DATA|MAX_[A-Z_]+)$/;
	return Object.fromEntries(Object.entries(env).filter(([name]) => names.test(name)));
}
