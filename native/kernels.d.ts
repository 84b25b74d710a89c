/**
 * Checks of raw Arrow buffers: each looks for the first value that is wrong and gives back its index, or -1.
 *
 * They run on the calling thread, keep nothing, and need no DuckDB. Values may lie at any alignment. A call
 * whose lengths don't fit its arrays throws RangeError, one with other arguments TypeError. A validity bitmap
 * excuses the values that it marks as null. Cost: about 0.3 µs a call and what README's table says a value.
 */

/**
 * Where the first malformed sequence of [start, end) begins, or -1. RFC 3629: no overlong forms, no surrogates,
 * nothing beyond U+10FFFF; a sequence that `end` cuts is malformed.
 */
export declare function findInvalidUtf8(bytes: Uint8Array, start: number, end: number): number;

/** The first of `count` offsets (4 or 8 bytes) that is negative, below the one before, or over `limit`. */
export declare function findBadOffset(
	offsets: Uint8Array,
	width: 4 | 8,
	count: number,
	limit: number,
): number;

/** The first of `length` texts that isn't UTF-8 by itself; -2 where the offsets are wrong (see findBadOffset). */
export declare function findBadText(
	offsets: Uint8Array,
	width: 4 | 8,
	length: number,
	data: Uint8Array,
	validity: Uint8Array | null,
): number;

/** The first signed integer (1, 2, 4 or 8 bytes) from index `from` on outside [min, max]. */
export declare function findOutside(
	values: Uint8Array,
	width: 1 | 2 | 4 | 8,
	length: number,
	from: number,
	min: bigint,
	max: bigint,
	validity: Uint8Array | null,
): number;

/** The first decimal (4, 8, 16 or 32 bytes) from index `from` on with more than `precision` digits. */
export declare function findLongDecimal(
	values: Uint8Array,
	width: 4 | 8 | 16 | 32,
	length: number,
	from: number,
	precision: number,
	validity: Uint8Array | null,
): number;
