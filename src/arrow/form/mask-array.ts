/** Nulls of a parent made nulls of its child, so that the engine reads nothing where no row shows anything. */

import { andBitmaps, countNulls } from "../array/bitmap.ts";
import type { Codecs } from "../codecs.ts";
import type { ArrayData, ArrowType } from "../types.ts";

/**
 * The array with a null wherever `mask` has a zero bit; the same array for no mask.
 * Types without validity of their own are returned as they are: who converts
 * their children hands the mask on.
 */
export function maskArray(
	array: ArrayData,
	type: ArrowType,
	mask: Uint8Array | null,
	codecs: Codecs,
): ArrayData {
	if (mask === null || type.kind === "null" || type.kind === "union") return array;
	if (type.kind === "run_end_encoded") return array;
	const own = array.nullCount > 0 ? array.buffers[0]! : null;
	const validity = andBitmaps(own, mask, array.length, codecs)!;
	const nullCount = countNulls(validity, array.length);
	return { ...array, nullCount, buffers: [validity, ...array.buffers.slice(1)] };
}

/** The validity that children inherit; null where all are valid. */
export function validityMask(array: ArrayData): Uint8Array | null {
	return array.nullCount > 0 ? (array.buffers[0] ?? null) : null;
}
