/**
 * `_duckdock.loads`: one row a committed load, written in the transaction of its
 * rows and read back after COMMIT. One column per field of the receipt, arrays
 * and objects as JSON, so that a receipt comes out as it went in.
 *
 * Where the target has primary keys, load_id is one: of two loaders that both
 * looked and both insert, the second fails. Where it has none (DuckLake), every
 * load updates one fence row, and the second of two at once conflicts.
 */

import type { DuckDBConnection, DuckDBValue } from "@duckdb/node-api";
import type { LoadSource, Receipt, ReceiptColumn, Warning } from "../../flow.ts";
import { toIngestError } from "./engine-errors.ts";
import { quoteIdentifier } from "./sql-names.ts";
import { findSchema, tableKind } from "./target-table.ts";

const ledgerSchema = "_duckdock";

type Kind = "text" | "count" | "flag" | "time" | "json";

/** The receipt's fields in the order of the ledger's columns. */
const ledgerColumns = {
	load_id: "text",
	status: "text",
	tenant: "text",
	table: "text",
	mode: "text",
	rows_streamed: "count",
	rows_inserted: "count",
	batches: "count",
	parts: "count",
	bytes: "count",
	repr_digest: "text",
	created_table: "flag",
	columns: "json",
	columns_defaulted: "json",
	columns_added: "json",
	warnings: "json",
	source: "json",
	attempts: "count",
	started_at: "time",
	committed_at: "time",
	duration_ms: "count",
	engine: "text",
} as const satisfies Partial<Record<keyof Receipt, Kind>>;

const sqlTypes = {
	text: "VARCHAR",
	count: "BIGINT",
	flag: "BOOLEAN",
	time: "TIMESTAMP WITH TIME ZONE",
	json: "JSON",
} as const satisfies Record<Kind, string>;

export interface LedgerTarget {
	catalog: string;
	primaryKeys: boolean;
}

const loads = (catalog: string) => `${quoteIdentifier(catalog)}._duckdock.loads`;
const fence = (catalog: string) => `${quoteIdentifier(catalog)}._duckdock.fence`;

export async function hasLedger(connection: DuckDBConnection, catalog: string): Promise<boolean> {
	const kind = await tableKind(connection, catalog, { schema: ledgerSchema, table: "loads" });
	return kind === "table";
}

/**
 * Makes the ledger where there is none, in a transaction of its own and before the
 * first load's: in the load's it would keep every other load waiting until its end.
 * A refused first load leaves it behind, empty. `TransactionConflict` when another
 * loader makes it at the same time.
 */
export async function ensureLedger(
	connection: DuckDBConnection,
	target: LedgerTarget,
): Promise<void> {
	if (await hasLedger(connection, target.catalog)) return;
	await connection.run("BEGIN TRANSACTION");
	try {
		for (const statement of await ledgerDdl(connection, target)) await connection.run(statement);
		await connection.run("COMMIT");
	} catch (error) {
		await connection.run("ROLLBACK").catch(() => {});
		throw toIngestError(error);
	}
}

async function ledgerDdl(
	connection: DuckDBConnection,
	{ catalog, primaryKeys }: LedgerTarget,
): Promise<string[]> {
	const statements: string[] = [];
	if ((await findSchema(connection, catalog, ledgerSchema)) === null) {
		statements.push(`CREATE SCHEMA ${quoteIdentifier(catalog)}.${ledgerSchema}`);
	}
	const columns = Object.entries(ledgerColumns).map(([name, kind]) => {
		const key = name === "load_id" && primaryKeys ? " PRIMARY KEY" : "";
		return `${quoteIdentifier(name)} ${sqlTypes[kind]}${key}`;
	});
	statements.push(`CREATE TABLE ${loads(catalog)} (${columns.join(", ")})`);
	if (!primaryKeys) {
		statements.push(`CREATE TABLE ${fence(catalog)} (loads BIGINT)`);
		statements.push(`INSERT INTO ${fence(catalog)} VALUES (0)`);
	}
	return statements;
}

export async function writeLedgerRow(
	connection: DuckDBConnection,
	{ catalog, primaryKeys }: LedgerTarget,
	receipt: Receipt,
): Promise<void> {
	if (!primaryKeys) await connection.run(`UPDATE ${fence(catalog)} SET loads = loads + 1`);
	const entries = Object.entries(ledgerColumns) as [keyof typeof ledgerColumns, Kind][];
	const names = entries.map(([name]) => quoteIdentifier(name)).join(", ");
	const places = entries.map(([, kind], at) => `$${at + 1}::${sqlTypes[kind]}`).join(", ");
	const values = entries.map(([name, kind]) => toSql(receipt[name], kind));
	await connection.run(`INSERT INTO ${loads(catalog)} (${names}) VALUES (${places})`, values);
}

export async function findLedgerRow(
	connection: DuckDBConnection,
	catalog: string,
	loadId: string,
): Promise<Receipt | null> {
	return (await select(connection, catalog, "WHERE load_id = $1", [loadId]))[0] ?? null;
}

/** The last committed load of one object of `drop/`. */
export async function findLastOfSource(
	connection: DuckDBConnection,
	catalog: string,
	bucket: string,
	key: string,
): Promise<Receipt | null> {
	const found = await select(
		connection,
		catalog,
		`WHERE (source->>'$.kind') = 'drop' AND (source->>'$.bucket') = $1 AND (source->>'$.key') = $2
		 ORDER BY committed_at DESC, load_id DESC LIMIT 1`,
		[bucket, key],
	);
	return found[0] ?? null;
}

/** Newest first: load_ids are ULIDs. */
export async function listLedgerRows(
	connection: DuckDBConnection,
	catalog: string,
	options: { before?: string; limit: number },
): Promise<Receipt[]> {
	const limit = `ORDER BY load_id DESC LIMIT ${Math.max(0, Math.trunc(options.limit))}`;
	return options.before === undefined
		? await select(connection, catalog, limit, [])
		: await select(connection, catalog, `WHERE load_id < $1 ${limit}`, [options.before]);
}

async function select(
	connection: DuckDBConnection,
	catalog: string,
	tail: string,
	values: string[],
): Promise<Receipt[]> {
	const entries = Object.entries(ledgerColumns) as [keyof typeof ledgerColumns, Kind][];
	const expressions = entries.map(([name, kind]) => {
		const column = quoteIdentifier(name);
		return kind === "time" ? `epoch_ms(${column})` : column;
	});
	const result = await connection.run(
		`SELECT ${expressions.join(", ")} FROM ${loads(catalog)} ${tail}`,
		values,
	);
	return (await result.getRowsJS()).map((row) => {
		const fields = entries.map(([name, kind], at) => [name, fromSql(row[at], kind)]);
		return Object.fromEntries(fields) as unknown as Receipt;
	});
}

function toSql(value: unknown, kind: Kind): DuckDBValue {
	if (value === null || value === undefined) return null;
	if (kind === "json") {
		return JSON.stringify(value as ReceiptColumn[] | Warning[] | string[] | LoadSource);
	}
	if (kind === "count") return BigInt(value as number);
	return value as string | boolean;
}

function fromSql(value: unknown, kind: Kind): unknown {
	if (value === null || value === undefined) return null;
	switch (kind) {
		case "json":
			return JSON.parse(value as string);
		case "count":
			return Number(value as bigint);
		case "time":
			return new Date(Number(value as bigint)).toISOString();
		default:
			return value;
	}
}
