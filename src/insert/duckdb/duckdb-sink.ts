/**
 * `BatchSink` on DuckDB: one instance per tenant database, one transaction per insert.
 *
 * In: a target template and tenants by name. Out: databases to insert into. What
 * happens to a load is in `insert-loads.ts` (sharing, retries) and
 * `load-transaction.ts` (the transaction); when a file is attached and let go in
 * `tenant-database.ts`; what an instance may reach in `lockdown.ts`.
 */

import { type DuckDBConnection, version as engineVersion } from "@duckdb/node-api";
import type { Clock } from "../../clock.ts";
import { IngestError } from "../../errors.ts";
import type { TableName } from "../../flow.ts";
import { targetLingerMs, targetLockWaitMs, targetTurnMs } from "../../limits.ts";
import type { Log } from "../../log.ts";
import { parseTarget } from "../../target-template.ts";
import { assertTenantName } from "../../tenant/tenant-name.ts";
import type { BatchSink, SinkDatabase } from "../batch-sink.ts";
import { insertLoads } from "./insert-loads.ts";
import type { Reading } from "./known-database.ts";
import {
	findLastOfSource,
	findLedgerRow,
	ledgerIsThere,
	listLedgerRows,
	sumLedgerSince,
} from "./ledger.ts";
import type { EngineOptions } from "./lockdown.ts";
import { openParquet } from "./open-parquet.ts";
import { createSemaphore } from "./semaphore.ts";
import { qualifiedTable } from "./sql-names.ts";
import { createTableLocks, type TableLocks } from "./table-locks.ts";
import { readTargetTable, rows } from "./target-table.ts";
import { tenantTarget } from "./targets.ts";
import { createTenantDatabase, type TenantDatabase } from "./tenant-database.ts";

export interface DuckdbSinkOptions extends EngineOptions {
	/** `./data/db/{tenant}.duckdb`, `md:{tenant}`, `ducklake:…`. Without `{tenant}` one tenant alone is served. */
	target: string;
	/** The one tenant of a target without `{tenant}`; null: whoever comes first. */
	singleTenant?: string | null;
	clock: Clock;
	log: Log;
	/** Copy Arrow bodies into native memory instead of pinning JavaScript's. */
	copyArrow?: boolean;
	/** Threads of libuv's pool (UV_THREADPOOL_SIZE): a streaming statement occupies one. */
	threadPoolSize?: number;
	lockWaitMs?: number;
	lingerMs?: number;
	turnMs?: number;
}

/** Threads that stay free of statements, for the reading and unpacking of what they wait for. */
const sparePoolThreads = 2;
const defaultPoolThreads = 4;
/** Parquet files that are read through at the same time: each takes an instance with threads of its own. */
const maxThroughReads = 2;

export function createDuckdbSink(options: DuckdbSinkOptions): BatchSink {
	const target = parseTarget(options.target);
	const copyArrow = options.copyArrow ?? false;
	const shared = {
		...options,
		lockWaitMs: options.lockWaitMs ?? targetLockWaitMs,
		lingerMs: options.lingerMs ?? targetLingerMs,
		turnMs: options.turnMs ?? targetTurnMs,
		engine: `duckdb ${engineVersion()}${copyArrow ? " (arrow copied)" : ""}`,
		copyArrow,
		statements: createSemaphore(
			Math.max(1, (options.threadPoolSize ?? defaultPoolThreads) - sparePoolThreads),
		),
	};
	const throughReads = createSemaphore(maxThroughReads);
	const databases = new Map<string, { database: TenantDatabase; locks: TableLocks }>();
	let only = target.template.includes("{tenant}") ? undefined : options.singleTenant;

	const databaseOf = (tenant: string) => {
		assertTenantName(tenant);
		if (!target.template.includes("{tenant}")) {
			only ??= tenant;
			if (only !== tenant) {
				throw new IngestError("target_unavailable", `the target serves tenant ${only} alone`);
			}
		}
		let found = databases.get(tenant);
		if (!found) {
			const locks = createTableLocks();
			const database = createTenantDatabase(tenantTarget(target, tenant, options.lakeData), {
				...shared,
				giveWay: () => locks.askAll(),
			});
			found = { database, locks };
			databases.set(tenant, found);
		}
		return found;
	};

	return {
		async open(tenant, signal) {
			const { database, locks } = databaseOf(tenant);
			database.retain();
			try {
				// Attaches what is there, so that a file in use or broken is told here.
				await database.use(signal, "skip", async () => {});
			} catch (error) {
				database.release();
				throw error;
			}
			return openDatabase(database, signal, async (jobs, again) => {
				const leave = await database.takeTurn(signal);
				try {
					return await insertLoads(database, jobs, again, { ...shared, locks });
				} finally {
					leave();
				}
			});
		},
		async openParquet(file, signal) {
			const release = await throughReads.acquire(signal);
			try {
				return await openParquet(file, options, signal);
			} finally {
				release();
			}
		},
		async close() {
			await Promise.all([...databases.values()].map(({ database }) => database.close()));
			databases.clear();
		},
	};
}

function openDatabase(
	database: TenantDatabase,
	signal: AbortSignal,
	insert: SinkDatabase["insert"],
): SinkDatabase {
	let open = true;
	const { catalog } = database.target;
	/** Null where there is no database or no ledger yet. */
	const inLedger = <T>(
		work: (connection: Parameters<Parameters<TenantDatabase["use"]>[2]>[0]) => Promise<T>,
	): Promise<T | null> =>
		database.use(signal, "skip", async (connection, known) =>
			(await ledgerIsThere(connection, known, catalog)) ? await work(connection) : null,
		);
	return {
		findLoad: (loadId) => inLedger((connection) => findLedgerRow(connection, catalog, loadId)),
		findLastOfSource: (bucket, key) =>
			inLedger((connection) => findLastOfSource(connection, catalog, bucket, key)),
		listLoads: async (page) =>
			(await inLedger((connection) => listLedgerRows(connection, catalog, page))) ?? [],
		sumSince: async (since) =>
			(await inLedger((connection) => sumLedgerSince(connection, catalog, since))) ?? {
				bytes: 0,
				rows: 0,
			},
		describeTable: (schema, table) =>
			database.use(signal, "skip", async (connection, known) => {
				const name = { schema, table };
				const reading = known.reading();
				const found = known.table(name) ?? (await readTargetTable(connection, catalog, name));
				if (found?.kind !== "table") return null;
				reading.table(found);
				return {
					...found.name,
					columns: found.columns.map(({ name, typeText, nullable }) => ({
						name,
						type: typeText,
						nullable,
					})),
					rows: known.rows(name) ?? (await countRows(connection, catalog, name, reading)),
				};
			}),
		insert,
		async close() {
			if (open) database.release();
			open = false;
		},
	};
}

async function countRows(
	connection: DuckDBConnection,
	catalog: string,
	name: TableName,
	reading: Reading,
): Promise<number> {
	const [[count] = []] = await rows(
		connection,
		`SELECT count(*) FROM ${qualifiedTable(catalog, name)}`,
	);
	reading.rows(name, Number(count));
	return Number(count);
}
