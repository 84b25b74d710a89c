/**
 * What the target table looks like now: one reading of the catalog inside the
 * caller's transaction. Names are looked up ASCII-case-insensitively and come
 * back in the spelling that the catalog has.
 */

import type { DuckDBConnection, DuckDBType } from "@duckdb/node-api";
import type { TableName } from "../../flow.ts";
import { sameName } from "../../table-name.ts";
import { qualifiedTable, quoteIdentifier } from "./sql-names.ts";

export interface TargetColumn {
	name: string;
	type: DuckDBType;
	/** As SQL; unlike `type.toString()` it names aliases such as JSON inside of nested types. */
	typeText: string;
	nullable: boolean;
	/** Expression, or null. */
	default: string | null;
	/** Computed from other columns; nothing can be inserted. */
	generated: boolean;
}

export interface TargetTable {
	name: TableName;
	kind: "table" | "view";
	columns: TargetColumn[];
}

/** Null when there is neither a table nor a view of that name. */
export async function readTargetTable(
	connection: DuckDBConnection,
	catalog: string,
	name: TableName,
): Promise<TargetTable | null> {
	const found = await rows(
		connection,
		`SELECT schema_name, table_name, 'table' FROM duckdb_tables()
		 WHERE database_name = $1 AND lower(schema_name) = lower($2) AND lower(table_name) = lower($3)
		 UNION ALL
		 SELECT schema_name, view_name, 'view' FROM duckdb_views()
		 WHERE database_name = $1 AND lower(schema_name) = lower($2) AND lower(view_name) = lower($3)`,
		[catalog, name.schema, name.table],
	);
	const entry = found.find(
		([schema, table]) =>
			sameName(schema as string, name.schema) && sameName(table as string, name.table),
	);
	if (!entry) return null;
	const [schema, table, kind] = entry as [string, string, "table" | "view"];
	const spelled = { schema, table };
	if (kind === "view") return { name: spelled, kind, columns: [] };
	const described = await rows(
		connection,
		`SELECT column_name, data_type, is_nullable, column_default FROM duckdb_columns()
		 WHERE database_name = $1 AND schema_name = $2 AND table_name = $3 ORDER BY column_index`,
		[catalog, schema, table],
	);
	const types = await columnTypes(connection, `SELECT * FROM ${qualifiedTable(catalog, spelled)}`);
	const columns: TargetColumn[] = [];
	for (const [at, [column, typeText, nullable, expression]] of described.entries()) {
		columns.push({
			name: column as string,
			type: types[at]!,
			typeText: typeText as string,
			nullable: nullable as boolean,
			default: expression as string | null,
			generated:
				expression !== null &&
				(await isGenerated(connection, qualifiedTable(catalog, spelled), column as string)),
		});
	}
	return { name: spelled, kind, columns };
}

/** The schema as the catalog spells it, or null. */
export async function findSchema(
	connection: DuckDBConnection,
	catalog: string,
	schema: string,
): Promise<string | null> {
	const found = await rows(
		connection,
		`SELECT schema_name FROM duckdb_schemas()
		 WHERE database_name = $1 AND lower(schema_name) = lower($2)`,
		[catalog, schema],
	);
	return (found.find(([name]) => sameName(name as string, schema))?.[0] as string) ?? null;
}

/**
 * What a replace takes away from the table, each as one line: `PRIMARY KEY(id)`,
 * `DEFAULT 3 of "c"`, `index "ix"`. NOT NULLs that `kept` columns have again are left out.
 */
export async function listConstraints(
	connection: DuckDBConnection,
	catalog: string,
	table: TargetTable,
	keptNotNull: readonly string[],
): Promise<{ column?: string; detail: string }[]> {
	const at = [catalog, table.name.schema, table.name.table];
	const where = "WHERE database_name = $1 AND schema_name = $2 AND table_name = $3";
	const constraints = await rows(
		connection,
		`SELECT constraint_type, constraint_text, constraint_column_names FROM duckdb_constraints()
		 ${where} ORDER BY constraint_index`,
		at,
	);
	const keyed = constraints
		.filter(([type]) => type === "PRIMARY KEY")
		.flatMap(([, , columns]) => columns as string[]);
	const lines: { column?: string; detail: string }[] = [];
	for (const [type, text, names] of constraints as [string, string, string[]][]) {
		const column = names.length === 1 ? { column: names[0]! } : {};
		if (type !== "NOT NULL") {
			lines.push({ ...column, detail: text });
		} else if (
			!keyed.includes(names[0]!) &&
			!keptNotNull.some((kept) => sameName(kept, names[0]!))
		) {
			lines.push({ ...column, detail: `NOT NULL of ${quoteIdentifier(names[0]!)}` });
		}
	}
	for (const column of table.columns) {
		if (column.default === null) continue;
		const what = column.generated ? "generated column" : "DEFAULT";
		lines.push({
			column: column.name,
			detail: `${what} ${column.default} of ${quoteIdentifier(column.name)}`,
		});
	}
	const indexes = await rows(
		connection,
		`SELECT index_name FROM duckdb_indexes() ${where} ORDER BY index_name`,
		at,
	);
	for (const [index] of indexes)
		lines.push({ detail: `index ${quoteIdentifier(index as string)}` });
	return lines;
}

/** The types of a query's columns, without running it. */
export async function columnTypes(
	connection: DuckDBConnection,
	query: string,
): Promise<DuckDBType[]> {
	const statement = await connection.prepare(query);
	try {
		return Array.from({ length: statement.columnCount }, (_, at) => statement.columnType(at));
	} finally {
		statement.destroySync();
	}
}

export async function rows(
	connection: DuckDBConnection,
	sql: string,
	values: string[] = [],
): Promise<unknown[][]> {
	const result = await connection.run(sql, values);
	return await result.getRowsJS();
}

/** No function of the catalog tells a generated column from a default; the binder does. */
async function isGenerated(
	connection: DuckDBConnection,
	table: string,
	column: string,
): Promise<boolean> {
	try {
		const statement = await connection.prepare(
			`INSERT INTO ${table} (${quoteIdentifier(column)}) SELECT NULL`,
		);
		statement.destroySync();
		return false;
	} catch (error) {
		if (error instanceof Error && error.message.includes("generated column")) return true;
		throw error;
	}
}
