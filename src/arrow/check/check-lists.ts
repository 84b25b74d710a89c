/** Lists of every layout and maps: where their elements lie, and whose row shows an element. */

import { isValid } from "../array/bitmap.ts";
import { int32View, needBuffer, needShape } from "../array/buffer-views.ts";
import { type OffsetWidth, readOffsets } from "../array/offsets.ts";
import type { Codecs } from "../codecs.ts";
import type { ArrayData } from "../types.ts";
import { hiddenRow, type Place, refuseArray, refuseElement } from "./check-place.ts";
import { needOffsets } from "./check-strings.ts";

/** `rowOf` of the elements. */
export type RowOf = (index: number) => number;

/** list, large_list and map: offsets in order and within the child. */
export function checkOffsetLists(
	array: ArrayData,
	width: OffsetWidth,
	place: Place,
	codecs: Codecs,
): RowOf {
	needShape(array, 2, 1, place);
	const child = array.children[0]!;
	const bytes = needOffsets(array, width, child.length, "elements", place, codecs);
	const validity = validityOf(array);
	let offsets: ArrayLike<number> | null = null;
	return (index) => {
		offsets ??= readOffsets(bytes, width, array.length + 1);
		// The last list that begins at or before the element; empty lists begin where the next does.
		let low = 0;
		let high = array.length;
		while (low < high) {
			const middle = (low + high) >>> 1;
			if (offsets[middle + 1]! <= index) low = middle + 1;
			else high = middle;
		}
		if (low >= array.length || offsets[low]! > index) return hiddenRow;
		return isValid(validity, low) ? place.rowOf(low) : hiddenRow;
	};
}

/** list_view and large_list_view: of valid lists, offset and size within the child; any order, any overlap. */
export function checkViewLists(
	array: ArrayData,
	width: OffsetWidth,
	maxElements: number,
	place: Place,
	codecs: Codecs,
): RowOf {
	needShape(array, 3, 1, place);
	const { length } = array;
	const limit = array.children[0]!.length;
	const offsetBytes = needBuffer(array, 1, length * width, width, "offsets", place, codecs);
	const sizeBytes = needBuffer(array, 2, length * width, width, "sizes", place, codecs);
	const offsets = signedOffsets(offsetBytes, width, length);
	const sizes = signedOffsets(sizeBytes, width, length);
	const validity = validityOf(array);
	let total = 0;
	for (let i = 0; i < length; i++) {
		const offset = offsets[i]!;
		const size = sizes[i]!;
		if (!isValid(validity, i)) continue;
		if (offset >= 0 && size >= 0 && offset <= limit - size) {
			total += size;
			continue;
		}
		refuseElement(
			place,
			i,
			"invalid_arrow",
			`${size} elements from ${offset} are not within the ${limit} there are`,
		);
	}
	if (total > maxElements) {
		refuseArray(
			place,
			"too_large",
			`its lists unfold to ${total} elements, more than ${maxElements}`,
		);
	}
	let shown: Uint8Array | null = null;
	return (index) => {
		shown ??= covered(offsets, sizes, validity, limit, place);
		if (shown[index] !== 1) return hiddenRow;
		for (let i = 0; i < length; i++) {
			if (!isValid(validity, i) || offsets[i]! > index || index >= offsets[i]! + sizes[i]!)
				continue;
			const row = place.rowOf(i);
			if (row !== hiddenRow) return row;
		}
		return hiddenRow;
	};
}

/** 1 for each element that a shown list holds. */
function covered(
	offsets: ArrayLike<number>,
	sizes: ArrayLike<number>,
	validity: Uint8Array | null,
	limit: number,
	place: Place,
): Uint8Array {
	const steps = new Int32Array(limit + 1);
	for (let i = 0; i < offsets.length; i++) {
		if (!isValid(validity, i) || place.rowOf(i) === hiddenRow) continue;
		steps[offsets[i]!]! += 1;
		steps[offsets[i]! + sizes[i]!]! -= 1;
	}
	const shown = new Uint8Array(limit);
	let depth = 0;
	for (let i = 0; i < limit; i++) {
		depth += steps[i]!;
		shown[i] = depth > 0 ? 1 : 0;
	}
	return shown;
}

/** fixed_size_list: the child has `size` elements a list; more are cut off. */
export function checkFixedSizeLists(array: ArrayData, size: number, place: Place): RowOf {
	needShape(array, 1, 1, place);
	const child = array.children[0]!;
	const need = array.length * size;
	if (child.length < need) {
		refuseArray(
			place,
			"invalid_arrow",
			`${child.length} elements where ${array.length} lists of ${size} need ${need}`,
		);
	}
	child.length = need;
	const validity = validityOf(array);
	return (index) => {
		const list = Math.floor(index / size);
		return isValid(validity, list) ? place.rowOf(list) : hiddenRow;
	};
}

export function validityOf(array: ArrayData): Uint8Array | null {
	return array.nullCount > 0 ? (array.buffers[0] ?? null) : null;
}

function signedOffsets(
	bytes: Uint8Array,
	width: OffsetWidth,
	count: number,
): Int32Array | Float64Array {
	if (width === 4) return readOffsets(bytes, 4, count);
	const words = int32View(bytes, count * 2);
	const values = new Float64Array(count);
	for (let i = 0; i < count; i++) {
		values[i] = (words[i * 2]! >>> 0) + words[i * 2 + 1]! * 4_294_967_296;
	}
	return values;
}
