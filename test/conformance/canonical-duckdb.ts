/** Values as node-api reads them from a table, in the common notation. */

import {
	DuckDBArrayValue,
	DuckDBBitValue,
	DuckDBBlobValue,
	DuckDBDateValue,
	DuckDBDecimalValue,
	DuckDBGeometryValue,
	DuckDBIntervalValue,
	DuckDBListValue,
	DuckDBMapValue,
	DuckDBStructValue,
	DuckDBTimeNSValue,
	DuckDBTimestampMillisecondsValue,
	DuckDBTimestampNanosecondsValue,
	DuckDBTimestampSecondsValue,
	DuckDBTimestampTZValue,
	DuckDBTimestampValue,
	DuckDBTimeValue,
	type DuckDBType,
	DuckDBTypeId,
	DuckDBUnionValue,
	DuckDBUUIDValue,
	type DuckDBValue,
} from "@duckdb/node-api";
import {
	binary,
	type Canonical,
	days,
	decimal,
	float,
	integer,
	interval,
	map,
	text,
	timeNs,
	timestampNs,
} from "./canonical.ts";

export function fromDuckdb(value: DuckDBValue, type: DuckDBType): Canonical {
	if (value === null || value === undefined) return null;
	if (typeof value === "boolean") return value;
	if (typeof value === "bigint") return integer(value);
	if (typeof value === "number") {
		const isFloat = type.typeId === DuckDBTypeId.FLOAT || type.typeId === DuckDBTypeId.DOUBLE;
		return isFloat ? float(value) : integer(value);
	}
	if (typeof value === "string") return text(value);
	if (value instanceof DuckDBBlobValue) return binary(value.bytes);
	if (value instanceof DuckDBGeometryValue) return binary(value.bytes);
	if (value instanceof DuckDBBitValue) return binary(value.data);
	if (value instanceof DuckDBUUIDValue) {
		return binary(Buffer.from(value.toUint128().toString(16).padStart(32, "0"), "hex"));
	}
	if (value instanceof DuckDBDecimalValue) return decimal(value.value, value.scale);
	if (value instanceof DuckDBDateValue) return days(value.days);
	if (value instanceof DuckDBTimeValue) return timeNs(value.micros * 1_000n);
	if (value instanceof DuckDBTimeNSValue) return timeNs(value.nanos);
	if (value instanceof DuckDBTimestampSecondsValue)
		return timestampNs(value.seconds * 1_000_000_000n);
	if (value instanceof DuckDBTimestampMillisecondsValue)
		return timestampNs(value.millis * 1_000_000n);
	if (value instanceof DuckDBTimestampNanosecondsValue) return timestampNs(value.nanos);
	if (value instanceof DuckDBTimestampValue || value instanceof DuckDBTimestampTZValue) {
		return timestampNs(value.micros * 1_000n);
	}
	if (value instanceof DuckDBIntervalValue) {
		return interval(value.months, value.days, value.micros * 1_000n);
	}
	const parts = type as unknown as {
		valueType: DuckDBType;
		keyType: DuckDBType;
		entryTypes: DuckDBType[];
		entryNames: string[];
		memberTypes: DuckDBType[];
		memberTags: string[];
	};
	if (value instanceof DuckDBListValue || value instanceof DuckDBArrayValue) {
		return value.items.map((item) => fromDuckdb(item, parts.valueType));
	}
	if (value instanceof DuckDBStructValue) {
		const entries = parts.entryNames.map((name, i) => [
			name,
			fromDuckdb(value.entries[name]!, parts.entryTypes[i]!),
		]);
		return Object.fromEntries(entries);
	}
	if (value instanceof DuckDBMapValue) {
		return map(
			value.entries.map((entry) => [
				fromDuckdb(entry.key, parts.keyType),
				fromDuckdb(entry.value, parts.valueType),
			]),
		);
	}
	if (value instanceof DuckDBUnionValue) {
		const at = parts.memberTags.indexOf(value.tag);
		return { [value.tag]: fromDuckdb(value.value, parts.memberTypes[at]!) };
	}
	throw new Error(`no notation for a ${value?.constructor?.name} of ${type}`);
}
