/**
 * Offsets of strings and lists, 32 or 64 bits, read as numbers.
 *
 * 64-bit offsets are read as two 32-bit words: BigInt64Array costs ten times as
 * much, and no offset over 2^53 passes the check against its data.
 */

import { int32View, uint32View } from "./buffer-views.ts";

export type OffsetWidth = 4 | 8;

/** `count` offsets as numbers: a view of the buffer for 32 bits, a copy for 64. Only after `findBadOffset` found none. */
export function readOffsets(
	buffer: Uint8Array,
	width: OffsetWidth,
	count: number,
): Int32Array | Float64Array {
	if (width === 4) return int32View(buffer, count);
	const words = uint32View(buffer, count * 2);
	const offsets = new Float64Array(count);
	for (let i = 0, w = 0; i < count; i++, w += 2) {
		offsets[i] = words[w]! + words[w + 1]! * 4_294_967_296;
	}
	return offsets;
}

export function offsetAt(buffer: Uint8Array, width: OffsetWidth, index: number): number {
	const words = int32View(buffer);
	if (width === 4) return words[index]!;
	return (words[index * 2]! >>> 0) + words[index * 2 + 1]! * 4_294_967_296;
}

/**
 * The first index i whose offset is negative, below offset i - 1, or over `limit`;
 * -1 when all `count` are right.
 */
export function findBadOffset(
	buffer: Uint8Array,
	width: OffsetWidth,
	count: number,
	limit: number,
): number {
	if (
		width === 4 ? offsets32AreRight(buffer, count, limit) : offsets64AreRight(buffer, count, limit)
	) {
		return -1;
	}
	const words = int32View(buffer);
	const step = width / 4;
	let previous = 0;
	for (let i = 0; i < count; i++) {
		const low = words[i * step]!;
		const offset = width === 4 ? low : (low >>> 0) + words[i * 2 + 1]! * 4_294_967_296;
		if (offset < previous || offset > limit) return i;
		previous = offset;
	}
	return -1;
}

function offsets32AreRight(buffer: Uint8Array, count: number, limit: number): boolean {
	const offsets = int32View(buffer, count);
	let signs = 0;
	let previous = 0;
	// Differences of two non-negative int32 can't wrap, so one sign bit tells all.
	for (let i = 0; i < count; i++) {
		const offset = offsets[i]!;
		signs |= offset | (offset - previous);
		previous = offset;
	}
	return signs >= 0 && previous <= limit;
}

function offsets64AreRight(buffer: Uint8Array, count: number, limit: number): boolean {
	const words = int32View(buffer, count * 2);
	let signs = 0;
	let highs = 0;
	let previous = 0;
	for (let w = 0; w < words.length; w += 2) {
		const low = words[w]!;
		signs |= low | (low - previous);
		highs |= words[w + 1]!;
		previous = low;
	}
	// Below 2^31 the low words are all there is; beyond it the slow loop decides.
	return highs === 0 && signs >= 0 && previous <= limit;
}
