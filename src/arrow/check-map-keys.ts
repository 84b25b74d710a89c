/** Maps: no null key, and no key twice in one map; DuckDB would refuse either without naming the row. */

import { isValid } from "./bitmap.ts";
import { validityOf } from "./check-lists.ts";
import { type Place, refuseValue } from "./check-place.ts";
import { readOffsets } from "./offsets.ts";
import type { ArrayData, Field } from "./types.ts";
import { type ValueKey, valueKey } from "./value-key.ts";

type SameKey = (keys: ArrayData) => (a: number, b: number) => boolean;

/** Maps of at most this many entries compare each key with each, without making text of them. */
const pairwiseEntries = 8;

/** Makes the check of one map type. The array's layout and entries have been checked. */
export function mapKeysCheck(field: Field): (array: ArrayData, place: Place) => void {
	const keyField = field.children[0]!.children[0]!;
	const keyOf = valueKey(keyField);
	const same = sameKey(keyField, keyOf);
	return (array, place) => {
		if (array.length === 0) return;
		const offsets = readOffsets(array.buffers[1]!, 4, array.length + 1);
		const validity = validityOf(array);
		const entries = array.children[0]!;
		const entryValidity = validityOf(entries);
		const keys = entries.children[0]!;
		const keyValidity = validityOf(keys);
		const allNull = keyField.type.kind === "null";
		const hasNulls = allNull || entryValidity !== null || keyValidity !== null;
		const equal = same(keys);
		for (let i = 0; i < array.length; i++) {
			const start = offsets[i]!;
			const end = offsets[i + 1]!;
			if (end === start || !isValid(validity, i)) continue;
			for (let k = start; hasNulls && k < end; k++) {
				if (!allNull && isValid(entryValidity, k) && isValid(keyValidity, k)) continue;
				refuseValue(place, i, "invalid_arrow", `the key of entry ${k - start} is null`);
			}
			const twice =
				end - start <= pairwiseEntries
					? firstPair(start, end, equal)
					: firstRepeat(keys, start, end, keyOf);
			if (twice < 0) continue;
			refuseValue(
				place,
				i,
				"invalid_arrow",
				`the key of entry ${twice - start} is there before it`,
			);
		}
	};
}

function firstPair(start: number, end: number, equal: (a: number, b: number) => boolean): number {
	for (let b = start + 1; b < end; b++) {
		for (let a = start; a < b; a++) if (equal(a, b)) return b;
	}
	return -1;
}

function firstRepeat(keys: ArrayData, start: number, end: number, keyOf: ValueKey): number {
	const seen = new Set<string>();
	for (let k = start; k < end; k++) {
		const key = keyOf(keys, k);
		if (seen.has(key)) return k;
		seen.add(key);
	}
	return -1;
}

/** Strings, the usual keys, compare byte by byte; all others as text. */
function sameKey(field: Field, keyOf: ValueKey): SameKey {
	const { kind } = field.type;
	if (field.dictionary || (kind !== "utf8" && kind !== "binary")) {
		return (keys) => (a, b) => keyOf(keys, a) === keyOf(keys, b);
	}
	return (keys) => {
		const offsets = readOffsets(keys.buffers[1]!, 4, keys.length + 1);
		const data = keys.buffers[2]!;
		return (a, b) => {
			const size = offsets[a + 1]! - offsets[a]!;
			if (size !== offsets[b + 1]! - offsets[b]!) return false;
			for (let i = 0, x = offsets[a]!, y = offsets[b]!; i < size; i++) {
				if (data[x + i] !== data[y + i]) return false;
			}
			return true;
		};
	};
}
