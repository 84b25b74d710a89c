/**
 * Names and text as SQL: the only place where either becomes part of a statement.
 * Names arrive checked by `table-name.ts` (no NUL, not empty), and are quoted
 * always, so that `create`, `a"b` and `'); DROP TABLE t;--` are just names.
 */

import type { TableName } from "../../flow.ts";

export function quoteIdentifier(name: string): string {
	return `"${name.replaceAll('"', '""')}"`;
}

/** A string literal; DuckDB knows no escape in one but the doubled quote. */
export function quoteText(text: string): string {
	return `'${text.replaceAll("'", "''")}'`;
}

/** `"schema"."table"`. */
export function schemaAndTable(name: TableName): string {
	return `${quoteIdentifier(name.schema)}.${quoteIdentifier(name.table)}`;
}

/** `"catalog"."schema"."table"`. */
export function qualifiedTable(catalog: string, name: TableName): string {
	return `${quoteIdentifier(catalog)}.${schemaAndTable(name)}`;
}
