/**
 * From what was sent and what is there to the statements of one load.
 *
 * In: the Arrow fields, DuckDB's own binding of the scanned view, the target
 * table or null, mode and policy. Out: DDL in order, the receipt's columns and
 * the warnings; or `table_exists`, `table_not_found`, `schema_mismatch`. Pure:
 * nothing is run here.
 */

import type { DuckDBType } from "@duckdb/node-api";
import { typeName } from "../../arrow/type-name.ts";
import type { Field } from "../../arrow/types.ts";
import { IngestError } from "../../errors.ts";
import type { LoadParameters, ReceiptColumn, TableName, Warning } from "../../flow.ts";
import { foldName, formatTableName } from "../../table-name.ts";
import { byName, checkMode } from "./check-load.ts";
import { judgeCast } from "./column-types.ts";
import { qualifiedTable, quoteIdentifier, schemaAndTable } from "./sql-names.ts";
import type { TargetTable } from "./target-table.ts";

/** One column of the view: what was sent, and what DuckDB makes of it. */
export interface ScannedColumn {
	field: Field;
	type: DuckDBType;
	typeText: string;
}

export interface DdlStatement {
	/** With our alias of the database. */
	run: string;
	/** As the owner of the database would write it. */
	shown: string;
}

export interface InsertPlan {
	/** Quoted, with catalog. */
	target: string;
	/** As the catalog spells it, or as it will. */
	name: TableName;
	ddl: DdlStatement[];
	created_table: boolean;
	/** The table is there and its columns will be other ones. */
	replaces: boolean;
	columns: ReceiptColumn[];
	columns_defaulted: string[];
	columns_added: string[];
	warnings: Warning[];
}

export function planInsert(options: {
	catalog: string;
	parameters: LoadParameters;
	/** All that was sent; more than `scanned` where extra columns are ignored. */
	sentFields: readonly Field[];
	scanned: readonly ScannedColumn[];
	existing: TargetTable | null;
	/** The schema as the catalog spells it, or null where it is missing. */
	schema: string | null;
}): InsertPlan {
	const { catalog, parameters, scanned, existing } = options;
	checkMode(parameters, existing?.kind ?? null);
	return existing && parameters.mode !== "replace"
		? planIntoExisting(catalog, parameters, options.sentFields, scanned, existing)
		: planNewTable(catalog, parameters.table, scanned, existing, options.schema);
}

function planNewTable(
	catalog: string,
	wanted: TableName,
	scanned: readonly ScannedColumn[],
	existing: TargetTable | null,
	schema: string | null,
): InsertPlan {
	const name = existing?.name ?? { schema: schema ?? wanted.schema, table: wanted.table };
	const columns = scanned.map(({ field, typeText }) => {
		const notNull = field.nullable ? "" : " NOT NULL";
		return `${quoteIdentifier(field.name)} ${typeText}${notNull}`;
	});
	const ddl: DdlStatement[] = [];
	if (schema === null) {
		ddl.push(
			statement(catalog, (database) => `CREATE SCHEMA ${database}${quoteIdentifier(name.schema)}`),
		);
	}
	const verb = existing ? "CREATE OR REPLACE" : "CREATE";
	ddl.push(
		statement(
			catalog,
			(database) => `${verb} TABLE ${database}${schemaAndTable(name)} (${columns.join(", ")})`,
		),
	);
	return {
		target: qualifiedTable(catalog, name),
		name,
		ddl,
		created_table: existing === null,
		replaces: existing !== null,
		columns: scanned.map(({ field, typeText }) => receiptColumn(field, typeText)),
		columns_defaulted: [],
		columns_added: [],
		warnings: [],
	};
}

function planIntoExisting(
	catalog: string,
	parameters: LoadParameters,
	sentFields: readonly Field[],
	scanned: readonly ScannedColumn[],
	existing: TargetTable,
): InsertPlan {
	const policy = parameters.on_extra_columns;
	const plan: InsertPlan = {
		target: qualifiedTable(catalog, existing.name),
		name: existing.name,
		ddl: [],
		created_table: false,
		replaces: false,
		columns: [],
		columns_defaulted: [],
		columns_added: [],
		warnings: ignoredColumns(sentFields, scanned, existing),
	};
	const refused: { column: string; detail: string; field?: Field; into?: string }[] = [];
	const present = byName(existing.columns, (column) => column.name);
	const sent = byName(scanned, ({ field }) => field.name);
	for (const { field, type, typeText } of scanned) {
		const column = present.get(foldName(field.name));
		if (column?.generated) {
			refused.push({
				column: field.name,
				detail: `${JSON.stringify(column.name)} is a generated column, nothing can be inserted`,
			});
		} else if (column) {
			plan.columns.push(receiptColumn(field, column.typeText));
			for (const note of judgeCast(field.name, field, type, column.type)) {
				if (note.kind === "refused") {
					refused.push({ column: note.path, detail: note.detail, field, into: column.typeText });
				} else if (note.kind === "defaulted") {
					plan.columns_defaulted.push(note.path);
				} else {
					const code = note.kind === "lossy" ? "lossy_cast" : "crs_dropped";
					plan.warnings.push({ code, column: note.path, detail: note.detail });
				}
			}
		} else if (policy === "add") {
			const added = `${quoteIdentifier(field.name)} ${typeText}`;
			plan.ddl.push(
				statement(
					catalog,
					(database) =>
						`ALTER TABLE ${database}${schemaAndTable(existing.name)} ADD COLUMN ${added}`,
				),
			);
			plan.columns.push(receiptColumn(field, typeText));
			plan.columns_added.push(field.name);
		} else {
			refused.push({
				column: field.name,
				detail: `${formatTableName(existing.name)} has no column ${JSON.stringify(field.name)}`,
			});
		}
	}
	for (const column of existing.columns) {
		if (column.generated || sent.has(foldName(column.name))) continue;
		if (column.nullable || column.default !== null) {
			plan.columns_defaulted.push(column.name);
		} else {
			refused.push({
				column: column.name,
				detail: `${JSON.stringify(column.name)} is missing, it is NOT NULL and has no default`,
			});
		}
	}
	if (refused.length > 0) throw mismatch(refused);
	return plan;
}

function statement(catalog: string, write: (database: string) => string): DdlStatement {
	return { run: write(`${quoteIdentifier(catalog)}.`), shown: write("") };
}

function ignoredColumns(
	sentFields: readonly Field[],
	scanned: readonly ScannedColumn[],
	existing: TargetTable,
): Warning[] {
	if (sentFields.length === scanned.length) return [];
	const kept = new Set(scanned.map(({ field }) => field));
	return sentFields
		.filter((field) => !kept.has(field))
		.map((field) => ({
			code: "extra_columns_ignored",
			column: field.name,
			detail: `${formatTableName(existing.name)} has no column ${JSON.stringify(field.name)} that takes values`,
		}));
}

function mismatch(
	refused: { column: string; detail: string; field?: Field; into?: string }[],
): IngestError {
	const first = refused[0]!;
	const more = refused.length > 1 ? ` (and ${refused.length - 1} more)` : "";
	return new IngestError("schema_mismatch", `${first.column}: ${first.detail}${more}`, {
		column: first.column,
		...(first.field ? { arrow_type: typeName(first.field) } : {}),
		...(first.into ? { target_type: first.into } : {}),
		extra: { columns: refused.map(({ column, detail }) => ({ column, detail })) },
	});
}

function receiptColumn(field: Field, typeText: string): ReceiptColumn {
	return { name: field.name, arrow_type: typeName(field), duckdb_type: typeText };
}
