/**
 * Typed views of an array's buffers, once their size is known to be enough.
 *
 * `needBuffer` also mends shapes in place, so that all later code can rely on
 * them: an absent buffer of nothing becomes an empty one, a buffer that isn't
 * aligned to its elements a copy that is.
 */

import { type Place, refuseArray } from "../check/check-place.ts";
import type { Codecs } from "../codecs.ts";
import type { ArrayData } from "../types.ts";

/** Not of length 0 underneath, so that native code sees an address. */
const nothing = new Uint8Array(16);

/**
 * Buffer `index` of the array with at least `bytes` bytes, aligned to `alignment`
 * (at most 8), or refused as `invalid_arrow`. `what` is for the message.
 */
export function needBuffer(
	array: ArrayData,
	index: number,
	bytes: number,
	alignment: number,
	what: string,
	place: Place,
	codecs: Codecs,
): Uint8Array {
	const buffer = array.buffers[index] ?? null;
	const size = buffer === null ? 0 : buffer.length;
	if (size < bytes) {
		refuseArray(
			place,
			"invalid_arrow",
			`the ${what} buffer has ${size} bytes, ${array.length} values need ${bytes}`,
		);
	}
	if (buffer === null || size === 0) {
		const empty = nothing.subarray(0, 0);
		array.buffers[index] = empty;
		return empty;
	}
	if (buffer.byteOffset % alignment === 0) return buffer;
	const aligned = codecs.allocate(size);
	aligned.set(buffer);
	array.buffers[index] = aligned;
	return aligned;
}

/** The array has exactly `count` buffers, its variadic ones aside. */
export function needShape(
	array: ArrayData,
	buffers: number,
	children: number,
	place: Place,
	variadic = false,
): void {
	const has = array.buffers.length;
	if (has !== buffers && !(variadic && has > buffers)) {
		refuseArray(place, "invalid_arrow", `${has} buffers where the type has ${buffers}`);
	}
	if (array.children.length !== children) {
		refuseArray(
			place,
			"invalid_arrow",
			`${array.children.length} children where the type has ${children}`,
		);
	}
}

export function int32View(bytes: Uint8Array, count = bytes.length >>> 2): Int32Array {
	return new Int32Array(bytes.buffer, bytes.byteOffset, count);
}

export function uint32View(bytes: Uint8Array, count = bytes.length >>> 2): Uint32Array {
	return new Uint32Array(bytes.buffer, bytes.byteOffset, count);
}

export function int64View(bytes: Uint8Array, count = bytes.length >>> 3): BigInt64Array {
	return new BigInt64Array(bytes.buffer, bytes.byteOffset, count);
}
