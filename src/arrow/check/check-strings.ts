/**
 * Strings and binaries: offsets that only go up and stay inside the data, and
 * UTF-8 that is whole at every value's own borders.
 *
 * Offsets are checked under nulls too: the engine reads only those of valid
 * values, but the spec wants all in order. Bytes under nulls may be anything.
 */

import { isValid } from "../array/bitmap.ts";
import { needBuffer, needShape } from "../array/buffer-views.ts";
import { findBadOffset, type OffsetWidth, offsetAt, readOffsets } from "../array/offsets.ts";
import type { Codecs } from "../codecs.ts";
import type { ArrayData } from "../types.ts";
import { type Place, refuseElement, refuseValue } from "./check-place.ts";
import { findInvalidUtf8, skipAscii } from "./utf8.ts";

export function checkStrings(
	array: ArrayData,
	width: OffsetWidth,
	text: boolean,
	place: Place,
	codecs: Codecs,
): void {
	needShape(array, 3, 0, place);
	const offsets = needOffsets(array, width, array.buffers[2]?.length ?? 0, "data", place, codecs);
	const data = needBuffer(array, 2, 0, 1, "data", place, codecs);
	if (text && array.length > 0) checkText(array, offsets, width, data, place);
}

/**
 * The offsets buffer of `array`, every offset between the one before and `limit`.
 * An array without elements has none to say: its one offset, which may be missing, becomes a zero. pyarrow
 * writes slices of no rows with the offset that they began at, and nothing that it points into.
 */
export function needOffsets(
	array: ArrayData,
	width: OffsetWidth,
	limit: number,
	what: string,
	place: Place,
	codecs: Codecs,
): Uint8Array {
	if (array.length === 0) array.buffers[1] = new Uint8Array(8);
	const count = array.length + 1;
	const offsets = needBuffer(array, 1, count * width, width, "offsets", place, codecs);
	const bad = findBadOffset(offsets, width, count, limit);
	if (bad < 0) return offsets;
	const offset = offsetAt(offsets, width, bad);
	const previous = bad === 0 ? 0 : offsetAt(offsets, width, bad - 1);
	return refuseElement(
		place,
		Math.max(0, bad - 1),
		"invalid_arrow",
		offset < previous
			? `offset ${bad} is ${offset}, below ${previous}, the one before`
			: `offset ${bad} is ${offset}, beyond the ${limit} of its ${what}`,
	);
}

function checkText(
	array: ArrayData,
	offsetBytes: Uint8Array,
	width: OffsetWidth,
	data: Uint8Array,
	place: Place,
): void {
	const { length } = array;
	const start = offsetAt(offsetBytes, width, 0);
	const end = offsetAt(offsetBytes, width, length);
	const ascii = skipAscii(data, start, end);
	if (ascii >= end) return;

	// All of it at once, and then only that no value begins in the middle of a character.
	const offsets = readOffsets(offsetBytes, width, length + 1);
	if (findInvalidUtf8(data, ascii, end) < 0) {
		let torn = 0;
		for (let i = 1; i < length; i++) torn |= continuation(data, offsets[i]!);
		if (torn === 0) return;
	}

	// Something is wrong somewhere; it only counts inside a value that rows show.
	const validity = array.nullCount > 0 ? array.buffers[0]! : null;
	for (let i = 0; i < length; i++) {
		const from = offsets[i]!;
		const to = offsets[i + 1]!;
		if (to <= ascii || from === to) continue;
		const bad = findInvalidUtf8(data, from, to);
		if (bad < 0 || !isValid(validity, i)) continue;
		refuseValue(
			place,
			i,
			"invalid_arrow",
			`not UTF-8: byte 0x${data[bad]!.toString(16).padStart(2, "0")} at ${bad - from} of a value of ${to - from} bytes`,
		);
	}
}

/** 1 when the byte at `at` continues a character that began before it. */
function continuation(data: Uint8Array, at: number): number {
	return (data[at]! & 0xc0) === 0x80 ? 1 : 0;
}
