/** A column of DuckDB's as the Arrow field that holds the same values: for receipts and for what casts are judged by. */
import {
	type DuckDBArrayType,
	type DuckDBDecimalType,
	type DuckDBListType,
	type DuckDBMapType,
	type DuckDBStructType,
	type DuckDBType,
	DuckDBTypeId as Id,
} from "@duckdb/node-api";
import type { ArrowType, Field } from "../../arrow/types.ts";
import { IngestError } from "../../errors.ts";

/** `unsupported_type` for what Arrow has no type for. */
export function arrowFieldOf(name: string, nullable: boolean, type: DuckDBType): Field {
	const extension = extensionOf(type);
	return {
		name,
		nullable,
		type: arrowTypeOf(name, type),
		children: childrenOf(type),
		dictionary: null,
		metadata: new Map(
			extension === null ? [] : [["ARROW:extension:name", new TextEncoder().encode(extension)]],
		),
	};
}

function extensionOf(type: DuckDBType): string | null {
	if (type.typeId === Id.UUID) return "arrow.uuid";
	if (type.typeId === Id.GEOMETRY) return "geoarrow.wkb";
	return type.alias === "JSON" ? "arrow.json" : null;
}

const int = (bits: 8 | 16 | 32 | 64, signed: boolean): ArrowType => ({ kind: "int", bits, signed });

const simple = new Map<Id, ArrowType>([
	[Id.BOOLEAN, { kind: "bool" }],
	[Id.TINYINT, int(8, true)],
	[Id.SMALLINT, int(16, true)],
	[Id.INTEGER, int(32, true)],
	[Id.BIGINT, int(64, true)],
	[Id.UTINYINT, int(8, false)],
	[Id.USMALLINT, int(16, false)],
	[Id.UINTEGER, int(32, false)],
	[Id.UBIGINT, int(64, false)],
	[Id.FLOAT, { kind: "float", bits: 32 }],
	[Id.DOUBLE, { kind: "float", bits: 64 }],
	[Id.DATE, { kind: "date", unit: "day" }],
	[Id.TIME, { kind: "time", bits: 64, unit: "us" }],
	[Id.TIME_TZ, { kind: "time", bits: 64, unit: "us" }],
	[Id.TIME_NS, { kind: "time", bits: 64, unit: "ns" }],
	[Id.TIMESTAMP_S, { kind: "timestamp", unit: "s", zone: null }],
	[Id.TIMESTAMP_MS, { kind: "timestamp", unit: "ms", zone: null }],
	[Id.TIMESTAMP, { kind: "timestamp", unit: "us", zone: null }],
	[Id.TIMESTAMP_NS, { kind: "timestamp", unit: "ns", zone: null }],
	[Id.TIMESTAMP_TZ, { kind: "timestamp", unit: "us", zone: "UTC" }],
	[Id.INTERVAL, { kind: "interval", unit: "month_day_nano" }],
	[Id.VARCHAR, { kind: "utf8" }],
	[Id.BLOB, { kind: "binary" }],
	[Id.GEOMETRY, { kind: "binary" }],
	[Id.UUID, { kind: "fixed_size_binary", byteWidth: 16 }],
	[Id.LIST, { kind: "list" }],
	[Id.STRUCT, { kind: "struct" }],
	[Id.MAP, { kind: "map", keysSorted: false }],
]);

function arrowTypeOf(name: string, type: DuckDBType): ArrowType {
	const known = simple.get(type.typeId);
	if (known !== undefined) return known;
	if (type.typeId === Id.DECIMAL) {
		const { width, scale } = type as DuckDBDecimalType;
		return { kind: "decimal", bits: 128, precision: width, scale };
	}
	if (type.typeId === Id.ARRAY) {
		return { kind: "fixed_size_list", size: (type as DuckDBArrayType).length };
	}
	throw new IngestError(
		"unsupported_type",
		`column ${JSON.stringify(name)}: ${type} is not taken`,
		{
			column: name,
			target_type: String(type),
		},
	);
}

function childrenOf(type: DuckDBType): Field[] {
	switch (type.typeId) {
		case Id.LIST:
		case Id.ARRAY:
			return [arrowFieldOf("item", true, (type as DuckDBListType | DuckDBArrayType).valueType)];
		case Id.STRUCT: {
			const { entryNames, entryTypes } = type as DuckDBStructType;
			return entryTypes.map((member, at) => arrowFieldOf(entryNames[at]!, true, member));
		}
		case Id.MAP: {
			const { keyType, valueType } = type as DuckDBMapType;
			const members = [arrowFieldOf("key", false, keyType), arrowFieldOf("value", true, valueType)];
			const entries: Field = {
				name: "entries",
				nullable: false,
				type: { kind: "struct" },
				children: members,
				dictionary: null,
				metadata: new Map(),
			};
			return [entries];
		}
		default:
			return [];
	}
}
