/**
 * Columns that promise no nulls and have some. Writers do that: Arrow's own Swift
 * fixtures are such files, and every reader takes them.
 *
 * In: the field as sent, its converted array, whether rows were given out before.
 * Where the first rows break the promise it is taken back, `field.nullable` becomes
 * true, before a table is made from it; later it is `invalid_arrow` with its row,
 * for the table is NOT NULL by then. Nested fields have no such constraint in DuckDB.
 */

import { IngestError } from "../../errors.ts";
import { isValid } from "../array/bitmap.ts";
import { typeName } from "../type-name.ts";
import type { ArrayData, Field } from "../types.ts";

export function keepNullPromise(
	field: Field,
	engineField: Field,
	array: ArrayData,
	isFirst: boolean,
	reading: { batch: number; firstRow: number },
): void {
	if (field.nullable) return;
	const row = firstNull(engineField, array);
	if (row < 0) return;
	if (isFirst) {
		field.nullable = true;
		return;
	}
	throw new IngestError(
		"invalid_arrow",
		`column ${field.name}: a null in a field that is not nullable`,
		{
			column: field.name,
			batch: reading.batch,
			row: reading.firstRow + row,
			arrow_type: typeName(field),
		},
	);
}

/** For the first batch as it was sent, before it comes in pieces: what its own bitmaps already tell. */
export function takeBackPromises(fields: readonly Field[], columns: readonly ArrayData[]): void {
	fields.forEach((field, i) => {
		if (columns[i]!.nullCount > 0) field.nullable = true;
	});
}

/** The first row that DuckDB will hold NULL for, or -1. Its unions are null where the selected member is. */
function firstNull(field: Field, array: ArrayData): number {
	const { type, children } = field;
	if (type.kind === "null") return array.length > 0 ? 0 : -1;
	if (type.kind !== "union") return array.nullCount === 0 ? -1 : firstZero(array);
	const ids = array.buffers[0]!;
	for (let row = 0; row < array.length; row++) {
		if (isNullAt(children[ids[row]!]!, array.children[ids[row]!]!, row)) return row;
	}
	return -1;
}

function isNullAt(field: Field, array: ArrayData, row: number): boolean {
	if (field.type.kind === "null") return true;
	if (field.type.kind === "union") {
		const member = array.buffers[0]![row]!;
		return isNullAt(field.children[member]!, array.children[member]!, row);
	}
	return array.nullCount > 0 && !isValid(array.buffers[0]!, row);
}

function firstZero(array: ArrayData): number {
	const validity = array.buffers[0]!;
	let row = 0;
	while (row < array.length && isValid(validity, row)) row++;
	return row;
}
