/**
 * Run-end encoding: run ends without nulls, above zero, strictly increasing, the
 * last at or beyond the length; as many values as run ends. A few bytes can stand
 * for any number of rows: whoever unfolds them holds the result to a limit.
 *
 * Spec: https://arrow.apache.org/docs/format/Columnar.html#run-end-encoded-layout
 */

import { needBuffer, needShape } from "../array/buffer-views.ts";
import type { Codecs } from "../codecs.ts";
import type { ArrayData, IndexType } from "../types.ts";
import type { RowOf } from "./check-lists.ts";
import { hiddenRow, type Place, refuseArray } from "./check-place.ts";

export function checkRunEnds(
	array: ArrayData,
	endType: IndexType,
	place: Place,
	codecs: Codecs,
): RowOf {
	needShape(array, 0, 2, place);
	const [runs, values] = array.children as [ArrayData, ArrayData];
	if (runs.nullCount !== 0) refuseArray(place, "invalid_arrow", "its run ends have nulls");
	needShape(runs, 2, 0, place);
	runs.buffers[0] = null;
	if (values.length < runs.length) {
		refuseArray(place, "invalid_arrow", `${values.length} values for ${runs.length} runs`);
	}
	values.length = runs.length;
	needBuffer(
		runs,
		1,
		runs.length * (endType.bits / 8),
		endType.bits / 8,
		"run ends",
		place,
		codecs,
	);
	const ends = readRunEnds(runs, endType);
	let previous = 0;
	for (let i = 0; i < ends.length; i++) {
		const end = ends[i]!;
		if (!(end > previous)) {
			refuseArray(
				place,
				"invalid_arrow",
				`run end ${i} is ${end}, not above ${previous}, the one before`,
			);
		}
		previous = end;
	}
	if (previous < array.length) {
		refuseArray(
			place,
			"invalid_arrow",
			`the last run ends at ${previous}, before the length ${array.length}`,
		);
	}
	return (index) => {
		const stop = Math.min(ends[index]!, array.length);
		for (let row = index === 0 ? 0 : ends[index - 1]!; row < stop; row++) {
			const shown = place.rowOf(row);
			if (shown !== hiddenRow) return shown;
		}
		return hiddenRow;
	};
}

/** Run ends as numbers; those beyond 2^53 lose digits, but not their order. */
export function readRunEnds(runs: ArrayData, type: IndexType): ArrayLike<number> {
	const bytes = runs.buffers[1]!;
	const { length } = runs;
	if (type.bits === 16) return new Int16Array(bytes.buffer, bytes.byteOffset, length);
	if (type.bits === 32) return new Int32Array(bytes.buffer, bytes.byteOffset, length);
	const words = new Int32Array(bytes.buffer, bytes.byteOffset, length * 2);
	return Float64Array.from(
		{ length },
		(_, i) => (words[i * 2]! >>> 0) + words[i * 2 + 1]! * 4_294_967_296,
	);
}
