/**
 * Checks that bytes are one JSON text: in, a value that is UTF-8 already; out, -1,
 * or the position of the first byte that is wrong.
 *
 * RFC 8259 and nothing more: DuckDB also reads NaN, Infinity and trailing commas,
 * which other readers of the table would not. Surrogates must come in pairs, as
 * DuckDB's reader demands. Nesting costs one bit of a stack of its own, so no depth
 * harms; nothing is decoded and nothing allocated.
 */

const quote = 0x22;
const backslash = 0x5c;
const comma = 0x2c;
const colon = 0x3a;
const openArray = 0x5b;
const closeArray = 0x5d;
const openObject = 0x7b;
const closeObject = 0x7d;
const minus = 0x2d;
const plus = 0x2b;
const point = 0x2e;
const zero = 0x30;
const letterU = 0x75;
const letterE = 0x65;

/** What a backslash may stand before, `u` aside: " \ / b f n r t. */
const escapes = new Uint8Array(128);
for (const letter of '"\\/bfnrt') escapes[letter.charCodeAt(0)] = 1;

const words = ["true", "false", "null"].map((word) => new TextEncoder().encode(word));

export interface JsonChecker {
	/** `[start, end)` of `bytes` is one value; -1 when it is right. */
	findFault(bytes: Uint8Array, start: number, end: number): number;
}

export function createJsonChecker(): JsonChecker {
	/** Per open level: 1 an object, 0 an array. */
	let levels = new Uint8Array(64);

	const findFault = (bytes: Uint8Array, start: number, end: number): number => {
		let depth = 0;
		let at = skipSpace(bytes, start, end);
		for (;;) {
			// A value is due at `at`; or a key, or the end of what was just opened.
			if (at >= end) return end;
			const byte = bytes[at]!;
			if (byte === openObject || byte === openArray) {
				const isObject = byte === openObject;
				if (depth === levels.length) levels = grown(levels);
				levels[depth++] = isObject ? 1 : 0;
				at = skipSpace(bytes, at + 1, end);
				if (bytes[at] === (isObject ? closeObject : closeArray) && at < end) {
					depth--;
					at++;
				} else if (isObject) {
					at = skipKey(bytes, at, end);
					if (at < 0) return -at - 1;
					continue;
				} else {
					continue;
				}
			} else {
				at = skipScalar(bytes, at, end);
				if (at < 0) return -at - 1;
			}
			// A value is complete: close levels, or go on to the next value.
			for (;;) {
				at = skipSpace(bytes, at, end);
				if (depth === 0) return at === end ? -1 : at;
				if (at >= end) return end;
				const isObject = levels[depth - 1] === 1;
				if (bytes[at] === (isObject ? closeObject : closeArray)) {
					depth--;
					at++;
					continue;
				}
				if (bytes[at] !== comma) return at;
				at = skipSpace(bytes, at + 1, end);
				if (isObject) {
					at = skipKey(bytes, at, end);
					if (at < 0) return -at - 1;
				}
				break;
			}
		}
	};
	return { findFault };
}

/* The skip functions return the next position, or -1 - the position of a fault. */

function skipSpace(bytes: Uint8Array, at: number, end: number): number {
	while (at < end) {
		const byte = bytes[at]!;
		if (byte !== 0x20 && byte !== 0x0a && byte !== 0x0d && byte !== 0x09) break;
		at++;
	}
	return at;
}

/** A string, a colon, and the space around it. */
function skipKey(bytes: Uint8Array, at: number, end: number): number {
	if (at >= end || bytes[at] !== quote) return -1 - at;
	at = skipString(bytes, at, end);
	if (at < 0) return at;
	at = skipSpace(bytes, at, end);
	if (at >= end || bytes[at] !== colon) return -1 - at;
	return skipSpace(bytes, at + 1, end);
}

function skipScalar(bytes: Uint8Array, at: number, end: number): number {
	const byte = bytes[at]!;
	if (byte === quote) return skipString(bytes, at, end);
	if (byte === minus || (byte >= zero && byte <= 0x39)) return skipNumber(bytes, at, end);
	for (const word of words) {
		if (word[0] !== byte) continue;
		for (let i = 1; i < word.length; i++) {
			if (at + i >= end || bytes[at + i] !== word[i]) return -1 - (at + i);
		}
		return at + word.length;
	}
	return -1 - at;
}

function skipString(bytes: Uint8Array, at: number, end: number): number {
	at++;
	while (at < end) {
		const byte = bytes[at]!;
		if (byte === quote) return at + 1;
		if (byte < 0x20) return -1 - at;
		if (byte !== backslash) {
			at++;
			continue;
		}
		const letter = at + 1 < end ? bytes[at + 1]! : 0;
		if (letter === letterU) {
			const unit = hex4(bytes, at + 2, end);
			if (unit < 0 || (unit >= 0xdc00 && unit <= 0xdfff)) return -1 - at;
			at += 6;
			if (unit < 0xd800 || unit > 0xdbff) continue;
			const isEscape = at + 1 < end && bytes[at] === backslash && bytes[at + 1] === letterU;
			const low = isEscape ? hex4(bytes, at + 2, end) : -1;
			if (low < 0xdc00 || low > 0xdfff) return -1 - at;
			at += 6;
		} else {
			if (letter > 127 || escapes[letter] === 0) return -1 - at;
			at += 2;
		}
	}
	return -1 - end;
}

/** Four hexadecimal digits as a number; -1 where they are not. */
function hex4(bytes: Uint8Array, at: number, end: number): number {
	if (at + 4 > end) return -1;
	let value = 0;
	for (let i = at; i < at + 4; i++) {
		const byte = bytes[i]!;
		const letter = byte | 0x20;
		if (byte >= zero && byte <= 0x39) value = value * 16 + byte - zero;
		else if (letter >= 0x61 && letter <= 0x66) value = value * 16 + letter - 0x57;
		else return -1;
	}
	return value;
}

function skipNumber(bytes: Uint8Array, at: number, end: number): number {
	if (bytes[at] === minus) at++;
	const first = at;
	at = skipDigits(bytes, at, end);
	if (at === first || (bytes[first] === zero && at > first + 1)) return -1 - first;
	if (at < end && bytes[at] === point) {
		const fraction = at + 1;
		at = skipDigits(bytes, fraction, end);
		if (at === fraction) return -1 - at;
	}
	if (at < end && (bytes[at]! | 0x20) === letterE) {
		at++;
		if (at < end && (bytes[at] === plus || bytes[at] === minus)) at++;
		const exponent = at;
		at = skipDigits(bytes, exponent, end);
		if (at === exponent) return -1 - at;
	}
	return at;
}

function skipDigits(bytes: Uint8Array, at: number, end: number): number {
	while (at < end && bytes[at]! >= zero && bytes[at]! <= 0x39) at++;
	return at;
}

function grown(levels: Uint8Array): Uint8Array<ArrayBuffer> {
	const larger = new Uint8Array(levels.length * 2);
	larger.set(levels);
	return larger;
}
