/** Bitmaps as Arrow has them: bit i of byte i >> 3, least significant first, 1 is valid. */

import type { Codecs } from "../codecs.ts";

/** Bytes that hold `length` bits. `length` may be over 2^31. */
export function bitmapBytes(length: number): number {
	return Math.ceil(length / 8);
}

export function isValid(bitmap: Uint8Array | null, index: number): boolean {
	return bitmap === null || ((bitmap[index >>> 3]! >>> (index & 7)) & 1) === 1;
}

/** Zero bits among the first `length`: the exact null count. */
export function countNulls(bitmap: Uint8Array, length: number): number {
	const whole = Math.floor(length / 8);
	let ones = 0;
	let at = 0;
	if (bitmap.byteOffset % 4 === 0) {
		const words = new Int32Array(bitmap.buffer, bitmap.byteOffset, whole >>> 2);
		for (let i = 0; i < words.length; i++) ones += popcount32(words[i]!);
		at = words.length * 4;
	}
	for (; at < whole; at++) ones += popcount32(bitmap[at]!);
	const rest = length % 8;
	if (rest > 0) ones += popcount32(bitmap[whole]! & ((1 << rest) - 1));
	return length - ones;
}

function popcount32(word: number): number {
	let bits = word - ((word >>> 1) & 0x55555555);
	bits = (bits & 0x33333333) + ((bits >>> 2) & 0x33333333);
	bits = (bits + (bits >>> 4)) & 0x0f0f0f0f;
	return Math.imul(bits, 0x01010101) >>> 24;
}

/** A new bitmap of the rows that both hold valid; null stands for all valid. */
export function andBitmaps(
	a: Uint8Array | null,
	b: Uint8Array | null,
	length: number,
	codecs: Codecs,
): Uint8Array | null {
	if (a === null) return b;
	if (b === null) return a;
	const both = allocateBitmap(length, codecs);
	const bytes = bitmapBytes(length);
	for (let i = 0; i < bytes; i++) both[i] = a[i]! & b[i]!;
	return both;
}

/** Zeroed. The engine reads one byte beyond a bitmap that doesn't start at a multiple of 8. */
export function allocateBitmap(length: number, codecs: Codecs): Uint8Array {
	return codecs.allocate(bitmapBytes(length) + 1).fill(0);
}

export function setBit(bitmap: Uint8Array, index: number): void {
	bitmap[index >>> 3]! |= 1 << (index & 7);
}
