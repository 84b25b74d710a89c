/**
 * Maps: no null key, and no key twice in one map; DuckDB would refuse either without naming the row.
 *
 * Few entries are compared each with each, many through a table of hashes, where
 * keys that all hash alike (which a client can make) fall back to sets of text.
 */

import { isValid } from "../array/bitmap.ts";
import { readOffsets } from "../array/offsets.ts";
import type { ArrayData, Field } from "../types.ts";
import { validityOf } from "./check-lists.ts";
import { type Place, refuseValue } from "./check-place.ts";
import { type KeyReader, keyReader } from "./key-reader.ts";
import { type ValueKey, valueKey } from "./value-key.ts";

/** Maps of at most this many entries compare each key with each. */
const pairwiseEntries = 8;
/** Steps in the table of hashes before it is given up. */
const maxProbes = 64;

/** Makes the check of one map type. The array's layout and entries have been checked. */
export function mapKeysCheck(field: Field): (array: ArrayData, place: Place) => void {
	const keyField = field.children[0]!.children[0]!;
	const allNull = keyField.type.kind === "null";
	const textOf = valueKey(keyField);
	const readerOf = keyReader(keyField);
	return (array, place) => {
		if (array.length === 0) return;
		const offsets = readOffsets(array.buffers[1]!, 4, array.length + 1);
		const validity = validityOf(array);
		const entries = array.children[0]!;
		const entryValidity = validityOf(entries);
		const keys = entries.children[0]!;
		const keyValidity = validityOf(keys);
		const hasNulls = allNull || entryValidity !== null || keyValidity !== null;
		const reader = readerOf?.(keys) ?? null;
		for (let i = 0; i < array.length; i++) {
			const start = offsets[i]!;
			const end = offsets[i + 1]!;
			if (end === start || !isValid(validity, i)) continue;
			for (let k = start; hasNulls && k < end; k++) {
				if (!allNull && isValid(entryValidity, k) && isValid(keyValidity, k)) continue;
				refuseValue(place, i, "invalid_arrow", `the key of entry ${k - start} is null`);
			}
			if (end - start === 1) continue;
			const twice =
				reader === null
					? firstRepeat(keys, start, end, textOf)
					: end - start <= pairwiseEntries
						? firstPair(start, end, reader)
						: firstHashed(keys, start, end, reader, textOf);
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

function firstPair(start: number, end: number, { equal }: KeyReader): number {
	for (let b = start + 1; b < end; b++) {
		for (let a = start; a < b; a++) if (equal(a, b)) return b;
	}
	return -1;
}

/** Open addressing; a slot holds a key's position + 1. */
function firstHashed(
	keys: ArrayData,
	start: number,
	end: number,
	{ equal, hash }: KeyReader,
	textOf: ValueKey,
): number {
	const mask = 2 ** Math.ceil(Math.log2((end - start) * 2)) - 1;
	const slots = new Int32Array(mask + 1);
	for (let k = start; k < end; k++) {
		let slot = hash(k) & mask;
		let probes = 0;
		while (slots[slot] !== 0) {
			if (equal(slots[slot]! - 1, k)) return k;
			if (++probes > maxProbes) return firstRepeat(keys, start, end, textOf);
			slot = (slot + 1) & mask;
		}
		slots[slot] = k + 1;
	}
	return -1;
}

function firstRepeat(keys: ArrayData, start: number, end: number, textOf: ValueKey): number {
	const seen = new Set<string>();
	for (let k = start; k < end; k++) {
		const key = textOf(keys, k);
		if (seen.has(key)) return k;
		seen.add(key);
	}
	return -1;
}
