/**
 * UTF-8 validity, as RFC 3629 has it: no overlong forms, no surrogates, nothing
 * beyond U+10FFFF. Loops are plain so that native code could take their place.
 */

const highBits = 0x80808080 | 0;

/** Index of the first byte at or after `start` that is not ASCII, or up to 31 before it; `end` when there is none. */
export function skipAscii(bytes: Uint8Array, start: number, end: number): number {
	let at = start;
	while (at < end && (bytes.byteOffset + at) % 4 !== 0) {
		if (bytes[at]! >= 0x80) return at;
		at++;
	}
	// Too short to reach a word's border: no words, and no view that could begin there.
	if (at >= end) return end;
	const words = new Int32Array(bytes.buffer, bytes.byteOffset + at, (end - at) >>> 2);
	const blocks = words.length - (words.length % 8);
	let i = 0;
	for (; i < blocks; i += 8) {
		const any =
			words[i]! |
			words[i + 1]! |
			words[i + 2]! |
			words[i + 3]! |
			words[i + 4]! |
			words[i + 5]! |
			words[i + 6]! |
			words[i + 7]!;
		if ((any & highBits) !== 0) return at + i * 4;
	}
	at += i * 4;
	while (at < end && bytes[at]! < 0x80) at++;
	return at;
}

/**
 * Where the first malformed sequence in [start, end) begins, or -1. A sequence
 * that `end` cuts is malformed.
 */
export function findInvalidUtf8(bytes: Uint8Array, start: number, end: number): number {
	const skew = bytes.byteOffset & 3;
	const words = new Int32Array(bytes.buffer, bytes.byteOffset - skew, (bytes.length + skew) >>> 2);
	let at = start;
	while (at < end) {
		const lead = bytes[at]!;
		if (lead < 0x80) {
			at++;
			if (((at + skew) & 3) !== 0) continue;
			let word = (at + skew) >>> 2;
			const last = (end + skew) >>> 2;
			while (word < last && (words[word]! & highBits) === 0) word++;
			at = word * 4 - skew;
			continue;
		}
		if (lead < 0xc2) return at;
		if (lead < 0xe0) {
			if (at + 2 > end || (bytes[at + 1]! & 0xc0) !== 0x80) return at;
			at += 2;
			continue;
		}
		const second = bytes[at + 1]!;
		if (lead < 0xf0) {
			if (at + 3 > end || (second & 0xc0) !== 0x80 || (bytes[at + 2]! & 0xc0) !== 0x80) return at;
			if (lead === 0xe0 && second < 0xa0) return at;
			if (lead === 0xed && second >= 0xa0) return at;
			at += 3;
			continue;
		}
		if (lead > 0xf4 || at + 4 > end || (second & 0xc0) !== 0x80) return at;
		if ((bytes[at + 2]! & 0xc0) !== 0x80 || (bytes[at + 3]! & 0xc0) !== 0x80) return at;
		if (lead === 0xf0 && second < 0x90) return at;
		if (lead === 0xf4 && second >= 0x90) return at;
		at += 4;
	}
	return -1;
}
