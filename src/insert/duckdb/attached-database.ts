/**
 * One DuckDB instance with one tenant's target attached.
 *
 * In: a target. Out: connections to it. Order: the folder is made; an instance on
 * `:memory:` (views over Arrow streams live there, never in a file); extensions;
 * ATTACH, which waits for a file that another program holds; the lock-down.
 *
 * Closing detaches first, which checkpoints: the file is then whole without its
 * .wal, and another program can open it.
 */

import { mkdirSync, realpathSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import type { DuckDBConnection } from "@duckdb/node-api";
import { DuckDBInstance } from "@duckdb/node-api";
import type { Clock } from "../../clock.ts";
import { IngestError } from "../../errors.ts";
import type { Log } from "../../log.ts";
import { toIngestError } from "./engine-errors.ts";
import { createEngineThreads, type EngineThreads } from "./engine-threads.ts";
import { createKnownDatabase, type KnownDatabase } from "./known-database.ts";
import { type EngineOptions, lockStatements, type S3Access } from "./lockdown.ts";
import { quoteText } from "./sql-names.ts";
import { rows } from "./target-table.ts";
import { attachStatement, detachStatement, type TenantTarget } from "./targets.ts";
import { putSign, removeSign, signEveryMs } from "./waiting-sign.ts";

export interface AttachedDatabase {
	readonly target: TenantTarget;
	/** The file by its real path, where one process at a time may have it; else null. */
	readonly file: string | null;
	readonly known: KnownDatabase;
	readonly threads: EngineThreads;
	/** One that was given back, or a new one. */
	connect(): Promise<DuckDBConnection>;
	/** Instead of closing one on which nothing failed: it has no transaction open. */
	giveBack(connection: DuckDBConnection): void;
	/** Detaches and closes; every connection must be closed or given back. Never throws. */
	close(): Promise<void>;
}

export interface AttachOptions extends EngineOptions {
	clock: Clock;
	log: Log;
	lockWaitMs: number;
}

/**
 * Files that instances of this process have attached. DuckDB's own lock is one of
 * POSIX: it keeps other processes out, but not a second instance in this one.
 */
const heldFiles = new Set<string>();

/** The first wait for a file; each next one is half as long again, until signs are renewed often enough. */
const firstWaitMs = 25;
const longestWaitMs = signEveryMs;
const maxIdleConnections = 4;

/**
 * `target_unavailable` with the reason; the signal's reason when it aborts. The wait
 * for a file that is in use is counted from `since`, on the options' clock.
 */
export async function attachDatabase(
	target: TenantTarget,
	options: AttachOptions,
	signal: AbortSignal,
	since = options.clock.now(),
): Promise<AttachedDatabase> {
	const { clock, log, lockWaitMs } = options;
	const file = target.filePath === null ? null : prepareFolder(target.filePath);
	const giveUpAt = since + lockWaitMs;
	let waited = false;
	try {
		for (let waitMs = firstWaitMs; ; waitMs = Math.min(waitMs * 1.5, longestWaitMs)) {
			signal.throwIfAborted();
			const locked = file !== null && heldFiles.has(file);
			if (!locked) {
				if (file !== null) heldFiles.add(file);
				try {
					return await attachOnce(target, file, options);
				} catch (error) {
					if (file !== null) heldFiles.delete(file);
					if (!isLocked(error)) throw unavailable(target, error);
					if (clock.now() >= giveUpAt) throw stillLocked(target, lockWaitMs, error);
					waited = true;
					if (file !== null) putSign(file);
				}
			} else if (clock.now() >= giveUpAt) {
				throw stillLocked(target, lockWaitMs, null);
			}
			log.debug("waiting for a database file that is in use", { tenant: target.tenant, waitMs });
			await clock.sleep(Math.max(1, Math.min(waitMs, giveUpAt - clock.now())), signal);
		}
	} finally {
		// Others who wait renew it in a moment.
		if (waited && file !== null) removeSign(file);
	}
}

async function attachOnce(
	target: TenantTarget,
	file: string | null,
	options: AttachOptions,
): Promise<AttachedDatabase> {
	const { extensionFolder } = options;
	const settings: Record<string, string> =
		extensionFolder === undefined ? {} : { extension_directory: extensionFolder };
	const instance = await DuckDBInstance.create(":memory:", settings);
	let connection: DuckDBConnection | undefined;
	let threads: EngineThreads;
	try {
		connection = await instance.connect();
		await loadExtensions(connection, target, options);
		if (options.s3 !== undefined && target.extensions.includes("httpfs")) {
			await connection.run(secretStatement(options.s3));
		}
		await connection.run(attachStatement(target));
		const folder = await dataFolder(connection, target);
		for (const statement of lockStatements(target, options, folder))
			await connection.run(statement);
		threads = await fewThreads(connection, target);
	} catch (error) {
		connection?.closeSync();
		instance.closeSync();
		throw error;
	}
	const idle = [connection];
	return {
		target,
		file,
		known: createKnownDatabase(target.can.beAlone),
		threads,
		connect: async () => idle.pop() ?? (await instance.connect()),
		giveBack(connection) {
			if (idle.length < maxIdleConnections) idle.push(connection);
			else connection.closeSync();
		},
		close: async () => {
			try {
				const last = idle.pop() ?? (await instance.connect());
				for (const connection of idle.splice(0)) connection.closeSync();
				try {
					await last.run(detachStatement(target));
				} finally {
					last.closeSync();
				}
			} catch (error) {
				options.log.warn("a database could not be detached", {
					tenant: target.tenant,
					error: error instanceof Error ? error.message : String(error),
				});
			} finally {
				instance.closeSync();
				if (file !== null) heldFiles.delete(file);
			}
		},
	};
}

/** What a lake or MotherDuck does with threads besides is theirs to know: they keep them. */
async function fewThreads(
	connection: DuckDBConnection,
	target: TenantTarget,
): Promise<EngineThreads> {
	if (target.kind !== "file") return createEngineThreads(null);
	const [[all] = []] = await rows(connection, "SELECT current_setting('threads')");
	await connection.run("SET GLOBAL threads = 1");
	return createEngineThreads(Number(all));
}

/** https://duckdb.org/docs/stable/core_extensions/httpfs/s3api */
function secretStatement({ keyId, secret, sessionToken, region, endpoint }: S3Access): string {
	const fields = ["TYPE s3", `KEY_ID ${quoteText(keyId)}`, `SECRET ${quoteText(secret)}`];
	fields.push(`REGION ${quoteText(region)}`);
	if (sessionToken !== undefined) fields.push(`SESSION_TOKEN ${quoteText(sessionToken)}`);
	if (endpoint !== undefined) {
		const url = new URL(endpoint);
		fields.push(`ENDPOINT ${quoteText(url.host)}`, "URL_STYLE 'path'");
		fields.push(`USE_SSL ${url.protocol === "https:"}`);
	}
	return `CREATE SECRET (${fields.join(", ")})`;
}

/** By path where one is given, else by name; one that is not installed yet is fetched from DuckDB's signed repository. */
async function loadExtensions(
	connection: DuckDBConnection,
	target: TenantTarget,
	options: EngineOptions,
): Promise<void> {
	for (const name of target.extensions) {
		const file = options.extensionFiles?.[name];
		if (file !== undefined) {
			await connection.run(`LOAD ${quoteText(file)}`);
			continue;
		}
		try {
			await connection.run(`LOAD ${name}`);
		} catch {
			await connection.run(`INSTALL ${name}`);
			await connection.run(`LOAD ${name}`);
		}
	}
}

/** Where a lake keeps its Parquet files, made if it is a folder of this machine that is missing; else null. */
async function dataFolder(
	connection: DuckDBConnection,
	target: TenantTarget,
): Promise<string | null> {
	if (target.kind !== "ducklake") return null;
	const result = await connection.run(
		`SELECT value FROM ducklake_options(${quoteText(target.catalog)}) WHERE option_name = 'data_path'`,
	);
	const path = (await result.getRowsJS())[0]?.[0];
	if (typeof path !== "string" || /^[a-z][a-z0-9+.-]*:/i.test(path)) return null;
	mkdirSync(path, { recursive: true });
	return path;
}

/** Makes the folder; one name for all ways to write the path of the file. */
function prepareFolder(path: string): string {
	try {
		mkdirSync(dirname(path), { recursive: true });
	} catch (error) {
		throw new IngestError(
			"target_unavailable",
			`the folder of the database file can't be made: ${codeOf(error)}`,
			{ cause: error },
		);
	}
	try {
		return realpathSync(path);
	} catch {
		return join(realpathSync(dirname(path)), basename(path));
	}
}

function isLocked(error: unknown): boolean {
	const message = error instanceof Error ? error.message : String(error);
	return /could not set lock on file|being used by another process/i.test(message);
}

function unavailable(target: TenantTarget, error: unknown): IngestError {
	const message = error instanceof Error ? error.message : String(error);
	if (/not a valid DuckDB database file|is a directory/i.test(message)) {
		return new IngestError(
			"target_unavailable",
			"what is at the path of the database is no DuckDB database: give another path, or move it away",
			{ cause: error, extra: { reason: "no_database" } },
		);
	}
	const told = toIngestError(error, { path: target.location });
	return new IngestError("target_unavailable", `the database can't be opened: ${told.message}`, {
		cause: error,
	});
}

function stillLocked(target: TenantTarget, waitedMs: number, error: unknown): IngestError {
	const holder = /\(PID \d+\)/.exec(error instanceof Error ? error.message : "")?.[0];
	return new IngestError(
		"target_unavailable",
		`the database file of tenant ${target.tenant} is held by another program${holder ? ` ${holder}` : ""}; waited ${waitedMs / 1000} s`,
		{ cause: error ?? undefined, extra: { reason: "locked" } },
	);
}

function codeOf(error: unknown): string {
	return (error as NodeJS.ErrnoException)?.code ?? String(error);
}
