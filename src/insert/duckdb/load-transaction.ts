/**
 * Loads of one database in one transaction, on one connection.
 *
 * In: jobs whose order is kept. Out: their receipts, committed and read back; or
 * an error and nothing of them there. Order: a view per job, in autocommit, and
 * its pump primed; BEGIN; for each job the table looked at, DDL, one
 * `INSERT … BY NAME SELECT *`, the counts compared, the ledger row; every
 * `beforeCommit`; COMMIT; the ledger rows read back; the views dropped.
 *
 * After an error of any statement there is never a COMMIT: DuckDB answers
 * success to the COMMIT of an aborted transaction, and keeps a ledger row
 * without its rows after a binder error.
 */

import type { DuckDBConnection } from "@duckdb/node-api";
import { IngestError } from "../../errors.ts";
import type { InsertResult, Receipt, Warning } from "../../flow.ts";
import { assertWritable, formatTableName } from "../../table-name.ts";
import type { InsertJob } from "../batch-sink.ts";
import { type ArrowScan, openArrowScan } from "./arrow-scan.ts";
import { type EngineErrorContext, TransactionConflict, toIngestError } from "./engine-errors.ts";
import {
	checkMode,
	checkNames,
	type InsertPlan,
	planInsert,
	positionsToScan,
} from "./insert-plan.ts";
import { findLedgerRow, writeLedgerRow } from "./ledger.ts";
import type { Semaphore } from "./semaphore.ts";
import {
	findSchema,
	listConstraints,
	readTargetTable,
	type TargetTable,
	tableKind,
} from "./target-table.ts";
import { catalogAlias, type TenantTarget } from "./targets.ts";

export interface TransactionOptions {
	target: TenantTarget;
	engine: string;
	copyArrow: boolean;
	/** Statements that read a stream at the same time, in the whole process. */
	statements: Semaphore;
	signal: AbortSignal;
	/** What `peekTables` saw, in the order of the jobs. */
	peeked: readonly PeekedTable[];
}

export interface PeekedTable {
	exists: boolean;
	/** Read only where the columns decide what is scanned. */
	table: TargetTable | null;
}

interface OpenJob {
	job: InsertJob;
	positions: readonly number[];
	scan: ArrowScan;
}

