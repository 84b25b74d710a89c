/** Dictionary indices: within the dictionary wherever they are valid. Under nulls anything may stand. */

import { isValid } from "../array/bitmap.ts";
import { int64View, needBuffer, needShape } from "../array/buffer-views.ts";
import type { Codecs } from "../codecs.ts";
import type { ArrayData, IndexType } from "../types.ts";
import { validityOf } from "./check-lists.ts";
import { type Place, refuseArray, refuseElement } from "./check-place.ts";

export type Indices = Int8Array | Int16Array | Int32Array | Uint8Array | Uint16Array | Uint32Array;

export function checkIndices(
	array: ArrayData,
	type: IndexType,
	place: Place,
	codecs: Codecs,
): void {
	needShape(array, 2, 0, place);
	const width = type.bits / 8;
	const buffer = needBuffer(array, 1, array.length * width, width, "indices", place, codecs);
	const validity = validityOf(array);
	if (array.dictionary === null) {
		if (array.nullCount < array.length)
			refuseArray(place, "invalid_arrow", "its dictionary was never sent");
		return;
	}
	const size = array.dictionary.length;
	const indices =
		type.bits === 64 ? indices64(buffer, array.length) : indexView(buffer, type, array.length);
	let wrong = 0;
	for (let i = 0; i < indices.length; i++) {
		const index = indices[i]!;
		wrong |= index < 0 || index >= size ? 1 : 0;
	}
	if (wrong === 0) return;
	for (let i = 0; i < indices.length; i++) {
		const index = indices[i]!;
		if ((index >= 0 && index < size) || !isValid(validity, i)) continue;
		const shown = type.bits === 64 ? int64View(buffer)[i] : index;
		refuseElement(
			place,
			i,
			"invalid_arrow",
			`dictionary index ${shown} is not within the ${size} values`,
		);
	}
}

export function indexView(buffer: Uint8Array, type: IndexType, length: number): Indices {
	const { buffer: memory, byteOffset } = buffer;
	if (type.bits === 8) {
		return type.signed ? new Int8Array(memory, byteOffset, length) : buffer.subarray(0, length);
	}
	if (type.bits === 16) {
		return type.signed
			? new Int16Array(memory, byteOffset, length)
			: new Uint16Array(memory, byteOffset, length);
	}
	return type.signed
		? new Int32Array(memory, byteOffset, length)
		: new Uint32Array(memory, byteOffset, length);
}

/** 64-bit indices as 32-bit ones: -1 for each that is beyond 2^31, as no dictionary is. */
export function indices64(buffer: Uint8Array, length: number): Int32Array {
	const words = new Int32Array(buffer.buffer, buffer.byteOffset, length * 2);
	const indices = new Int32Array(length);
	for (let i = 0; i < length; i++) indices[i] = words[i * 2 + 1] === 0 ? words[i * 2]! : -1;
	return indices;
}
