/**
 * Decimals of 32 to 256 bits: |value| < 10^precision. The engine trusts that and
 * stores what it finds, so that a value beyond lands as another one.
 */

import type { ErrorCode } from "../../errors.ts";
import { isValid } from "../array/bitmap.ts";
import { int32View, needBuffer, needShape } from "../array/buffer-views.ts";
import type { Codecs } from "../codecs.ts";
import { type Decimal, maxDecimalDigits, sentDigits } from "../form/engine-decimal.ts";
import type { ArrayData } from "../types.ts";
import { type Place, refuseValue } from "./check-place.ts";

/** Values cleared at once; a block with one out of line is looked at value by value. */
const blockLength = 2048;

/** DuckDB's own export writes a HUGEINT as such a decimal, unless it is told not to. */
const hugeintAdvice =
	"if it is a HUGEINT of DuckDB's, export it with SET arrow_lossless_conversion = true";

/** Makes the check of one decimal type. */
export function decimalCheck(
	type: Decimal,
	codecs: Codecs,
): (array: ArrayData, place: Place) => void {
	const bytes = type.bits / 8;
	const declared = decimalsOver(type.bits, type.precision);
	const digits = sentDigits(type);
	const held = digits < type.precision ? decimalsOver(type.bits, digits) : null;
	return (array, place) => {
		needShape(array, 2, 0, place);
		const size = array.length * bytes;
		const buffer = needBuffer(array, 1, size, Math.min(8, bytes), "values", place, codecs);
		const words = int32View(buffer, size >>> 2);
		const validity = array.nullCount > 0 ? array.buffers[0]! : null;
		const refuseAll = (find: typeof declared, code: ErrorCode, reason: string) => {
			for (let i = find(words, array.length, 0); i >= 0; i = find(words, array.length, i + 1)) {
				if (!isValid(validity, i)) continue;
				refuseValue(place, i, code, `${decimalAt(words, bytes >>> 2, i)} (unscaled) ${reason}`);
			}
		};
		// Wider than any DECIMAL of DuckDB's: what doesn't fit is unsupported, whatever was declared.
		const code = type.bits === 256 ? "unsupported_type" : "invalid_arrow";
		const whole = type.bits === 128 && type.precision === maxDecimalDigits && type.scale === 0;
		const reason = `has more than the ${type.precision} digits of its type`;
		refuseAll(declared, code, whole ? `${reason}; ${hugeintAdvice}` : reason);
		if (held) refuseAll(held, "unsupported_type", "does not fit the 38 digits of DuckDB's DECIMAL");
	};
}

/**
 * Finds the first value at or after `from` that has more digits than `precision`,
 * or -1. `words` are the values' 32-bit words, least significant first.
 */
export function decimalsOver(
	bits: number,
	precision: number,
): (words: Int32Array, length: number, from: number) => number {
	const perValue = bits / 32;
	const limit = 10n ** BigInt(precision);
	// The highest word w with 10^precision >= 2^(32w): words above it only repeat its
	// sign, and in [-bound, bound) it proves the value right whatever lies below.
	let top = perValue - 1;
	while (top > 0 && limit >> BigInt(32 * top) === 0n) top--;
	const quotient = limit >> BigInt(32 * top);
	const bound = quotient > 0x80000000n ? 0x80000000 : Number(quotient);
	const clear =
		perValue === 4 && top === 1 && bound < 0x40000000
			? clear128by64
			: (words: Int32Array, start: number, end: number) =>
					clearGeneric(words, start, end, perValue, top, bound);
	return (words, length, from) => {
		let end = from;
		for (let start = from; start < length; start = end) {
			end = Math.min(length, start - (start % blockLength) + blockLength);
			// Within a block where something was found already, look at each value.
			if (start % blockLength === 0 && clear(words, start, end, bound)) continue;
			for (let i = start; i < end; i++) {
				if (clearGeneric(words, i, i + 1, perValue, top, bound)) continue;
				const value = decimalAt(words, perValue, i);
				if (value >= limit || value <= -limit) return i;
			}
		}
		return -1;
	};
}

/** decimal128 of 10 to 18 digits: one pass, no branch. */
function clear128by64(words: Int32Array, start: number, end: number, bound: number): boolean {
	const below = bound - 1;
	let wrong = 0;
	for (let w = start * 4 + 1, stop = end * 4; w < stop; w += 4) {
		const word = words[w]!;
		const sign = word >> 31;
		wrong |=
			(words[w + 1]! ^ sign) | (words[w + 2]! ^ sign) | (((word + bound) | (below - word)) >> 31);
	}
	return wrong === 0;
}

function clearGeneric(
	words: Int32Array,
	start: number,
	end: number,
	perValue: number,
	top: number,
	bound: number,
): boolean {
	for (let i = start; i < end; i++) {
		const at = i * perValue + top;
		const word = words[at]!;
		if (word >= bound || word < -bound) return false;
		// Where the bound lies in the lowest word, -bound itself is one too many.
		if (top === 0 && word === -bound) return false;
		const sign = word >> 31;
		for (let w = at + 1; w < (i + 1) * perValue; w++) if (words[w] !== sign) return false;
	}
	return true;
}

/** The unscaled value at `index`. */
export function decimalAt(words: Int32Array, perValue: number, index: number): bigint {
	const at = index * perValue;
	let value = BigInt(words[at + perValue - 1]!);
	for (let w = perValue - 2; w >= 0; w--) value = (value << 32n) | BigInt(words[at + w]! >>> 0);
	return value;
}
