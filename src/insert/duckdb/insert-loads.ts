/**
 * From jobs to outcomes: what shares a transaction, what runs alone, what is tried again.
 *
 * Several loads are put into one transaction. If it fails, whatever the cause,
 * each runs again on its own with a job made anew, so that one bad upload does
 * not fail its neighbours. Dry runs always run alone. A load that lost a race
 * against another transaction runs again a few times, with growing pauses.
 */

import type { DuckDBConnection } from "@duckdb/node-api";
import type { Clock } from "../../clock.ts";
import { IngestError } from "../../errors.ts";
import type { Receipt } from "../../flow.ts";
import type { Log } from "../../log.ts";
import { tableKey } from "../../table-name.ts";
import type { InsertJob, InsertOutcome } from "../batch-sink.ts";
import { type AttachOptions, attachDatabase } from "./attached-database.ts";
import { TransactionConflict } from "./engine-errors.ts";
import type { EngineThreads } from "./engine-threads.ts";
import { createKnownDatabase, type KnownDatabase } from "./known-database.ts";
import { ensureLedger, findLedgerRows, ledgerIsThere, ledgerOf } from "./ledger.ts";
import {
	type PeekedTable,
	peekTables,
	runLoads,
	type TransactionOptions,
} from "./load-transaction.ts";
import type { LockRequest, TableLocks } from "./table-locks.ts";
import { type TenantTarget, throwawayTarget } from "./targets.ts";
import type { TenantDatabase } from "./tenant-database.ts";

export interface InsertOptions
	extends Pick<TransactionOptions, "engine" | "copyArrow" | "statements">,
		AttachOptions {
	clock: Clock;
	log: Log;
	locks: TableLocks;
}

/** One thread loads so much in less time than others need to join it. */
const littleBytes = 8 * 1024 * 1024;
const triesOfOneLoad = 6;
const firstPauseMs = 15;

export async function insertLoads(
	database: TenantDatabase,
	jobs: readonly InsertJob[],
	again: (index: number) => Promise<InsertJob>,
	options: InsertOptions,
): Promise<InsertOutcome[]> {
	const outcomes = new Array<InsertOutcome>(jobs.length);
	try {
		const begunBefore = (job: InsertJob) => job.first !== true;
		const committed = await committedBefore(database, jobs, begunBefore);
		for (const [at, receipt] of committed) outcomes[at] = { receipt };
	} catch (error) {
		return jobs.map(() => ({ error }));
	}
	const together = jobs
		.map((_, at) => at)
		.filter((at) => outcomes[at] === undefined && !jobs[at]!.parameters.dry_run);
	const fresh = new Map(jobs.entries());
	if (together.length > 1) {
		try {
			const receipts = await tryOnce(
				database,
				together.map((at) => jobs[at]!),
				options,
			);
			for (const [at, receipt] of receipts.entries()) outcomes[together[at]!] = { receipt };
		} catch (error) {
			options.log.info("a shared transaction failed; its loads run one by one", {
				tenant: database.target.tenant,
				loads: together.length,
				error: error instanceof Error ? error.message : String(error),
			});
			for (const at of together) fresh.delete(at);
		}
	}
	for (const at of jobs.keys()) {
		outcomes[at] ??= await runAlone(database, fresh.get(at), () => again(at), options);
	}
	return outcomes;
}

async function runAlone(
	database: TenantDatabase,
	first: InsertJob | undefined,
	again: () => Promise<InsertJob>,
	options: InsertOptions,
): Promise<InsertOutcome> {
	let job = first;
	for (let attempt = 1; ; attempt++) {
		try {
			job ??= await again();
			const [receipt] = await tryOnce(database, [job], options);
			return { receipt: receipt! };
		} catch (error) {
			const committed = job && (await committedBefore(database, [job]).catch(() => null))?.get(0);
			if (committed) return { receipt: committed };
			if (!(error instanceof TransactionConflict)) return { error };
			if (job?.othersWait === undefined) options.locks.askAll();
			if (attempt === triesOfOneLoad) {
				return {
					error: new IngestError(
						"target_unavailable",
						`${attempt} times another transaction was first: ${error.message}`,
						{ cause: error },
					),
				};
			}
			const pauseMs = firstPauseMs * 2 ** attempt * (0.5 + Math.random());
			options.log.debug("a load lost a race and runs again", { attempt, error: error.message });
			await options.clock.sleep(pauseMs);
			job = undefined;
		}
	}
}

