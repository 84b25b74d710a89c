/**
 * Later streams of a load against its first: the same column names in any order, ASCII
 * case apart, and the same types; metadata, dictionaries and nullability may differ.
 *
 * In: the fields of both. Out: for each column of the first stream its position in the later one,
 * or `schema_mismatch` naming the stream, counted from 1, and every column at fault.
 */

import { IngestError } from "../errors.ts";
import { foldName } from "../table-name.ts";
import { sameShape } from "./same-fields.ts";
import { typeName } from "./type-name.ts";
import type { Field } from "./types.ts";

/** A stream after the first. */
export interface LaterStream {
	/** From 1. */
	number: number;
	/** `stream 2 (b.arrow)` */
	label: string;
}

export function alignStream(
	first: readonly Field[],
	later: readonly Field[],
	stream: LaterStream,
): number[] {
	const positions = new Map(later.map((field, i) => [foldName(field.name), i]));
	const missing: string[] = [];
	const positionOf = first.map((field) => {
		const position = positions.get(foldName(field.name));
		if (position === undefined) missing.push(field.name);
		positions.delete(foldName(field.name));
		return position ?? -1;
	});
	const extra = [...positions.values()].map((position) => later[position]!.name);
	if (missing.length > 0 || extra.length > 0) {
		const column = missing[0] ?? extra[0]!;
		const faults = [
			missing.length > 0 ? `lacks ${list(missing)}` : "",
			extra.length > 0 ? `has ${list(extra)} beside the columns of stream 1` : "",
		];
		throw new IngestError(
			"schema_mismatch",
			`${stream.label} ${faults.filter((fault) => fault !== "").join(" and ")}`,
			{ column, extra: { stream: stream.number, columns: [...missing, ...extra] } },
		);
	}
	const changed = first.filter((field, i) => !sameShape(field, later[positionOf[i]!]!));
	if (changed.length > 0) {
		const field = changed[0]!;
		throw mismatch(field, later[positionOf[first.indexOf(field)]!]!, stream, changed);
	}
	return positionOf;
}

/** Column `field` of the first stream has another type in a later one. */
export function mismatch(
	field: Field,
	later: Field,
	stream: LaterStream,
	changed: readonly Field[] = [field],
): IngestError {
	return new IngestError(
		"schema_mismatch",
		`column ${field.name} is ${typeName(field)} in stream 1 and ${typeName(later)} in ${stream.label}`,
		{
			column: field.name,
			arrow_type: typeName(later),
			extra: { stream: stream.number, columns: changed.map(({ name }) => name) },
		},
	);
}

function list(names: string[]): string {
	return names.map((name) => JSON.stringify(name)).join(", ");
}
