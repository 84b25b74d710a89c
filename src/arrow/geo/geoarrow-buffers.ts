/** Buffers of a geometry's arrays as numbers. All arrays have been checked before: sizes, alignment, offsets. */

import { isValid } from "../array/bitmap.ts";
import { int32View } from "../array/buffer-views.ts";
import { readOffsets } from "../array/offsets.ts";
import type { ArrayData, ArrowType } from "../types.ts";

export type Offsets = Int32Array | Float64Array;

/** `length + 1` offsets of a list, binary or text array. */
export function offsetsOf(array: ArrayData, kind: ArrowType["kind"]): Offsets {
	const bytes = array.buffers[1];
	// The specification lets an array of length 0 have an empty offsets buffer.
	if (!bytes || array.length === 0) return new Int32Array(1);
	return readOffsets(bytes, kind.startsWith("large_") ? 8 : 4, array.length + 1);
}

export function int32sOf(bytes: Uint8Array | null | undefined, length: number): Int32Array {
	return bytes ? int32View(bytes, length) : new Int32Array(length);
}

/** Values of a float array as doubles: a view of float64, a copy of the narrower ones. */
export function doublesOf(array: ArrayData, bits: 16 | 32 | 64): Float64Array {
	const bytes = array.buffers[1];
	if (!bytes) return new Float64Array(array.length);
	const { buffer, byteOffset } = bytes;
	if (bits === 64) return new Float64Array(buffer, byteOffset, array.length);
	if (bits === 32) return Float64Array.from(new Float32Array(buffer, byteOffset, array.length));
	return Float64Array.from(new Uint16Array(buffer, byteOffset, array.length), halfToDouble);
}

/** A test for null by position; null where no row of the array is. */
export function nullTest(array: ArrayData): ((i: number) => boolean) | null {
	const bitmap = array.buffers[0];
	if (array.nullCount === 0 || !bitmap) return null;
	return (i) => !isValid(bitmap, i);
}

function halfToDouble(half: number): number {
	const sign = half & 0x8000 ? -1 : 1;
	const exponent = (half >> 10) & 0x1f;
	const fraction = half & 0x3ff;
	if (exponent === 0) return sign * fraction * 2 ** -24;
	if (exponent === 0x1f) return fraction === 0 ? sign * Infinity : Number.NaN;
	return sign * (1 + fraction / 1024) * 2 ** (exponent - 15);
}
