/**
 * One notation for values of every reader, so that cells compare as JSON text.
 *
 * null, true and false as they are; everything else a string with its kind before
 * a colon, or an array for what has parts. Times and timestamps are nanoseconds,
 * dates days, intervals months, days and nanoseconds, decimals without trailing
 * zeros, binaries hexadecimal. Struct members and union values carry their names.
 */

export type Canonical = null | boolean | string | Canonical[] | { [name: string]: Canonical };

export const integer = (value: bigint | number | string): Canonical => `i:${BigInt(value)}`;

/**
 * NaN and infinities are told apart, 0 and -0 are not: they are equal to DuckDB,
 * whose compression of constant segments keeps the first of the two.
 */
export const float = (value: number): Canonical => `f:${value}`;

export const text = (value: string): Canonical => `s:${value}`;

export const binary = (bytes: Uint8Array): Canonical => `x:${Buffer.from(bytes).toString("hex")}`;

export function decimal(unscaled: bigint, scale: number): Canonical {
	let value = unscaled;
	let places = scale;
	while (value !== 0n && value % 10n === 0n) {
		value /= 10n;
		places--;
	}
	return value === 0n ? "d:0" : `d:${value}e${-places}`;
}

export const days = (value: bigint | number): Canonical => `date:${value}`;
export const timeNs = (nanoseconds: bigint): Canonical => `time:${nanoseconds}`;
export const timestampNs = (nanoseconds: bigint): Canonical => `ts:${nanoseconds}`;
export const interval = (months: number, dayCount: number, nanoseconds: bigint): Canonical =>
	`iv:${months}m${dayCount}d${nanoseconds}ns`;

/** Entries in order; a key may be anything. */
export const map = (entries: [Canonical, Canonical][]): Canonical => ["map", ...entries];

export const nanosecondsPer = {
	s: 1_000_000_000n,
	ms: 1_000_000n,
	us: 1_000n,
	ns: 1n,
} as const;

/** Where two columns differ first, or null. */
export function firstDifference(
	expected: Canonical[],
	actual: Canonical[],
): { row: number; expected: string; actual: string } | null {
	const rows = Math.max(expected.length, actual.length);
	for (let row = 0; row < rows; row++) {
		const [a, b] = [JSON.stringify(expected[row]), JSON.stringify(actual[row])];
		if (a !== b)
			return { row, expected: String(a).slice(0, 1500), actual: String(b).slice(0, 1500) };
	}
	return null;
}

/** Towards minus infinity: milliseconds before 1970 belong to the day they lie in. */
export function floorDivide(a: bigint, b: bigint): bigint {
	const quotient = a / b;
	return a % b !== 0n && a < 0n ? quotient - 1n : quotient;
}
