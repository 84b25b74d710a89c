/**
 * Loads of one database in one transaction, on one connection.
 *
 * In: jobs whose order is kept. Out: their receipts, committed and read back; or
 * an error and nothing of them there. Order: a view per group of jobs, in
 * autocommit, and its pump primed; BEGIN; for each group the table looked at, DDL,
 * one `INSERT … BY NAME SELECT *`, the counts compared; the ledger rows; every
 * `beforeCommit`; COMMIT; the ledger rows read back; the views dropped.
 *
 * After an error of any statement there is never a COMMIT: DuckDB answers
 * success to the COMMIT of an aborted transaction, and keeps a ledger row
 * without its rows after a binder error.
 */

import type { DuckDBConnection } from "@duckdb/node-api";
import { IngestError } from "../../errors.ts";
import type { Receipt } from "../../flow.ts";
import { assertWritable, tableKey } from "../../table-name.ts";
import type { InsertJob } from "../batch-sink.ts";
import { checkMode, checkNames } from "./check-load.ts";
import {
	type EngineErrorContext,
	fromEngine,
	TransactionConflict,
	toIngestError,
} from "./engine-errors.ts";
import type { KnownDatabase } from "./known-database.ts";
import { asInLedger, ledgerOf, whichAreThere, writeLedgerRows } from "./ledger.ts";
import {
	type GroupOptions,
	groupLoads,
	insertGroup,
	type OpenGroup,
	openGroup,
} from "./load-group.ts";
import { readTargetTable, type TargetTable, tableKind } from "./target-table.ts";
import type { TenantTarget } from "./targets.ts";
import { createTransactionTables } from "./transaction-tables.ts";

export interface TransactionOptions extends GroupOptions {
	known: KnownDatabase;
	/** What `peekTables` saw, in the order of the jobs. */
	peeked: readonly PeekedTable[];
}

export interface PeekedTable {
	exists: boolean;
	/** Read only where the columns decide what is scanned. */
	table: TargetTable | null;
}

/** The tables as they are before the transaction: for the locks to take and the columns to scan. Refuses what the mode refuses. */
export async function peekTables(
	connection: DuckDBConnection,
	catalog: string,
	known: KnownDatabase,
	jobs: readonly InsertJob[],
): Promise<PeekedTable[]> {
	const tables: PeekedTable[] = [];
	const kinds = new Map<string, TargetTable["kind"] | null>();
	for (const { parameters, reader } of jobs) {
		assertWritable(parameters.table);
		checkNames(reader.sentFields);
		const key = tableKey(parameters.table);
		const seen = known.table(parameters.table);
		if (!kinds.has(key)) {
			kinds.set(key, seen?.kind ?? (await tableKind(connection, catalog, parameters.table)));
		}
		const kind = kinds.get(key)!;
		// In a shared transaction an earlier job may make or replace the table first.
		if (jobs.length === 1) checkMode(parameters, kind);
		const needed = kind !== null && parameters.on_extra_columns === "ignore";
		const table = needed
			? (seen ?? (await readTargetTable(connection, catalog, parameters.table)))
			: null;
		tables.push({ exists: kind !== null, table });
	}
	return tables;
}

/** `IngestError`, `TransactionConflict` or whatever `beforeCommit` throws; nothing is committed then. */
export async function runLoads(
	connection: DuckDBConnection,
	jobs: readonly InsertJob[],
	options: TransactionOptions,
): Promise<Receipt[]> {
	const { signal } = options;
	const open: OpenGroup[] = [];
	const interrupt = () => {
		for (const { scan } of open) scan.stop();
		connection.interrupt();
	};
	signal.addEventListener("abort", interrupt);
	try {
		signal.throwIfAborted();
		const peeked = options.peeked.map(({ table }) => table);
		for (const group of groupLoads(jobs, peeked)) {
			open.push(await openGroup(connection, group, options));
		}
		await Promise.all(open.map(({ scan }) => scan.primed));
		const receipts = await inTransaction(connection, open, options, () =>
			signal.removeEventListener("abort", interrupt),
		);
		if (jobs[0]!.parameters.dry_run) return receipts;
		return await readBack(connection, options.target.catalog, receipts);
	} catch (error) {
		if (signal.aborted) throw signal.reason;
		throw error;
	} finally {
		signal.removeEventListener("abort", interrupt);
		for (const { scan } of open) await scan.close();
	}
}

async function inTransaction(
	connection: DuckDBConnection,
	groups: readonly OpenGroup[],
	options: TransactionOptions,
	pointOfNoReturn: () => void,
): Promise<Receipt[]> {
	const jobs = groups.flatMap((group) => group.jobs);
	const dryRun = jobs[0]!.parameters.dry_run;
	const context: EngineErrorContext = { path: options.target.location };
	const receipts: Receipt[] = [];
	const tables = createTransactionTables(connection, options.target.catalog, options.known);
	let committed = false;
	await connection.run("BEGIN TRANSACTION");
	try {
		if (!dryRun) await refuseRepeats(connection, jobs, options.target);
		for (const group of groups) {
			const { plan, results } = await insertGroup(connection, group, tables, options);
			if (jobs.length === 1) {
				context.table = plan.name.table;
				context.columns = plan.columns;
			}
			for (const [at, job] of group.jobs.entries()) {
				receipts.push(job.receipt(results[at]!, job.reader.counts()));
			}
		}
		if (!dryRun) await writeLedgerRows(connection, ledgerOf(options.target), receipts);
		for (const job of jobs) await job.beforeCommit(job.reader.counts());
		options.signal.throwIfAborted();
		pointOfNoReturn();
		if (!dryRun) tables.committing();
		await connection.run(dryRun ? "ROLLBACK" : "COMMIT");
		committed = !dryRun;
		return receipts;
	} catch (error) {
		await rollBack(connection);
		throw fromEngine(error) ? toIngestError(error, context) : error;
	} finally {
		tables.over(committed);
	}
}

/**
 * Where no primary key refuses a second row of the same load, it is looked for in the
 * transaction's own snapshot: what was committed after it conflicts at the fence row.
 */
async function refuseRepeats(
	connection: DuckDBConnection,
	jobs: readonly InsertJob[],
	target: TenantTarget,
): Promise<void> {
	if (target.can.primaryKeys) return;
	const ids = jobs.flatMap(({ loadId }) => loadId ?? []);
	const found = await whichAreThere(connection, target.catalog, ids);
	if (found.size > 0) {
		throw new TransactionConflict(`another loader has committed ${[...found].join(", ")}`);
	}
}

async function readBack(
	connection: DuckDBConnection,
	catalog: string,
	receipts: readonly Receipt[],
): Promise<Receipt[]> {
	const ids = receipts.map(({ load_id }) => load_id);
	const found = await whichAreThere(connection, catalog, ids);
	const missing = ids.find((id) => !found.has(id));
	if (missing === undefined) return receipts.map(asInLedger);
	throw new IngestError("internal", `load ${missing} was committed, its ledger row is not there`);
}

/** The transaction may be gone already: after a failed COMMIT there is none. */
async function rollBack(connection: DuckDBConnection): Promise<void> {
	try {
		await connection.run("ROLLBACK");
	} catch (error) {
		const message = error instanceof Error ? error.message : String(error);
		if (!/no transaction is active/i.test(message)) throw error;
	}
}
