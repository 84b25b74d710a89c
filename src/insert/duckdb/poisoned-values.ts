/**
 * Values that DuckDB's Parquet reader lets through and that no reader of the table could
 * live with, as SQL. Measured on 1.5.5 with files that hold them: a TIME outside of the
 * day kills whoever prints it, times before DuckDB's first day can't be printed, DECIMALs
 * of more digits than their type and maps with a key twice break what the type promises.
 * Strings are checked by the reader itself, and so is JSON; a TIMETZ is taken modulo the day.
 */

import {
	type DuckDBArrayType,
	type DuckDBDecimalType,
	type DuckDBListType,
	type DuckDBMapType,
	type DuckDBStructType,
	type DuckDBType,
	DuckDBTypeId as Id,
} from "@duckdb/node-api";

import { quoteText } from "./sql-names.ts";

/** A condition that holds where `expression`, of this type, is or contains such a value; null: none can be. */
export function poisonOf(expression: string, type: DuckDBType, depth = 0): string | null {
	const outside = (least: string, most: string) =>
		`(${expression} < ${least} OR ${expression} > ${most})`;
	switch (type.typeId) {
		case Id.TIME:
			return outside("TIME '00:00:00'", "TIME '24:00:00'");
		case Id.DATE:
			return `(${expression} < DATE '-infinity')`;
		case Id.TIMESTAMP:
		case Id.TIMESTAMP_TZ: {
			const name = type.typeId === Id.TIMESTAMP ? "TIMESTAMP" : "TIMESTAMPTZ";
			const first = `'290309-12-22 (BC) 00:00:00${name === "TIMESTAMP" ? "" : "+00"}'::${name}`;
			return `(${expression} < ${first} AND ${expression} <> '-infinity'::${name})`;
		}
		case Id.TIMESTAMP_NS:
			return `(${expression} < TIMESTAMP_NS '1677-09-22 00:00:00' AND ${expression} <> '-infinity'::TIMESTAMP_NS)`;
		case Id.DECIMAL: {
			const { width, scale } = type as DuckDBDecimalType;
			const digits = "9".repeat(width);
			const most = `${digits.slice(0, width - scale) || "0"}.${digits.slice(width - scale)}`;
			const literal = (sign: string) => `'${sign}${most}'::DECIMAL(${width}, ${scale})`;
			return outside(literal("-"), literal(""));
		}
		case Id.LIST:
		case Id.ARRAY:
			return anyOf(expression, (type as DuckDBListType | DuckDBArrayType).valueType, depth);
		case Id.MAP: {
			const { keyType, valueType } = type as DuckDBMapType;
			const keys = `map_keys(${expression})`;
			const twice = `len(list_distinct(${keys})) <> len(${keys})`;
			const parts = [
				twice,
				anyOf(keys, keyType, depth),
				anyOf(`map_values(${expression})`, valueType, depth),
			];
			return either(parts);
		}
		case Id.STRUCT: {
			const { entryNames, entryTypes } = type as DuckDBStructType;
			return either(
				entryTypes.map((member, at) =>
					poisonOf(`struct_extract(${expression}, ${quoteText(entryNames[at]!)})`, member, depth),
				),
			);
		}
		default:
			return null;
	}
}

function anyOf(list: string, type: DuckDBType, depth: number): string | null {
	const element = `e${depth}`;
	const poison = poisonOf(element, type, depth + 1);
	return poison === null ? null : `len(list_filter(${list}, lambda ${element}: ${poison})) > 0`;
}

function either(parts: readonly (string | null)[]): string | null {
	const some = parts.filter((part) => part !== null);
	return some.length === 0 ? null : `(${some.join(" OR ")})`;
}
