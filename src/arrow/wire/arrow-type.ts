/**
 * In: a Field of a verified flatbuffer. Out: its type as `types.ts` has it.
 *
 * Parameters that the specification rules out are `invalid_arrow`; types that we
 * do not know are `unsupported_type`. What DuckDB can hold is decided later, but
 * for types that hold nothing: a struct or union without members.
 *
 * https://github.com/apache/arrow/blob/main/format/Schema.fbs
 */

import { Date as DateType } from "apache-arrow/fb/date";
import { Decimal } from "apache-arrow/fb/decimal";
import { Duration } from "apache-arrow/fb/duration";
import type { Field } from "apache-arrow/fb/field";
import { FixedSizeBinary } from "apache-arrow/fb/fixed-size-binary";
import { FixedSizeList } from "apache-arrow/fb/fixed-size-list";
import { FloatingPoint } from "apache-arrow/fb/floating-point";
import { Int } from "apache-arrow/fb/int";
import { Interval } from "apache-arrow/fb/interval";
import { Map as MapType } from "apache-arrow/fb/map";
import { Time } from "apache-arrow/fb/time";
import { Timestamp } from "apache-arrow/fb/timestamp";
import { Union } from "apache-arrow/fb/union";
import { Encoding } from "flatbuffers";
import { IngestError } from "../../errors.ts";
import { type ArrowType, type IndexType, timeUnits } from "../types.ts";

/** Schema.fbs, union Type: those without parameters. */
const plainTypes = {
	1: "null",
	4: "binary",
	5: "utf8",
	6: "bool",
	12: "list",
	13: "struct",
	19: "large_binary",
	20: "large_utf8",
	21: "large_list",
	22: "run_end_encoded",
	23: "binary_view",
	24: "utf8_view",
	25: "list_view",
	26: "large_list_view",
} as const;

const decimalDigits = { 32: 9, 64: 18, 128: 38, 256: 76 } as const;
const floatBits = [16, 32, 64] as const;
const intervalUnits = ["month", "day_time", "month_day_nano"] as const;
const int8Max = 127;

/** `path` is for errors. */
export function readType(field: Field, path: string): ArrowType {
	const code = field.typeType() as number;
	if (code in plainTypes) return { kind: plainTypes[code as keyof typeof plainTypes] };
	switch (code) {
		case 2:
			return readInt(parameters(field, new Int(), path), path);
		case 3: {
			const precision = parameters(field, new FloatingPoint(), path).precision();
			return { kind: "float", bits: pick(floatBits, precision, "floating point precision", path) };
		}
		case 7:
			return readDecimal(parameters(field, new Decimal(), path), path);
		case 8: {
			const unit = parameters(field, new DateType(), path).unit();
			return { kind: "date", unit: pick(["day", "ms"] as const, unit, "date unit", path) };
		}
		case 9:
			return readTime(parameters(field, new Time(), path), path);
		case 10: {
			const timestamp = parameters(field, new Timestamp(), path);
			const unit = pick(timeUnits, timestamp.unit(), "timestamp unit", path);
			return { kind: "timestamp", unit, zone: readZone(timestamp, path) };
		}
		case 11: {
			const unit = parameters(field, new Interval(), path).unit();
			return { kind: "interval", unit: pick(intervalUnits, unit, "interval unit", path) };
		}
		case 14:
			return readUnion(parameters(field, new Union(), path), field.childrenLength(), path);
		case 15: {
			const byteWidth = parameters(field, new FixedSizeBinary(), path).byteWidth();
			if (byteWidth < 0) throw invalid(path, `fixed_size_binary of ${byteWidth} bytes`);
			return { kind: "fixed_size_binary", byteWidth };
		}
		case 16: {
			const size = parameters(field, new FixedSizeList(), path).listSize();
			if (size < 0) throw invalid(path, `fixed_size_list of ${size} elements`);
			return { kind: "fixed_size_list", size };
		}
		case 17:
			return {
				kind: "map",
				keysSorted: parameters(field, new MapType(), path).keysSorted(),
			};
		case 18: {
			const unit = parameters(field, new Duration(), path).unit();
			return { kind: "duration", unit: pick(timeUnits, unit, "duration unit", path) };
		}
		case 0:
			throw invalid(path, "a field without a type");
		default:
			throw new IngestError(
				"unsupported_type",
				`column ${path}: Arrow type number ${code} is not known here`,
				{ column: path, arrow_type: `type ${code}` },
			);
	}
}

