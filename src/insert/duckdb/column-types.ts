/**
 * Does a column of the upload fit a column that is there already?
 *
 * In: DuckDB's own type of the scanned column, the target's type and the Arrow
 * field it came from. Out: notes, none when every value arrives as it is or the
 * statement fails (`cast_failed`). DuckDB itself would cast nearly anything on
 * INSERT; what loses something says so here, what makes no sense is refused
 * before a row is read:
 *
 * | from                   | into                         | verdict                             |
 * |------------------------|------------------------------|-------------------------------------|
 * | anything               | the same, VARIANT            | fits                                |
 * | integer, BOOLEAN       | integer, DECIMAL             | fits or cast_failed                 |
 * | integer                | FLOAT, DOUBLE                | lossy where the mantissa is shorter |
 * | number                 | BOOLEAN                      | lossy (all but 0 is true)           |
 * | float                  | integer, DECIMAL             | lossy (rounds)                      |
 * | DOUBLE, DECIMAL        | FLOAT, DOUBLE                | lossy (rounds); FLOAT to DOUBLE fits |
 * | DECIMAL                | fewer decimals, integer      | lossy (rounds)                      |
 * | time, timestamp        | a coarser unit, a part of it | lossy (cuts), where DuckDB has the cast |
 * | TIMESTAMPTZ            | TIMESTAMP                    | lossy (the zone goes; value in UTC) |
 * | TIMESTAMP, DATE        | TIMESTAMPTZ                  | fits, read as UTC                   |
 * | VARCHAR                | UUID, ENUM, JSON, BOOLEAN, INTERVAL, GEOMETRY (WKT) | parsed, or cast_failed |
 * | VARCHAR                | numbers, dates, times        | lossy (parsed, rounded, cut)        |
 * | scalars                | VARCHAR                      | fits, as text                       |
 * | scalars, nested        | JSON                         | fits                                |
 * | GEOMETRY with a CRS    | GEOMETRY without             | crs_dropped                         |
 * | struct, union          | a member less than upstream  | refused: never a silent drop        |
 * | struct                 | a member more than upstream  | fits, NULL, named in columns_defaulted |
 * | list, array, map       | list, array of same size, map | by their values                    |
 * | BLOB into VARCHAR, UUID or GEOMETRY; VARCHAR into BLOB; nested into VARCHAR; anything else || refused |
 */

import type {
	DuckDBArrayType,
	DuckDBDecimalType,
	DuckDBGeometryType,
	DuckDBListType,
	DuckDBMapType,
	DuckDBStructType,
	DuckDBType,
	DuckDBUnionType,
} from "@duckdb/node-api";
import { DuckDBTypeId as Id } from "@duckdb/node-api";
import type { Field } from "../../arrow/types.ts";
import { sameName } from "../../table-name.ts";

export interface CastNote {
	kind: "lossy" | "crs_dropped" | "refused" | "defaulted";
	/** `point.x`, `tags[]`, as a reader would write it. */
	path: string;
	detail: string;
}

/** `field` null where the Arrow side is not known any more (values of a union's member, say). */
export function judgeCast(
	path: string,
	field: Field | null,
	from: DuckDBType,
	to: DuckDBType,
): CastNote[] {
	// Every value is NULL, and a NULL is cast to anything (but a union: to one of its members).
	if (field?.type.kind === "null" && to.typeId !== Id.UNION) return [];
	if (to.typeId === Id.VARIANT) return [];
	if (isNested(from) && isNested(to)) return judgeNested(path, field, from, to);
	if (to.typeId === Id.UNION) return judgeIntoUnion(path, from, to as DuckDBUnionType);
	const note = judgeScalar(from, to);
	if (note === null) return [];
	const [kind, detail] = note;
	return [{ kind, path, detail: `${typeText(from)} into ${typeText(to)}: ${detail}` }];
}

export function typeText(type: DuckDBType): string {
	return type.alias ?? type.toString();
}

type Verdict = [kind: "lossy" | "crs_dropped" | "refused", detail: string] | null;

const fits: Verdict = null;
const noCast: Verdict = ["refused", "there is no conversion that keeps its meaning"];

/** Bits of magnitude that an integer type may use. */
const integerBits = new Map<Id, number>([
	[Id.TINYINT, 7],
	[Id.SMALLINT, 15],
	[Id.INTEGER, 31],
	[Id.BIGINT, 63],
	[Id.HUGEINT, 127],
	[Id.UTINYINT, 8],
	[Id.USMALLINT, 16],
	[Id.UINTEGER, 32],
	[Id.UBIGINT, 64],
	[Id.UHUGEINT, 128],
]);
/** Bits of an integer that a float type holds exactly (IEEE 754). */
const mantissaBits = new Map<Id, number>([
	[Id.FLOAT, 24],
	[Id.DOUBLE, 53],
]);
/** Decimal digits of a second. */
const timestampDigits = new Map<Id, number>([
	[Id.TIMESTAMP_S, 0],
	[Id.TIMESTAMP_MS, 3],
	[Id.TIMESTAMP, 6],
	[Id.TIMESTAMP_NS, 9],
]);
const temporal = new Set<Id>([
	...timestampDigits.keys(),
	Id.DATE,
	Id.TIME,
	Id.TIME_NS,
	Id.TIME_TZ,
	Id.TIMESTAMP_TZ,
]);

