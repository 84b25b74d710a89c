/** Where a check stands while it walks one column of one batch, and how it refuses what it finds there. */

import { type ErrorCode, IngestError } from "../../errors.ts";

/** `rowOf` of an element that no row shows: it lies under a null parent or outside every list. */
export const hiddenRow = -1;
/** `rowOf` of an element that rows show, where it can't be told which, such as a dictionary's value. */
export const unknownRow = -2;

export interface Place {
	/** Column path: `a`, `point.x`, `tags[]`. */
	readonly column: string;
	/** Of the array checked here, for messages. */
	readonly arrowType: string;
	/** The batch as sent. */
	readonly batch: number;
	/** The row of the batch that shows element `index` of this array, or `hiddenRow`, or `unknownRow`. */
	rowOf(index: number): number;
}

/** Throws for a fault of the whole array: sizes, shapes. */
export function refuseArray(place: Place, code: ErrorCode, detail: string): never {
	throw new IngestError(code, `column ${place.column}: ${detail}`, {
		column: place.column,
		batch: place.batch,
		arrow_type: place.arrowType,
	});
}

/**
 * Throws for a fault of element `index`, unless no row shows it. For checks of
 * values; what memory follows (offsets, indices, views) is refused hidden or not,
 * with `refuseElement`.
 */
export function refuseValue(place: Place, index: number, code: ErrorCode, detail: string): void {
	if (place.rowOf(index) !== hiddenRow) refuseElement(place, index, code, detail);
}

/** Throws for a fault of element `index`. */
export function refuseElement(place: Place, index: number, code: ErrorCode, detail: string): never {
	const row = place.rowOf(index);
	throw new IngestError(code, `column ${place.column}: ${detail}`, {
		column: place.column,
		batch: place.batch,
		...(row >= 0 ? { row } : {}),
		arrow_type: place.arrowType,
	});
}
