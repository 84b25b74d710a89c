/**
 * In: the flattened schema of a Parquet footer, depth first. Out: the columns by name and
 * the leaves with what DuckDB's reader would lose of them.
 *
 * https://github.com/apache/parquet-format/blob/master/src/main/thrift/parquet.thrift
 * Refused: `invalid_arrow` for a tree that doesn't close, is too deep or has names that are
 * none; `too_large` for too many columns; `unsupported_type` for what DuckDB has no type for.
 */

import { type ErrorPlace, IngestError } from "../errors.ts";
import { type Limits, maxNameBytes } from "../limits.ts";
import { foldName } from "../table-name.ts";
import { invalidParquet } from "./invalid-parquet.ts";

export type ParquetUnit = "ms" | "us" | "ns";

/** `SchemaElement`, as far as we look. */
export interface SchemaElement {
	name: string;
	/** 0 required, 1 optional, 2 repeated. */
	repetition: number;
	children: number;
	/** Physical type of a leaf, by number; -1 of a group. */
	physical: number;
	precision: number;
	time: { kind: "time" | "timestamp"; unit: ParquetUnit; utc: boolean } | null;
	isVariant: boolean;
	isDecimal: boolean;
}

export interface ParquetColumn {
	name: string;
	nullable: boolean;
}

export interface ParquetLeaf {
	/** `a`, `point.x`: groups of lists and maps are part of it, as the file has them. */
	path: string;
	/** Exactly one value a row. */
	flat: boolean;
	/** What DuckDB's reader cuts off. */
	loses: "nanoseconds of UTC" | "nanoseconds" | null;
}

export interface ParquetSchema {
	columns: ParquetColumn[];
	leaves: ParquetLeaf[];
}

/** Of physical types, by number. */
const int96 = 3;
/** DuckDB's DECIMAL; what has more would come out as DOUBLE. */
const maxPrecision = 38;
const encoder = new TextEncoder();

export function readSchema(
	elements: readonly SchemaElement[],
	limits: Pick<Limits, "maxColumns" | "maxNesting">,
): ParquetSchema {
	const schema: ParquetSchema = { columns: [], leaves: [] };
	const [root] = elements;
	if (root === undefined || root.children === 0) throw invalidParquet("it has no columns");
	if (root.children > limits.maxColumns) throw tooMany(root.children, limits);
	// A list is two groups deep, and so is a map.
	const maxDepth = 2 * limits.maxNesting + 1;
	let at = 1;

	function takeAll(count: number, parent: string, depth: number, repeated: boolean): void {
		const seen = new Map<string, string>();
		for (let child = 0; child < count; child++) {
			const name = take(parent, depth, repeated);
			const first = seen.get(foldName(name));
			if (first !== undefined) throw sameNames(first, name, schema.columns.at(-1)!.name);
			seen.set(foldName(name), name);
		}
	}

	/** Its name. */
	function take(parent: string, depth: number, repeated: boolean): string {
		const element = elements[at];
		if (element === undefined) throw invalidParquet("its schema names children that are not there");
		at++;
		const column = parent === "" ? element.name : `${parent}.${element.name}`;
		if (depth > maxDepth) throw invalidParquet(`a column lies more than ${maxDepth} deep`);
		const isRepeated = repeated || element.repetition === 2;
		checkName(element.name, parent);
		if (depth === 1) {
			schema.columns.push({ name: element.name, nullable: element.repetition !== 0 });
		}
		checkType(element, { column: schema.columns.at(-1)!.name });
		if (element.physical < 0) {
			if (element.children === 0) throw invalidParquet("a group has no members", { column });
			takeAll(element.children, column, depth + 1, isRepeated);
			return element.name;
		}
		if (element.children > 0) throw invalidParquet("a value has members", { column });
		schema.leaves.push({ path: column, flat: !isRepeated, loses: lossOf(element) });
		if (schema.leaves.length > limits.maxColumns) throw tooMany(schema.leaves.length, limits);
		return element.name;
	}

	takeAll(root.children, "", 1, false);
	if (at !== elements.length) {
		throw invalidParquet(`its schema has ${elements.length} elements, ${at} belong to columns`);
	}
	return schema;
}

function checkName(name: string, parent: string): void {
	if (name === "" || name.includes("\0")) {
		const what = parent === "" ? "a column's name" : `the name of a member of ${parent}`;
		throw invalidParquet(`${what} ${name === "" ? "is empty" : "has a NUL in it"}`);
	}
	const bytes = encoder.encode(name).length;
	if (bytes > maxNameBytes) {
		throw invalidParquet(`a column's name has ${bytes} bytes, ${maxNameBytes} may be`);
	}
}

function checkType({ precision, isDecimal, isVariant }: SchemaElement, place: ErrorPlace): void {
	if (isDecimal && precision > maxPrecision) {
		throw new IngestError(
			"unsupported_type",
			`column ${JSON.stringify(place.column)}: DuckDB's DECIMAL has ${maxPrecision} digits, the Parquet file's has ${precision}`,
			place,
		);
	}
	if (isVariant) {
		throw new IngestError(
			"unsupported_type",
			`column ${JSON.stringify(place.column)}: Parquet's VARIANT is not taken`,
			place,
		);
	}
}

function lossOf({ physical, time }: SchemaElement): ParquetLeaf["loses"] {
	if (physical === int96) return "nanoseconds";
	if (time?.unit !== "ns") return null;
	if (time.kind === "time") return "nanoseconds";
	return time.utc ? "nanoseconds of UTC" : null;
}

const sameNames = (first: string, second: string, column: string) =>
	new IngestError(
		"duplicate_column",
		`${JSON.stringify(first)} and ${JSON.stringify(second)} have the same name for DuckDB`,
		{ column },
	);

const tooMany = (count: number, { maxColumns }: Pick<Limits, "maxColumns">) =>
	new IngestError("too_large", `the Parquet file has ${count} columns, ${maxColumns} may be`, {
		extra: { limit: maxColumns },
	});