function judgeScalar(from: DuckDBType, to: DuckDBType): Verdict {
	const isJsonTarget = to.typeId === Id.VARCHAR && to.alias === "JSON";
	if (from.typeId === Id.GEOMETRY && to.typeId === Id.GEOMETRY) {
		return judgeCrs((from as DuckDBGeometryType).crs, (to as DuckDBGeometryType).crs);
	}
	if (from.typeId === Id.DECIMAL && to.typeId === Id.DECIMAL) {
		const [sent, kept] = [(from as DuckDBDecimalType).scale, (to as DuckDBDecimalType).scale];
		return sent > kept ? ["lossy", `${sent - kept} decimals are rounded away`] : fits;
	}
	if (from.typeId === Id.VARCHAR) return from.alias === "JSON" ? judgeJson(to) : judgeText(to);
	if (from.typeId === to.typeId) return fits;
	if (from.typeId === Id.BLOB) {
		return to.typeId === Id.GEOMETRY
			? ["refused", "name the column's extension geoarrow.wkb to have it read as WKB"]
			: noCast;
	}
	if (isJsonTarget) return fits;
	if (to.typeId === Id.VARCHAR) {
		if (isNested(from)) return noCast;
		return from.typeId === Id.GEOMETRY ? ["lossy", "written as WKT"] : fits;
	}
	if (isNumber(from) && isNumber(to)) return judgeNumber(from, to);
	if (temporal.has(from.typeId) && temporal.has(to.typeId)) {
		return judgeTemporal(from.typeId, to.typeId);
	}
	return noCast;
}

function isNumber(type: DuckDBType): boolean {
	return (
		integerBits.has(type.typeId) ||
		mantissaBits.has(type.typeId) ||
		type.typeId === Id.DECIMAL ||
		type.typeId === Id.BOOLEAN
	);
}

function judgeNumber(from: DuckDBType, to: DuckDBType): Verdict {
	if (from.typeId === Id.BOOLEAN) return fits;
	if (to.typeId === Id.BOOLEAN) return ["lossy", "every number but 0 becomes true"];
	const bits = integerBits.get(from.typeId);
	const mantissa = mantissaBits.get(to.typeId);
	if (bits !== undefined) {
		return mantissa !== undefined && bits > mantissa
			? ["lossy", `integers beyond 2^${mantissa} are rounded`]
			: fits;
	}
	if (from.typeId === Id.FLOAT && to.typeId === Id.DOUBLE) return fits;
	if (from.typeId === Id.DECIMAL && integerBits.has(to.typeId)) {
		return (from as DuckDBDecimalType).scale > 0 ? ["lossy", "decimals are rounded away"] : fits;
	}
	return ["lossy", "values are rounded"];
}

function judgeTemporal(from: Id, to: Id): Verdict {
	const [sent, kept] = [timestampDigits.get(from), timestampDigits.get(to)];
	if (from === Id.DATE) {
		return kept !== undefined || to === Id.TIMESTAMP_TZ ? fits : noCast;
	}
	if (sent !== undefined) {
		if (kept !== undefined) {
			// DuckDB casts between coarser units by way of microseconds alone.
			if (sent > kept && from !== Id.TIMESTAMP && to !== Id.TIMESTAMP) return noCast;
			return sent > kept ? ["lossy", `${sent - kept} digits of the second are cut`] : fits;
		}
		if (to === Id.DATE) return ["lossy", "the time of day is cut"];
		if (to === Id.TIMESTAMP_TZ) {
			return sent > 6 ? ["lossy", "3 digits of the second are cut"] : fits;
		}
		if (to === Id.TIME_TZ && from !== Id.TIMESTAMP) return noCast;
		if (to === Id.TIME_NS && from !== Id.TIMESTAMP_NS) return noCast;
		return ["lossy", "the date is cut"];
	}
	if (from === Id.TIMESTAMP_TZ) {
		if (kept !== undefined) return ["lossy", "the zone is dropped, values are in UTC"];
		if (to === Id.DATE) return ["lossy", "the time of day is cut, days are UTC's"];
		return to === Id.TIME_TZ ? ["lossy", "the date is cut"] : noCast;
	}
	if (from === Id.TIME && to === Id.TIME_TZ) return fits;
	if (from === Id.TIME_NS && to === Id.TIME) return ["lossy", "3 digits of the second are rounded"];
	if (from === Id.TIME_TZ && to === Id.TIME) return ["lossy", "the zone is dropped"];
	return noCast;
}

