/**
 * Slices of an array in the engine's form, mostly without a copy: narrower views
 * of the same buffers, and child slices where children run in step.
 *
 * Slices begin at multiples of 8 rows, so that bitmaps can be cut at bytes;
 * children of fixed-size lists then begin at such multiples too. Offsets keep
 * their values, and the child or data they point into stays whole.
 */

import { bitmapBytes, countNulls } from "./bitmap.ts";
import { fixedWidth } from "./fixed-width.ts";
import type { ArrayData, Field } from "./types.ts";

/** Elements `from … from + length`; `from` is a multiple of 8. */
export function sliceArray(
	field: Field,
	array: ArrayData,
	from: number,
	length: number,
): ArrayData {
	const { type, children } = field;
	const bytes = (index: number, width: number, count = length) =>
		array.buffers[index]!.subarray(from * width, (from + count) * width);
	const inStep = (factor: number) =>
		children.map((child, i) =>
			sliceArray(child, array.children[i]!, from * factor, length * factor),
		);
	const sliced = (buffers: Uint8Array[], parts: ArrayData[] = []): ArrayData => {
		const validity = array.nullCount > 0 ? bits(array.buffers[0]!, from, length) : null;
		const nullCount = validity === null ? 0 : countNulls(validity, length);
		return {
			length,
			nullCount,
			buffers: [nullCount === 0 ? null : validity, ...buffers],
			children: parts,
			dictionary: null,
		};
	};
	switch (type.kind) {
		case "null":
			return { ...array, length, nullCount: length };
		case "bool":
			return sliced([bits(array.buffers[1]!, from, length)]);
		case "utf8":
		case "binary":
			return sliced([bytes(1, 4, length + 1), array.buffers[2]!]);
		case "large_utf8":
		case "large_binary":
			return sliced([bytes(1, 8, length + 1), array.buffers[2]!]);
		case "utf8_view":
		case "binary_view":
			return sliced([bytes(1, 16), ...(array.buffers.slice(2) as Uint8Array[])]);
		case "list":
		case "map":
			return sliced([bytes(1, 4, length + 1)], array.children);
		case "large_list":
			return sliced([bytes(1, 8, length + 1)], array.children);
		case "fixed_size_list":
			return sliced([], inStep(type.size));
		case "struct":
			return sliced([], inStep(1));
		case "union":
			return {
				length,
				nullCount: 0,
				buffers: [bytes(0, 1)],
				children: inStep(1),
				dictionary: null,
			};
		default:
			return sliced([bytes(1, fixedWidth(type))]);
	}
}

function bits(bitmap: Uint8Array, from: number, length: number): Uint8Array {
	return bitmap.subarray(from >>> 3, (from >>> 3) + bitmapBytes(length));
}
