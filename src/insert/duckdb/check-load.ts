/**
 * What can be said of a load before its transaction: whether its mode fits the
 * table, whether its names can be told apart, and which of its columns are scanned.
 *
 * `on_extra_columns=ignore` is decided here and not in SQL, because the scan is
 * always SELECT * of the whole view: what is ignored must not enter it.
 */

import type { Field } from "../../arrow/types.ts";
import { IngestError } from "../../errors.ts";
import type { LoadParameters } from "../../flow.ts";
import { foldName, formatTableName } from "../../table-name.ts";
import type { TargetTable } from "./target-table.ts";

/** Positions of the sent fields that the scan shall have, in order; all, unless extra ones are ignored. */
export function positionsToScan(
	fields: readonly Field[],
	parameters: LoadParameters,
	existing: TargetTable | null,
): number[] {
	const all = fields.map((_, at) => at);
	if (!existing || parameters.mode === "replace" || parameters.on_extra_columns !== "ignore") {
		return all;
	}
	const columns = byName(existing.columns, (column) => column.name);
	const kept = all.filter((at) => columns.get(foldName(fields[at]!.name))?.generated === false);
	if (kept.length > 0) return kept;
	const table = formatTableName(existing.name);
	throw new IngestError(
		"schema_mismatch",
		`none of the ${fields.length} columns is a column of ${table}`,
		{
			...(fields.length === 1 ? { column: fields[0]!.name } : {}),
			extra: {
				columns: fields.map(({ name }) => ({
					column: name,
					detail: `${table} has no column "${name}" that takes values`,
				})),
			},
		},
	);
}

/** `table_exists`, `table_not_found`: whether the mode may go on, before anything is read. */
export function checkMode(parameters: LoadParameters, existing: TargetTable["kind"] | null): void {
	const shown = formatTableName(parameters.table);
	if (existing === "view") {
		throw parameters.mode === "append"
			? new IngestError("table_not_found", `${shown} is a view, not a table`)
			: new IngestError("table_exists", `${shown} is a view; its name is taken`);
	}
	if (parameters.mode === "append" && !existing) {
		throw new IngestError("table_not_found", `table ${shown} does not exist, and mode is append`);
	}
	if (parameters.mode === "create" && existing) {
		throw new IngestError("table_exists", `table ${shown} exists already, and mode is create`);
	}
}

/** `duplicate_column` for two names that DuckDB can't tell apart, `invalid_arrow` for no columns. */
export function checkNames(fields: readonly Field[]): void {
	if (fields.length === 0) throw new IngestError("invalid_arrow", "the schema has no columns");
	const seen = new Map<string, string>();
	for (const { name } of fields) {
		const first = seen.get(foldName(name));
		if (first !== undefined) {
			throw new IngestError(
				"duplicate_column",
				`columns ${JSON.stringify(first)} and ${JSON.stringify(name)} have the same name for DuckDB`,
				{ column: name },
			);
		}
		seen.set(foldName(name), name);
	}
}

/** Tables may have 10,000 columns: looked up, not searched. Keys are folded names. */
export function byName<T>(items: readonly T[], name: (item: T) => string): Map<string, T> {
	return new Map(items.map((item) => [foldName(name(item)), item]));
}