function judgeText(to: DuckDBType): Verdict {
	switch (to.typeId) {
		case Id.VARCHAR:
		case Id.UUID:
		case Id.ENUM:
		case Id.BOOLEAN:
		case Id.INTERVAL:
		case Id.BIT:
		case Id.BIGNUM:
		case Id.GEOMETRY:
			return fits;
	}
	if (isNumber(to)) return ["lossy", "numbers are parsed from text and rounded to the type"];
	if (temporal.has(to.typeId)) {
		return ["lossy", "parsed from text; digits, zones and parts that the type lacks are cut"];
	}
	return noCast;
}

function judgeJson(to: DuckDBType): Verdict {
	if (to.typeId === Id.VARCHAR) return fits;
	return to.typeId === Id.BLOB || to.typeId === Id.GEOMETRY
		? noCast
		: ["lossy", "parsed from JSON; what the type has no place for is dropped"];
}

/** A missing CRS takes the target's; two different ones can't be told apart later. */
function judgeCrs(from: string | undefined, to: string | undefined): Verdict {
	if (!from || from === to) return fits;
	if (!to) return ["crs_dropped", `the column holds no CRS, ${JSON.stringify(from)} is not kept`];
	return ["refused", `the CRS differs: ${JSON.stringify(from)} into ${JSON.stringify(to)}`];
}

function isNested(type: DuckDBType): boolean {
	switch (type.typeId) {
		case Id.LIST:
		case Id.ARRAY:
		case Id.STRUCT:
		case Id.MAP:
		case Id.UNION:
			return true;
		default:
			return false;
	}
}

function judgeNested(
	path: string,
	field: Field | null,
	from: DuckDBType,
	to: DuckDBType,
): CastNote[] {
	const refuse = (detail: string): CastNote[] => [{ kind: "refused", path, detail }];
	const isList = (type: DuckDBType) => type.typeId === Id.LIST || type.typeId === Id.ARRAY;
	if (isList(from) && isList(to)) {
		if (from.typeId === Id.ARRAY && to.typeId === Id.ARRAY) {
			const [sent, kept] = [(from as DuckDBArrayType).length, (to as DuckDBArrayType).length];
			if (sent !== kept) return refuse(`an array of ${sent} into an array of ${kept}`);
		}
		return judgeCast(
			`${path}[]`,
			childOf(field, 0),
			(from as DuckDBListType | DuckDBArrayType).valueType,
			(to as DuckDBListType | DuckDBArrayType).valueType,
		);
	}
	if (from.typeId !== to.typeId) return refuse(`${typeText(from)} into ${typeText(to)}`);
	if (from.typeId === Id.MAP) {
		const entries = childOf(field, 0);
		const [sent, kept] = [from as DuckDBMapType, to as DuckDBMapType];
		return [
			...judgeCast(`${path}.key`, childOf(entries, 0), sent.keyType, kept.keyType),
			...judgeCast(`${path}.value`, childOf(entries, 1), sent.valueType, kept.valueType),
		];
	}
	const sent = membersOf(from);
	const kept = membersOf(to);
	const notes: CastNote[] = [];
	for (const [at, [name, type]] of sent.entries()) {
		const member = kept.find(([other]) => sameName(other, name));
		if (member) {
			notes.push(...judgeCast(`${path}.${name}`, childOf(field, at), type, member[1]));
		} else {
			notes.push({
				kind: "refused",
				path: `${path}.${name}`,
				detail: `the target's ${typeText(to)} has no member ${JSON.stringify(name)}`,
			});
		}
	}
	if (from.typeId === Id.STRUCT) {
		for (const [name] of kept) {
			if (sent.some(([other]) => sameName(other, name))) continue;
			notes.push({ kind: "defaulted", path: `${path}.${name}`, detail: "NULL" });
		}
	}
	return notes;
}

function judgeIntoUnion(path: string, from: DuckDBType, to: DuckDBUnionType): CastNote[] {
	if (to.memberTypes.some((member) => typeText(member) === typeText(from))) return [];
	return [
		{
			kind: "refused",
			path,
			detail: `${typeText(from)} is none of the members of ${typeText(to)}`,
		},
	];
}

function membersOf(type: DuckDBType): [name: string, type: DuckDBType][] {
	if (type.typeId === Id.UNION) {
		const union = type as DuckDBUnionType;
		return union.memberTags.map((tag, at) => [tag, union.memberTypes[at]!]);
	}
	const struct = type as DuckDBStructType;
	return struct.entryNames.map((name, at) => [name, struct.entryTypes[at]!]);
}

/** The Arrow child at `at`; run-end encoding is seen through. */
function childOf(field: Field | null, at: number): Field | null {
	if (field?.type.kind === "run_end_encoded") return childOf(field.children[1] ?? null, at);
	return field?.children[at] ?? null;
}
