/**
 * utf8_view and binary_view: per value 16 bytes, int32 length, then the value
 * itself up to 12 bytes with zeros behind, or its first 4 bytes, int32 data
 * buffer and int32 offset.
 *
 * Of nulls nothing is read, by the engine or here. Views may overlap, so a small
 * batch can unfold to any size: their sum is held to the limit of a batch.
 * Spec: https://arrow.apache.org/docs/format/Columnar.html#variable-size-binary-view-layout
 */

import { int32View, needBuffer, needShape } from "../array/buffer-views.ts";
import type { Codecs } from "../codecs.ts";
import type { ArrayData } from "../types.ts";
import { type Place, refuseElement, refuseValue } from "./check-place.ts";
import { findInvalidUtf8, skipAscii } from "./utf8.ts";

const highBits = 0x80808080 | 0;

export function checkViews(
	array: ArrayData,
	text: boolean,
	maxBytes: number,
	place: Place,
	codecs: Codecs,
): void {
	needShape(array, 2, 0, place, true);
	const { length } = array;
	const bytes = needBuffer(array, 1, length * 16, 8, "views", place, codecs);
	const views = int32View(bytes, length * 4);
	const data = array.buffers
		.slice(2)
		.map((_, i) => needBuffer(array, i + 2, 0, 1, "data", place, codecs));
	const words = data.map(wordsOf);
	const sizes = Int32Array.from(data, (buffer) => Math.min(buffer.length, 0x7fffffff));
	const validity = array.nullCount > 0 ? array.buffers[0]! : null;
	// Data that is ASCII from end to end needs no look at its values.
	const plain = data.map((buffer) => !text || skipAscii(buffer, 0, buffer.length) >= buffer.length);

	let total = 0;
	for (let i = 0, w = 0; i < length; i++, w += 4) {
		if (validity !== null && ((validity[i >>> 3]! >>> (i & 7)) & 1) === 0) continue;
		const size = views[w]!;
		if (size >= 0 && size <= 12) {
			const a = views[w + 1]!;
			const b = views[w + 2]!;
			const c = views[w + 3]!;
			if (
				(a & padding[size]!) !== 0 ||
				(b & padding[size + 13]!) !== 0 ||
				(c & padding[size + 26]!) !== 0
			) {
				refuseElement(
					place,
					i,
					"invalid_arrow",
					`a view of ${size} bytes is not padded with zeros`,
				);
			}
			if (text && ((a | b | c) & highBits) !== 0) checkText(bytes, i * 16 + 4, size, i, place);
			continue;
		}
		if (size < 0) refuseElement(place, i, "invalid_arrow", `a view has the length ${size}`);
		const index = views[w + 2]!;
		const offset = views[w + 3]!;
		if (index < 0 || index >= data.length) {
			refuseElement(
				place,
				i,
				"invalid_arrow",
				`a view points into data buffer ${index} of ${data.length}`,
			);
		}
		if (offset < 0 || offset > sizes[index]! - size) {
			refuseElement(
				place,
				i,
				"invalid_arrow",
				`a view points at ${size} bytes from ${offset} of a data buffer of ${sizes[index]} bytes`,
			);
		}
		total += size;
		if (total > maxBytes) {
			refuseElement(place, i, "too_large", `the views add up to more than ${maxBytes} bytes`);
		}
		const buffer = data[index]!;
		const prefix =
			(offset & 3) === 0 && words[index] !== null
				? words[index]![offset >>> 2]!
				: buffer[offset]! |
					(buffer[offset + 1]! << 8) |
					(buffer[offset + 2]! << 16) |
					(buffer[offset + 3]! << 24);
		if (prefix !== views[w + 1]!) {
			refuseElement(place, i, "invalid_arrow", "the prefix in a view is not how its value begins");
		}
		if (!plain[index]) checkText(buffer, offset, size, i, place);
	}
}

function checkText(
	bytes: Uint8Array,
	start: number,
	size: number,
	index: number,
	place: Place,
): void {
	const bad = findInvalidUtf8(bytes, start, start + size);
	if (bad < 0) return;
	refuseValue(
		place,
		index,
		"invalid_arrow",
		`not UTF-8: byte 0x${bytes[bad]!.toString(16).padStart(2, "0")} at ${bad - start} of a value of ${size} bytes`,
	);
}

function wordsOf(buffer: Uint8Array): Int32Array | null {
	return buffer.byteOffset % 4 === 0 ? int32View(buffer) : null;
}

/** Which bits of the three words behind the length must be zero: at [size], [size + 13], [size + 26]. */
const padding = Int32Array.from({ length: 39 }, (_, i) => {
	const size = i % 13;
	const used = Math.min(4, Math.max(0, size - 4 * Math.floor(i / 13)));
	return used === 4 ? 0 : -1 << (used * 8);
});
