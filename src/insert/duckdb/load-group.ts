/**
 * Loads of one transaction that one statement can insert.
 *
 * In: jobs in order. Out: groups, and for each a scan and an InsertResult per job.
 * Appends to one table with the same columns are read one after the other through
 * one view: of 32 small uploads each costs its rows and little else. Everything
 * else is a group of one. What the statement inserted must be the sum of what the
 * readers streamed; if it is not, or anything fails, the transaction is rolled
 * back and each load runs again on its own, where its faults are its own.
 */

import type { DuckDBConnection } from "@duckdb/node-api";
import type { BatchReader } from "../../arrow/batch-reader.ts";
import { IngestError } from "../../errors.ts";
import type { InsertResult } from "../../flow.ts";
import { formatTableName, tableKey } from "../../table-name.ts";
import type { InsertJob } from "../batch-sink.ts";
import { openArrowScan, schemaKey } from "./arrow-scan.ts";
import { positionsToScan } from "./check-load.ts";
import {
	type EngineErrorContext,
	fromEngine,
	TransactionConflict,
	toIngestError,
} from "./engine-errors.ts";
import { type InsertPlan, planInsert } from "./insert-plan.ts";
import { openParquetScan } from "./parquet-scan.ts";
import { type RowScan, runOver } from "./row-scan.ts";
import type { Semaphore } from "./semaphore.ts";
import { droppedConstraints, forgottenCrs } from "./silent-losses.ts";
import { findSchema, type TargetTable } from "./target-table.ts";
import type { TenantTarget } from "./targets.ts";
import type { TransactionTables } from "./transaction-tables.ts";

export interface GroupOptions {
	target: TenantTarget;
	engine: string;
	copyArrow: boolean;
	/** Statements that read a stream at the same time, in the whole process. */
	statements: Semaphore;
	signal: AbortSignal;
}

export interface LoadGroup {
	/** At least one; all have the table, mode, policy and columns of the first. */
	jobs: InsertJob[];
	positions: readonly number[];
}

export interface OpenGroup extends LoadGroup {
	scan: RowScan;
}

/** `peeked`: the tables as they were before the transaction, where their columns decide what is scanned. */
export function groupLoads(
	jobs: readonly InsertJob[],
	peeked: readonly (TargetTable | null)[],
): LoadGroup[] {
	const groups: LoadGroup[] = [];
	let lastKey: string | null = null;
	for (const [at, job] of jobs.entries()) {
		const key = jobs.length > 1 ? groupKey(job) : null;
		if (key !== null && key === lastKey) {
			groups.at(-1)!.jobs.push(job);
			continue;
		}
		lastKey = key;
		const positions = positionsToScan(job.reader.sentFields, job.parameters, peeked[at] ?? null);
		groups.push({ jobs: [job], positions });
	}
	return groups;
}

/** Null for a load that stays alone. */
function groupKey({ parameters, reader }: InsertJob): string | null {
	const { mode, on_extra_columns: policy } = parameters;
	if ((mode !== "append" && mode !== "create_append") || policy === "add") return null;
	if ("path" in reader) return null;
	return JSON.stringify([
		tableKey(parameters.table),
		mode,
		policy,
		schemaKey(reader.sentFields),
		schemaKey(reader.engineFields),
	]);
}

export async function openGroup(
	connection: DuckDBConnection,
	group: LoadGroup,
	options: GroupOptions,
): Promise<OpenGroup> {
	const { jobs, positions } = group;
	const readers: BatchReader[] = [];
	for (const { reader } of jobs) {
		if ("path" in reader) {
			return { ...group, scan: await openParquetScan(connection, reader, positions) };
		}
		readers.push(reader);
	}
	const signal = AbortSignal.any([options.signal, ...jobs.map((job) => job.signal)]);
	const scan = await openArrowScan(connection, readers, positions, {
		copy: options.copyArrow,
		signal,
	});
	return { ...group, scan };
}

/** Inside the transaction. One result a job, in order. */
export async function insertGroup(
	connection: DuckDBConnection,
	group: OpenGroup,
	tables: TransactionTables,
	options: GroupOptions,
): Promise<{ plan: InsertPlan; results: InsertResult[] }> {
	const { jobs, positions, scan } = group;
	const { parameters, reader } = jobs[0]!;
	const { catalog } = options.target;
	const existing = await tables.read(parameters.table);
	const schema =
		existing?.name.schema ?? (await findSchema(connection, catalog, parameters.table.schema));
	const plan = planInsert({
		catalog,
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
	const dropped = plan.replaces
		? await droppedConstraints(connection, catalog, existing!, scan.columns)
		: [];
	dropped.push(...(await forgottenCrs(connection, plan, options.target)));
	const context: EngineErrorContext = {
		table: plan.name.table,
		columns: plan.columns,
		path: options.target.location,
	};
	let inserted: number;
	try {
		if (plan.ddl.length > 0) tables.changing(parameters.table);
		for (const { run } of plan.ddl) await runDdl(connection, run);
		inserted = await runInsert(connection, plan, scan, options);
		tables.inserted(parameters.table, inserted);
	} catch (error) {
		throw fromEngine(error) ? toIngestError(error, context) : error;
	}
	compareCounts(jobs, inserted, scan.rowsHandedOver());
	const results = jobs.map((job, at) => ({
		rows_inserted: job.reader.counts().rows_streamed,
		created_table: plan.created_table && at === 0,
		columns: plan.columns,
		columns_defaulted: plan.columns_defaulted,
		columns_added: plan.columns_added,
		warnings: [...job.reader.warnings(), ...plan.warnings, ...dropped],
		ddl: plan.ddl.map(({ shown }) => shown),
		engine: options.engine,
	}));
	return { plan, results };
}

/** Prepared first, which takes one statement and no more: types are text that DuckDB wrote. */
async function runDdl(connection: DuckDBConnection, sql: string): Promise<void> {
	const statement = await connection.prepare(sql);
	try {
		await statement.run();
	} finally {
		statement.destroySync();
	}
}

/** Rows that the statement says it inserted. */
async function runInsert(
	connection: DuckDBConnection,
	plan: InsertPlan,
	scan: RowScan,
	options: GroupOptions,
): Promise<number> {
	const release = await options.statements.acquire(options.signal);
	try {
		const ran = await runOver(scan, () =>
			connection.run(`INSERT INTO ${plan.target} BY NAME SELECT * FROM ${scan.view}`),
		);
		return ran.rowsChanged;
	} finally {
		release();
	}
}

/** `row_count_mismatch` unless what was declared, streamed, fetched and inserted is one number. */
function compareCounts(jobs: readonly InsertJob[], inserted: number, fetched: number): void {
	let streamed = 0;
	for (const { reader, parameters } of jobs) {
		const { rows_streamed: rows } = reader.counts();
		streamed += rows;
		if (parameters.rows !== null && parameters.rows !== rows) {
			throw new IngestError(
				"row_count_mismatch",
				`${parameters.rows} rows were declared, ${rows} streamed`,
			);
		}
	}
	if (inserted === streamed && fetched === streamed) return;
	throw new IngestError(
		"row_count_mismatch",
		`${streamed} rows were streamed, ${fetched} scanned, ${inserted} inserted into ${formatTableName(jobs[0]!.parameters.table)}`,
	);
}