/** The tables as they are before the transaction: for the locks to take and the columns to scan. Refuses what the mode refuses. */
export async function peekTables(
	connection: DuckDBConnection,
	jobs: readonly InsertJob[],
): Promise<PeekedTable[]> {
	const tables: PeekedTable[] = [];
	for (const { parameters, reader } of jobs) {
		assertWritable(parameters.table);
		checkNames(reader.sentFields);
		const kind = await tableKind(connection, catalogAlias, parameters.table);
		// In a shared transaction an earlier job may make or replace the table first.
		if (jobs.length === 1) checkMode(parameters, kind);
		const needed = kind !== null && parameters.on_extra_columns === "ignore";
		const table = needed ? await readTargetTable(connection, catalogAlias, parameters.table) : null;
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
	const open: OpenJob[] = [];
	const interrupt = () => {
		for (const { scan } of open) scan.stop();
		connection.interrupt();
	};
	signal.addEventListener("abort", interrupt);
	try {
		signal.throwIfAborted();
		for (const [at, job] of jobs.entries()) {
			const { reader, parameters } = job;
			const positions = positionsToScan(reader.sentFields, parameters, options.peeked[at]!.table);
			const scan = await openArrowScan(connection, reader, positions, {
				copy: options.copyArrow,
				signal: AbortSignal.any([signal, job.signal]),
			});
			open.push({ job, positions, scan });
		}
		await Promise.all(open.map(({ scan }) => scan.primed));
		const receipts = await inTransaction(connection, open, options, () =>
			signal.removeEventListener("abort", interrupt),
		);
		if (jobs[0]!.parameters.dry_run) return receipts;
		return await readBack(connection, receipts);
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
	open: readonly OpenJob[],
	options: TransactionOptions,
	pointOfNoReturn: () => void,
): Promise<Receipt[]> {
	const dryRun = open[0]!.job.parameters.dry_run;
	const ledger = { catalog: catalogAlias, primaryKeys: options.target.can.primaryKeys };
	const context: EngineErrorContext = { path: options.target.location };
	const receipts: Receipt[] = [];
	await connection.run("BEGIN TRANSACTION");
	try {
		for (const one of open) {
			const { plan, result } = await insertOne(connection, one, options);
			if (open.length === 1) {
				context.table = plan.name.table;
				context.columns = plan.columns;
			}
			const receipt = one.job.receipt(result, one.job.reader.counts());
			receipts.push(receipt);
			if (!dryRun) await writeLedgerRow(connection, ledger, receipt);
		}
		for (const { job } of open) await job.beforeCommit(job.reader.counts());
		options.signal.throwIfAborted();
		pointOfNoReturn();
		await connection.run(dryRun ? "ROLLBACK" : "COMMIT");
		return receipts;
	} catch (error) {
		await rollBack(connection);
		throw fromEngine(error) ? toIngestError(error, context) : error;
	}
}

async function insertOne(
	connection: DuckDBConnection,
	{ job, positions, scan }: OpenJob,
	options: TransactionOptions,
): Promise<{ plan: InsertPlan; result: InsertResult }> {
	const { parameters, reader } = job;
	const existing = await readTargetTable(connection, catalogAlias, parameters.table);
	const schema =
		existing?.name.schema ?? (await findSchema(connection, catalogAlias, parameters.table.schema));
	const plan = planInsert({
		catalog: catalogAlias,
		parameters,
		sentFields: reader.sentFields,
		scanned: scan.columns,
		existing,
		schema,
	});
	const now = positionsToScan(reader.sentFields, parameters, existing);
	if (now.join() !== positions.join()) {
		throw new TransactionConflict("the table's columns changed while the load began");
	}
	const dropped = plan.replaces ? await droppedConstraints(connection, existing!, scan) : [];
	const context: EngineErrorContext = {
		table: plan.name.table,
		columns: plan.columns,
		path: options.target.location,
	};
	let inserted: number;
	try {
		for (const { run } of plan.ddl) await connection.run(run);
		inserted = await runInsert(connection, plan, scan, options);
	} catch (error) {
		throw fromEngine(error) ? toIngestError(error, context) : error;
	}
	compareCounts(job, inserted, scan.rowsHandedOver());
	const warnings: Warning[] = [...reader.warnings(), ...plan.warnings, ...dropped];
	return {
		plan,
		result: {
			rows_inserted: inserted,
			created_table: plan.created_table,
			columns: plan.columns,
			columns_defaulted: plan.columns_defaulted,
			columns_added: plan.columns_added,
			warnings,
			ddl: plan.ddl.map(({ shown }) => shown),
			engine: options.engine,
		},
	};
}

/** Rows that the statement says it inserted. The reader's error, when it fails, and not what DuckDB makes of it. */
async function runInsert(
	connection: DuckDBConnection,
	plan: InsertPlan,
	scan: ArrowScan,
	options: TransactionOptions,
): Promise<number> {
	const release = await options.statements.acquire(options.signal);
	try {
		const running = connection
			.run(`INSERT INTO ${plan.target} BY NAME SELECT * FROM ${scan.view}`)
			.catch((error) => {
				// No further batch is read, and a push that waits for room is woken.
				scan.stop();
				throw error;
			});
		const [ran, pumped] = await Promise.allSettled([running, scan.pumped]);
		if (pumped.status === "rejected") throw pumped.reason;
		if (ran.status === "rejected") throw ran.reason;
		return ran.value.rowsChanged;
	} finally {
		release();
	}
}

/** `row_count_mismatch` unless what was declared, streamed, fetched and inserted is one number. */
function compareCounts(job: InsertJob, inserted: number, fetched: number): void {
	const streamed = job.reader.counts().rows_streamed;
	const declared = job.parameters.rows;
	if (inserted === streamed && fetched === streamed && (declared ?? streamed) === streamed) return;
	const said = declared === null ? "" : `, ${declared} were declared`;
	throw new IngestError(
		"row_count_mismatch",
		`${streamed} rows were streamed, ${fetched} scanned, ${inserted} inserted into ${formatTableName(job.parameters.table)}${said}`,
	);
}

async function droppedConstraints(
	connection: DuckDBConnection,
	existing: TargetTable,
	scan: ArrowScan,
): Promise<Warning[]> {
	const kept = scan.columns.filter(({ field }) => !field.nullable).map(({ field }) => field.name);
	const lost = await listConstraints(connection, catalogAlias, existing, kept);
	return lost.map((constraint) => ({ code: "constraint_dropped", ...constraint }));
}

async function readBack(
	connection: DuckDBConnection,
	receipts: readonly Receipt[],
): Promise<Receipt[]> {
	const found: Receipt[] = [];
	for (const { load_id } of receipts) {
		const row = await findLedgerRow(connection, catalogAlias, load_id);
		if (row === null) {
			throw new IngestError(
				"internal",
				`load ${load_id} was committed, its ledger row is not there`,
			);
		}
		found.push(row);
	}
	return found;
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

/** node-api throws plain Errors whose text begins with DuckDB's class. */
function fromEngine(error: unknown): boolean {
	return error instanceof Error && error.name === "Error" && / Error: /.test(error.message);
}
