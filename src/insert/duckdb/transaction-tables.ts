/**
 * The tables that one transaction meets: as it sees them, and what it does to what is known of them.
 *
 * `read` for each load, `changing` before its DDL, `inserted` after its rows, `committing` before
 * COMMIT; `over` on every path.
 */

import type { DuckDBConnection } from "@duckdb/node-api";
import type { TableName } from "../../flow.ts";
import { tableKey } from "../../table-name.ts";
import type { KnownDatabase } from "./known-database.ts";
import { readTargetTable, type TargetTable } from "./target-table.ts";

export interface TransactionTables {
	/** Null: there is none. */
	read(name: TableName): Promise<TargetTable | null>;
	changing(name: TableName): void;
	inserted(name: TableName, rows: number): void;
	committing(): void;
	over(committed: boolean): void;
}

export function createTransactionTables(
	connection: DuckDBConnection,
	catalog: string,
	known: KnownDatabase,
): TransactionTables {
	/** Read, and not changed since. */
	const seen = new Map<string, TargetTable>();
	const added = new Map<string, number>();
	let changed: (() => void) | null = null;
	let committed: ReturnType<KnownDatabase["committing"]> | null = null;
	return {
		async read(name) {
			const key = tableKey(name);
			const before = seen.get(key) ?? known.table(name);
			if (before) return { ...before, name };
			const reading = known.reading();
			const found = await readTargetTable(connection, catalog, name);
			if (found?.kind === "table") {
				seen.set(key, found);
				reading.table(found);
			}
			return found;
		},
		changing(name) {
			changed ??= known.changing();
			seen.delete(tableKey(name));
		},
		inserted(name, rows) {
			const key = tableKey(name);
			added.set(key, (added.get(key) ?? 0) + rows);
		},
		committing() {
			committed = known.committing();
		},
		over(done) {
			committed?.(done ? added : null);
			changed?.();
		},
	};
}