async function tryOnce(
	database: TenantDatabase,
	jobs: readonly InsertJob[],
	options: InsertOptions,
): Promise<Receipt[]> {
	const signal = AbortSignal.any(jobs.map((job) => job.signal));
	const work = async (
		connection: DuckDBConnection,
		known: KnownDatabase,
		threads: EngineThreads,
		target = database.target,
	) => {
		const settle = isLittle(jobs) ? null : await threads.raise(connection);
		try {
			return await locked(connection, known, target, jobs, signal, options);
		} finally {
			await settle?.();
		}
	};
	if (!jobs[0]!.parameters.dry_run) return await database.use(signal, "create", work);
	return (
		(await database.use(signal, "skip", work)) ??
		(await inThrowaway(throwawayTarget(database.target), signal, options, work))
	);
}

function isLittle(jobs: readonly InsertJob[]): boolean {
	return jobs.reduce((sum, { bytes = Infinity }) => sum + bytes, 0) <= littleBytes;
}

/** A dry run where no database is yet: against an empty one that goes with its instance. */
async function inThrowaway<T>(
	target: TenantTarget,
	signal: AbortSignal,
	options: InsertOptions,
	work: (
		connection: DuckDBConnection,
		known: KnownDatabase,
		threads: EngineThreads,
		target: TenantTarget,
	) => Promise<T>,
): Promise<T> {
	const empty = await attachDatabase(target, options, signal);
	try {
		const connection = await empty.connect();
		try {
			return await work(connection, createKnownDatabase(false), empty.threads, target);
		} finally {
			connection.closeSync();
		}
	} finally {
		await empty.close();
	}
}

/** Appends share a table; whatever needs DDL has it alone. */
async function locked(
	connection: DuckDBConnection,
	known: KnownDatabase,
	target: TenantTarget,
	jobs: readonly InsertJob[],
	signal: AbortSignal,
	options: InsertOptions,
): Promise<Receipt[]> {
	if (!jobs[0]!.parameters.dry_run) await makeLedger(connection, known, target, signal, options);
	const run = (peeked: readonly PeekedTable[]) =>
		runLoads(connection, jobs, { ...options, known, target, signal, peeked });
	let peeked = await peekTables(connection, target.catalog, known, jobs);
	let requests = lockRequests(jobs, peeked, target);
	for (;;) {
		const lock = await options.locks.acquire(requests, signal, jobs[0]!.othersWait);
		try {
			if (!lock.waited) return await run(peeked);
			// Somebody may have made or replaced a table in the meantime.
			peeked = await peekTables(connection, target.catalog, known, jobs);
			const now = lockRequests(jobs, peeked, target);
			if (now.every((one, at) => !one.exclusive || requests[at]!.exclusive)) {
				return await run(peeked);
			}
			requests = now;
		} finally {
			lock.release();
		}
	}
}

function lockRequests(
	jobs: readonly InsertJob[],
	peeked: readonly PeekedTable[],
	target: TenantTarget,
): LockRequest[] {
	const requests = jobs.map(({ parameters }, at) => ({
		key: tableKey(parameters.table),
		exclusive:
			!peeked[at]!.exists ||
			parameters.mode === "replace" ||
			parameters.mode === "create" ||
			parameters.on_extra_columns === "add",
	}));
	// Every transaction updates the fence row: of two at once, the second would be for nothing.
	if (!target.can.primaryKeys) requests.push({ key: "_duckdock.fence", exclusive: true });
	return requests;
}

async function makeLedger(
	connection: DuckDBConnection,
	known: KnownDatabase,
	target: TenantTarget,
	signal: AbortSignal,
	options: InsertOptions,
): Promise<void> {
	if (await ledgerIsThere(connection, known, target.catalog)) return;
	const lock = await options.locks.acquire([{ key: "_duckdock", exclusive: true }], signal);
	try {
		await ensureLedger(connection, ledgerOf(target));
	} finally {
		lock.release();
	}
}

/**
 * Receipts of the jobs that the ledger has already, by position. Asked before a load
 * that was begun before: its loader may have died after COMMIT. And asked again when one fails:
 * another loader may have committed it in the meantime, and its rows, its table or
 * its ledger row may be what refused ours.
 */
async function committedBefore(
	database: TenantDatabase,
	jobs: readonly InsertJob[],
	asks: (job: InsertJob) => boolean = () => true,
): Promise<Map<number, Receipt>> {
	const asked = [...jobs.entries()].filter(
		([, job]) => job.loadId !== undefined && !job.parameters.dry_run && asks(job),
	);
	if (asked.length === 0) return new Map();
	const ids = asked.map(([, job]) => job.loadId!);
	const signal = AbortSignal.any(asked.map(([, job]) => job.signal));
	const found = await database.use(signal, "skip", async (connection, known) =>
		(await ledgerIsThere(connection, known, database.target.catalog))
			? await findLedgerRows(connection, database.target.catalog, ids)
			: null,
	);
	return new Map(
		asked.flatMap(([at, job]) => {
			const receipt = found?.get(job.loadId!);
			return receipt ? [[at, receipt] as const] : [];
		}),
	);
}
