/**
 * Joins single buffers of array slices: bitmaps at any bit offset, elements of a
 * fixed width, offsets rebased onto joined data.
 *
 * Slices may come from arrays that nobody has checked yet, so every function looks
 * at the size of a buffer before it reads or allocates: what is too short is
 * `invalid_arrow`. The values themselves are copied as they are.
 */

import { IngestError } from "../../errors.ts";
import type { Codecs } from "../codecs.ts";
import type { ArrayData } from "../types.ts";
import { allocateBitmap, bitmapBytes, countNulls } from "./bitmap.ts";
import { int32View, uint32View } from "./buffer-views.ts";
import type { OffsetWidth } from "./offsets.ts";

/** Elements `from … from + length` of an array. */
export interface ArraySlice {
	array: ArrayData;
	from: number;
	length: number;
}

const maxInt32 = 0x7fff_ffff;
const twoTo32 = 0x1_0000_0000;

export function totalLength(slices: readonly ArraySlice[]): number {
	let total = 0;
	for (const slice of slices) total += slice.length;
	return total;
}

/** Buffer `index` of the slice's array with at least `bytes` bytes. */
export function bufferOf(slice: ArraySlice, index: number, bytes: number): Uint8Array {
	const buffer = slice.array.buffers[index] ?? emptyBytes;
	if (buffer.byteLength >= bytes) return buffer;
	throw new IngestError(
		"invalid_arrow",
		`an array of ${slice.array.length} elements has ${buffer.byteLength} bytes in buffer ${index} where ${bytes} are needed`,
	);
}

/** Joined validity, null where no slice has a bitmap, with the exact number of nulls. */
export function concatValidity(
	slices: readonly ArraySlice[],
	codecs: Codecs,
): { validity: Uint8Array | null; nullCount: number } {
	if (slices.every(({ array }) => (array.buffers[0] ?? null) === null)) {
		return { validity: null, nullCount: 0 };
	}
	const validity = concatBits(slices, 0, codecs);
	const nullCount = countNulls(validity, totalLength(slices));
	return nullCount === 0 ? { validity: null, nullCount } : { validity, nullCount };
}

/** Joined bits of buffer `index`; an absent buffer counts as all ones. */
export function concatBits(
	slices: readonly ArraySlice[],
	index: number,
	codecs: Codecs,
): Uint8Array {
	for (const slice of slices) {
		if (slice.array.buffers[index]) bufferOf(slice, index, bitmapBytes(slice.from + slice.length));
	}
	const target = allocateBitmap(totalLength(slices), codecs);
	let at = 0;
	for (const { array, from, length } of slices) {
		copyBits(target, at, array.buffers[index] ?? null, from, length);
		at += length;
	}
	return target;
}

/** Target bits from `at` on are zero before. */
export function copyBits(
	target: Uint8Array,
	at: number,
	source: Uint8Array | null,
	from: number,
	count: number,
): void {
	let done = 0;
	// Single bits until the target stands at a byte, then whole bytes, then what is left.
	while (done < count && (at + done) % 8 !== 0) done = copyBit(target, at, source, from, done);
	const shift = (from + done) % 8;
	let to = (at + done) / 8;
	let byte = Math.floor((from + done) / 8);
	for (; count - done >= 8; done += 8) {
		if (source === null) target[to++] = 0xff;
		else {
			target[to++] =
				shift === 0
					? source[byte]!
					: (source[byte]! >>> shift) | (source[byte + 1]! << (8 - shift));
			byte++;
		}
	}
	while (done < count) done = copyBit(target, at, source, from, done);
}

function copyBit(
	target: Uint8Array,
	at: number,
	source: Uint8Array | null,
	from: number,
	done: number,
): number {
	const bit = from + done;
	const set = source === null || ((source[Math.floor(bit / 8)]! >>> (bit % 8)) & 1) === 1;
	if (set) target[Math.floor((at + done) / 8)]! |= 1 << ((at + done) % 8);
	return done + 1;
}

/** Joined elements of `width` bytes of buffer `index`. */
export function concatFixed(
	slices: readonly ArraySlice[],
	index: number,
	width: number,
	codecs: Codecs,
): Uint8Array {
	for (const slice of slices) bufferOf(slice, index, (slice.from + slice.length) * width);
	const target = codecs.allocate(totalLength(slices) * width);
	let at = 0;
	for (const slice of slices) {
		const bytes = bufferOf(slice, index, 0).subarray(
			slice.from * width,
			(slice.from + slice.length) * width,
		);
		target.set(bytes, at);
		at += bytes.byteLength;
	}
	return target;
}

