/**
 * What the target table looks like now: one reading of the catalog inside the
 * caller's transaction. DuckDB looks names up ASCII-case-insensitively.
 */

import type { DuckDBConnection, DuckDBType } from "@duckdb/node-api";
import type { TableName } from "../../flow.ts";
import { sameName, sameTable } from "../../table-name.ts";
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

/**
 * What is there under that name. The catalog's table functions cost milliseconds
 * and grow with the number of tables; the binder answers in a fraction of one, and
 * for an INSERT it never takes a name such as `x.csv` for a file to read.
 */
export async function tableKind(
	connection: DuckDBConnection,
	catalog: string,
	name: TableName,
): Promise<TargetTable["kind"] | null> {
	try {
		const statement = await connection.prepare(
			`INSERT INTO ${qualifiedTable(catalog, name)} DEFAULT VALUES`,
		);
		statement.destroySync();
		return "table";
	} catch (error) {
		const message = error instanceof Error ? error.message : String(error);
		if (/^Catalog Error: .* is not an? table/s.test(message)) return "view";
		if (/^Catalog Error: .* does not exist/s.test(message)) return null;
		throw error;
	}
}

/** Null when there is neither a table nor a view of that name; a view has no columns here. */
export async function readTargetTable(
	connection: DuckDBConnection,
	catalog: string,
	name: TableName,
): Promise<TargetTable | null> {
	const kind = await tableKind(connection, catalog, name);
	if (kind !== "table") return kind === null ? null : { name, kind, columns: [] };
	const table = qualifiedTable(catalog, name);
	const described = await rows(connection, `DESCRIBE ${table}`);
	const texts = described.map(([, typeText]) => typeText as string);
	const types = await columnTypes(connection, `SELECT * FROM ${table}`, texts);
	const names = described.map(([column]) => column as string);
	const generated = await generatedColumns(connection, table, names);
	const isGenerated = new Set(generated);
	const columns = described.map(([column, typeText, nullable, , expression], at) => ({
		name: column as string,
		type: types[at]!,
		typeText: typeText as string,
		nullable: nullable === "YES",
		// DuckLake calls a missing default NULL.
		default: expression === "NULL" ? null : (expression as string | null),
		generated: isGenerated.has(column as string),
	}));
	return { name, kind, columns };
}

/** A table's name as the catalog spells it. */
export async function spelledName(
	connection: DuckDBConnection,
	catalog: string,
	name: TableName,
): Promise<TableName> {
	const found = await rows(
		connection,
		`SELECT schema_name, table_name FROM duckdb_tables()
		 WHERE database_name = $1 AND lower(schema_name) = lower($2) AND lower(table_name) = lower($3)`,
		[catalog, name.schema, name.table],
	);
	for (const [schema, table] of found as [string, string][]) {
		if (sameTable(name, { schema, table })) return { schema, table };
	}
	return name;
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
	const { schema, table: spelled } = await spelledName(connection, catalog, table.name);
	const at = [catalog, schema, spelled];
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
	const expressions = await rows(
		connection,
		`SELECT column_name, column_default FROM duckdb_columns() ${where}
		 AND column_default IS NOT NULL ORDER BY column_index`,
		at,
	);
	for (const [column, expression] of expressions as [string, string][]) {
		const generated = table.columns.some((one) => one.name === column && one.generated);
		lines.push({
			column,
			detail: `${generated ? "generated column" : "DEFAULT"} ${expression} of ${quoteIdentifier(column)}`,
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

/** Major and minor number of a file's storage version; null where there is no file. */
export async function storageVersion(
	connection: DuckDBConnection,
	catalog: string,
): Promise<[major: number, minor: number] | null> {
	const found = await rows(
		connection,
		"SELECT tags['storage_version'] FROM duckdb_databases() WHERE database_name = $1",
		[catalog],
	);
	const numbers = /v(\d+)\.(\d+)/.exec(String(found[0]?.[0]));
	return numbers ? [Number(numbers[1]), Number(numbers[2])] : null;
}

/**
 * The types of a query's columns, without running it; `texts` are the same types as
 * SQL. Each text is asked for once: node-api's answer for one column takes the
 * longer the more columns there are.
 */
export async function columnTypes(
	connection: DuckDBConnection,
	query: string,
	texts: readonly string[],
): Promise<DuckDBType[]> {
	const statement = await connection.prepare(query);
	try {
		const known = new Map<string, DuckDBType>();
		return texts.map((text, at) => {
			const type = known.get(text) ?? statement.columnType(at);
			known.set(text, type);
			return type;
		});
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
async function generatedColumns(
	connection: DuckDBConnection,
	table: string,
	columns: readonly string[],
): Promise<string[]> {
	const takesValues = async (some: readonly string[]) => {
		try {
			const statement = await connection.prepare(
				`INSERT INTO ${table} (${some.map(quoteIdentifier).join(", ")}) SELECT ${some.map(() => "NULL").join(", ")}`,
			);
			statement.destroySync();
			return true;
		} catch (error) {
			if (error instanceof Error && error.message.includes("generated column")) return false;
			throw error;
		}
	};
	if (await takesValues(columns)) return [];
	const generated: string[] = [];
	for (const column of columns) if (!(await takesValues([column]))) generated.push(column);
	return generated;
}
