/** What DuckDB takes away without a word, as warnings of the receipt. */

import type { DuckDBConnection } from "@duckdb/node-api";
import type { Warning } from "../../flow.ts";
import type { InsertPlan, ScannedColumn } from "./insert-plan.ts";
import { listConstraints, storageVersion, type TargetTable } from "./target-table.ts";
import type { TenantTarget } from "./targets.ts";

/**
 * DuckLake, and a DuckDB file whose storage version is older than v1.5.0, keep
 * GEOMETRY without its CRS and say nothing: a type made in this transaction still
 * has it.
 */
export async function forgottenCrs(
	connection: DuckDBConnection,
	plan: InsertPlan,
	{ catalog, kind }: TenantTarget,
): Promise<Warning[]> {
	const columns = plan.columns.filter(({ duckdb_type }) => duckdb_type.includes("GEOMETRY('"));
	if (columns.length === 0) return [];
	const version = await storageVersion(connection, catalog);
	const keeps = version === null || version[0] > 1 || version[1] >= 5;
	if (keeps && kind !== "ducklake") return [];
	const where =
		kind === "ducklake" ? "DuckLake" : "a database file with a storage version before v1.5.0";
	return columns.map(({ name, duckdb_type }) => ({
		code: "crs_dropped",
		column: name,
		detail: `${where} keeps no CRS: ${duckdb_type}`,
	}));
}

/** What a replace takes from the old table and the new one has not. */
export async function droppedConstraints(
	connection: DuckDBConnection,
	catalog: string,
	existing: TargetTable,
	columns: readonly ScannedColumn[],
): Promise<Warning[]> {
	const kept = columns.filter(({ field }) => !field.nullable).map(({ field }) => field.name);
	const lost = await listConstraints(connection, catalog, existing, kept);
	return lost.map((constraint) => ({ code: "constraint_dropped", ...constraint }));
}