/** Where a slice's values begin and end in its data or child. */
export interface Extent {
	first: number;
	last: number;
}

/** First and last offset of each slice, in order and within `limitOf` its array's data. */
export function offsetExtents(
	slices: readonly ArraySlice[],
	width: OffsetWidth,
	limitOf: (array: ArrayData) => number,
): Extent[] {
	return slices.map((slice) => {
		if (slice.length === 0) return { first: 0, last: 0 };
		const offsets = bufferOf(slice, 1, (slice.from + slice.length + 1) * width);
		const first = readInt(offsets, width, slice.from);
		const last = readInt(offsets, width, slice.from + slice.length);
		const limit = limitOf(slice.array);
		if (first < 0 || last < first || last > limit) {
			throw new IngestError(
				"invalid_arrow",
				`offsets ${first} to ${last} do not fit data of length ${limit}`,
			);
		}
		return { first, last };
	});
}

/** Offsets of all slices, rebased so that the data of `extents` lies one after the other from 0. */
export function concatOffsets(
	slices: readonly ArraySlice[],
	extents: readonly Extent[],
	width: OffsetWidth,
	codecs: Codecs,
): Uint8Array {
	const count = totalLength(slices) + 1;
	const target = codecs.allocate(count * width);
	let at = 0;
	let base = 0;
	for (let i = 0; i < slices.length; i++) {
		const slice = slices[i]!;
		const { first, last } = extents[i]!;
		if (slice.length > 0) {
			const offsets = bufferOf(slice, 1, (slice.from + slice.length + 1) * width);
			copyShifted(target, at, offsets, slice.from, slice.length, width, base - first);
		}
		at += slice.length;
		base += last - first;
	}
	refuseOver(base, width === 4 ? maxInt32 : Number.MAX_SAFE_INTEGER, "offset");
	writeInt(target, width, at, base);
	return target;
}

/** Bytes `extents` of buffer `index`, one after the other. */
export function concatBytes(
	slices: readonly ArraySlice[],
	extents: readonly Extent[],
	index: number,
	codecs: Codecs,
): Uint8Array {
	let total = 0;
	for (const { first, last } of extents) total += last - first;
	const target = codecs.allocate(total);
	let at = 0;
	for (let i = 0; i < slices.length; i++) {
		const { first, last } = extents[i]!;
		if (last === first) continue;
		target.set(bufferOf(slices[i]!, index, last).subarray(first, last), at);
		at += last - first;
	}
	return target;
}

/** Copies `count` integers of 4 or 8 bytes and adds `shift` to each. Sums wrap: what was invalid stays so. */
export function copyShifted(
	target: Uint8Array,
	at: number,
	source: Uint8Array,
	from: number,
	count: number,
	width: OffsetWidth,
	shift: number,
): void {
	if (shift === 0) {
		target.set(source.subarray(from * width, (from + count) * width), at * width);
		return;
	}
	if (width === 4) {
		const to = int32View(target);
		const values = int32View(source);
		for (let i = 0; i < count; i++) to[at + i] = values[from + i]! + shift;
		return;
	}
	for (let i = 0; i < count; i++) writeInt(target, 8, at + i, readInt(source, 8, from + i) + shift);
}

/** Signed integer `index` of a buffer of them; of 64 bits as near as a number can be. */
export function readInt(buffer: Uint8Array, width: OffsetWidth, index: number): number {
	const words = int32View(buffer);
	if (width === 4) return words[index]!;
	return (words[index * 2]! >>> 0) + words[index * 2 + 1]! * twoTo32;
}

export function writeInt(
	buffer: Uint8Array,
	width: OffsetWidth,
	index: number,
	value: number,
): void {
	const words = uint32View(buffer);
	if (width === 4) {
		words[index] = value;
		return;
	}
	words[index * 2] = value % twoTo32;
	words[index * 2 + 1] = Math.floor(value / twoTo32);
}

/** Joined arrays may need larger numbers than their type has. */
export function refuseOver(value: number, max: number, what: string): void {
	if (value <= max) return;
	throw new IngestError("too_large", `joined arrays need ${what} ${value}, the type holds ${max}`);
}

const emptyBytes = new Uint8Array(0);
