/**
 * Unions: type ids that the schema names, and for dense ones offsets inside the
 * child and, as the spec wants, in order. Unions of metadata V4 have a validity
 * bitmap before the type ids; where it says null, neither is read.
 *
 * Spec: https://arrow.apache.org/docs/format/Columnar.html#union-layout
 */

import { isValid } from "../array/bitmap.ts";
import { int32View, needBuffer, needShape } from "../array/buffer-views.ts";
import type { Codecs } from "../codecs.ts";
import type { ArrayData, ArrowType } from "../types.ts";
import type { RowOf } from "./check-lists.ts";
import { hiddenRow, type Place, refuseArray, refuseElement } from "./check-place.ts";

export type Union = Extract<ArrowType, { kind: "union" }>;

/** Index of the buffer of type ids: 1 where metadata V4 put a validity bitmap before it. */
export function typeIdsAt(array: ArrayData, type: Union): 0 | 1 {
	return array.buffers.length > (type.mode === "dense" ? 2 : 1) ? 1 : 0;
}

/** Child position by type id + 128, -1 where there is none. */
export function childOfTypeId(type: Union): Int16Array {
	const children = new Int16Array(256).fill(-1);
	type.typeIds.forEach((id, child) => {
		children[id + 128] = child;
	});
	return children;
}

/** Checks the union itself; returns `rowOf` for each child. */
export function checkUnion(array: ArrayData, type: Union, place: Place, codecs: Codecs): RowOf[] {
	const first = typeIdsAt(array, type);
	needShape(array, first + (type.mode === "dense" ? 2 : 1), type.typeIds.length, place);
	const { length } = array;
	const idBytes = needBuffer(array, first, length, 1, "type ids", place, codecs);
	const ids = new Int8Array(idBytes.buffer, idBytes.byteOffset, length);
	const childOf = childOfTypeId(type);
	const validity = first === 1 && array.nullCount > 0 ? array.buffers[0]! : null;
	for (let i = 0; i < length; i++) {
		if (childOf[ids[i]! + 128]! < 0 && isValid(validity, i)) {
			refuseElement(
				place,
				i,
				"invalid_arrow",
				`the type id ${ids[i]} is not among ${type.typeIds.join(", ")}`,
			);
		}
	}
	if (type.mode === "sparse") {
		for (const child of array.children) {
			if (child.length < length) {
				refuseArray(
					place,
					"invalid_arrow",
					`a child of ${child.length} values where the union has ${length}`,
				);
			}
			child.length = length;
		}
		return type.typeIds.map(
			(id) => (index) =>
				ids[index] === id && isValid(validity, index) ? place.rowOf(index) : hiddenRow,
		);
	}

	const offsets = int32View(
		needBuffer(array, first + 1, length * 4, 4, "offsets", place, codecs),
		length,
	);
	const previous = new Int32Array(array.children.length);
	for (let i = 0; i < length; i++) {
		const child = childOf[ids[i]! + 128]!;
		if (child < 0 || !isValid(validity, i)) continue;
		const offset = offsets[i]!;
		const size = array.children[child]!.length;
		if (offset < previous[child]! || offset >= size) {
			refuseElement(
				place,
				i,
				"invalid_arrow",
				offset < 0 || offset >= size
					? `offset ${offset} of a dense union is not within the ${size} values of child ${child}`
					: `offset ${offset} of a dense union is below ${previous[child]}, the one before in child ${child}`,
			);
		}
		previous[child] = offset;
	}
	return array.children.map((child, position) => {
		let rows: Int32Array | null = null;
		return (index) => {
			rows ??= elementRows(child.length, (into) => {
				for (let i = length - 1; i >= 0; i--) {
					if (childOf[ids[i]! + 128] === position && isValid(validity, i)) into[offsets[i]!] = i;
				}
			});
			return rows[index] === hiddenRow ? hiddenRow : place.rowOf(rows[index]!);
		};
	});
}

function elementRows(length: number, fill: (rows: Int32Array) => void): Int32Array {
	const rows = new Int32Array(length).fill(hiddenRow);
	fill(rows);
	return rows;
}