/** Of an integer of 128 bits, which polars writes and the specification does not have: what DuckDB calls it. Else null. */
export function readInt128(field: Field, path: string): "hugeint" | "uhugeint" | null {
	if ((field.typeType() as number) !== 2) return null;
	const int = parameters(field, new Int(), path);
	if (int.bitWidth() !== 128) return null;
	return int.isSigned() ? "hugeint" : "uhugeint";
}

export function readInt(int: Int, path: string): IndexType {
	const bits = int.bitWidth();
	if (bits !== 8 && bits !== 16 && bits !== 32 && bits !== 64) {
		throw invalid(path, `an integer of ${bits} bits`);
	}
	return { kind: "int", bits, signed: int.isSigned() };
}

function readDecimal(decimal: Decimal, path: string): ArrowType {
	const bits = decimal.bitWidth();
	const precision = decimal.precision();
	const scale = decimal.scale();
	if (bits !== 32 && bits !== 64 && bits !== 128 && bits !== 256) {
		throw invalid(path, `a decimal of ${bits} bits`);
	}
	if (precision < 1 || precision > decimalDigits[bits]) {
		throw invalid(
			path,
			`decimal${bits} has 1 to ${decimalDigits[bits]} digits, and not ${precision}`,
		);
	}
	return { kind: "decimal", bits, precision, scale };
}

/** Schema.fbs: seconds and milliseconds are 32 bits wide, microseconds and nanoseconds 64. */
function readTime(time: Time, path: string): ArrowType {
	const unit = pick(timeUnits, time.unit(), "time unit", path);
	const bits = time.bitWidth();
	const expected = unit === "s" || unit === "ms" ? 32 : 64;
	if (bits !== expected) {
		throw invalid(path, `a time in ${unit} is ${expected} bits wide, and not ${bits}`);
	}
	return { kind: "time", bits: expected, unit };
}

function readZone(timestamp: Timestamp, path: string): string | null {
	const bytes = timestamp.timezone(Encoding.UTF8_BYTES) as Uint8Array | null;
	if (bytes === null || bytes.byteLength === 0) return null;
	const zone = decodeText(bytes);
	if (zone === null || zone.includes("\0"))
		throw invalid(path, "the name of a time zone is no text");
	return zone;
}

/** Schema.fbs: without typeIds they are the positions; an id is an int8 that isn't negative. */
function readUnion(union: Union, members: number, path: string): ArrowType {
	const mode = pick(["sparse", "dense"] as const, union.mode(), "union mode", path);
	const declared = union.typeIdsLength();
	if (declared !== 0 && declared !== members) {
		throw invalid(path, `a union of ${members} members with ${declared} type ids`);
	}
	if (members > int8Max + 1) throw invalid(path, `a union of ${members} members`);
	const typeIds: number[] = [];
	for (let i = 0; i < members; i++) {
		const id = declared === 0 ? i : union.typeIds(i)!;
		if (id < 0 || id > int8Max || typeIds.includes(id)) {
			throw invalid(path, `union type id ${id} is out of range or given twice`);
		}
		typeIds.push(id);
	}
	return { kind: "union", mode, typeIds };
}

/** UTF-8 as text, or null. */
export function decodeText(bytes: Uint8Array): string | null {
	try {
		return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
	} catch {
		return null;
	}
}

export function invalid(path: string, detail: string): IngestError {
	return new IngestError("invalid_arrow", `column ${path}: ${detail}`, { column: path });
}

function parameters<T>(field: Field, table: T, path: string): T {
	const filled = field.type(table) as T | null;
	if (filled === null) throw invalid(path, "a type without its parameters");
	return filled;
}

function pick<T>(values: readonly T[], index: number, what: string, path: string): T {
	const value = values[index];
	if (value === undefined) throw invalid(path, `${what} ${index} is not known`);
	return value;
}
