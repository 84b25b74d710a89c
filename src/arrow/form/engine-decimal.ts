/** Which of DuckDB's DECIMALs holds an Arrow decimal, and which values then fit. */

import type { ArrowType } from "../types.ts";

export type Decimal = Extract<ArrowType, { kind: "decimal" }>;

/** Digits of DuckDB's widest DECIMAL. */
export const maxDecimalDigits = 38;

/**
 * Which DECIMAL holds values of `type`: zeros of a negative scale are written out,
 * a scale beyond the precision widens it. Null: there is none.
 */
export function engineDecimal(type: Decimal): { precision: number; scale: number } | null {
	const scale = Math.max(0, type.scale);
	if (scale > maxDecimalDigits) return null;
	const digits = type.precision + Math.max(0, -type.scale);
	return { precision: Math.min(maxDecimalDigits, Math.max(digits, scale)), scale };
}

/** Digits that values of `type` may have as they are sent, so that the engine's DECIMAL holds them. */
export function sentDigits(type: Decimal): number {
	return Math.max(0, Math.min(type.precision, maxDecimalDigits + Math.min(0, type.scale)));
}
