/**
 * Joins arrays of one field, or slices of them, into one array.
 *
 * In: slices in order, each with its own dictionary where the field has one. Out: one
 * array in memory of its own, offset 0, null counts exact; only the data buffers of
 * views and a dictionary that all slices share are kept and not copied.
 * Serves delta dictionaries, whose values nobody has checked yet (so sizes and extents are
 * looked at before they are used), and the merging of small batches.
 *
 * Of no slices at all it makes an empty array.
 *
 * Errors: `invalid_arrow` for buffers that are too short for their array, `too_large`
 * where joined arrays need offsets, indices or run ends that their type cannot hold.
 */

import { IngestError } from "../../errors.ts";
import type { Codecs } from "../codecs.ts";
import type { ArrayData, ArrowType, Field, IndexType } from "../types.ts";
import { isValid } from "./bitmap.ts";
import {
	type ArraySlice,
	concatBits,
	concatBytes,
	concatFixed,
	concatOffsets,
	concatValidity,
	type Extent,
	offsetExtents,
	refuseOver,
	totalLength,
} from "./concat-buffers.ts";
import {
	concatDenseOffsets,
	concatListViews,
	concatViews,
	readIndex,
	writeIndex,
} from "./concat-references.ts";
import { fixedWidth } from "./fixed-width.ts";
import type { OffsetWidth } from "./offsets.ts";

/** All of `arrays`, one after the other. A single array is returned as it is. */
export function concatArrays(
	field: Field,
	arrays: readonly ArrayData[],
	codecs: Codecs,
): ArrayData {
	if (arrays.length === 1) return arrays[0]!;
	return concatSlices(
		field,
		arrays.map((array) => ({ array, from: 0, length: array.length })),
		codecs,
	);
}

/** All of `slices`, one after the other; slices may be empty and of the same array. */
export function concatSlices(
	field: Field,
	slices: readonly ArraySlice[],
	codecs: Codecs,
): ArrayData {
	if (field.dictionary !== null)
		return concatEncoded(field, slices, field.dictionary.indexType, codecs);
	const { type, children } = field;
	const length = totalLength(slices);
	const childOf = (index: number, ranges: readonly Extent[]) =>
		concatSlices(children[index]!, childSlices(slices, index, ranges), codecs);
	const plain = (...buffers: Uint8Array[]) => withValidity(slices, buffers, [], codecs);
	switch (type.kind) {
		case "null":
			return { length, nullCount: length, buffers: [], children: [], dictionary: null };
		case "bool":
			return plain(concatBits(slices, 1, codecs));
		case "utf8":
		case "binary":
		case "large_utf8":
		case "large_binary": {
			const width = offsetWidth(type);
			const extents = offsetExtents(slices, width, (array) => array.buffers[2]?.byteLength ?? 0);
			return plain(
				concatOffsets(slices, extents, width, codecs),
				concatBytes(slices, extents, 2, codecs),
			);
		}
		case "utf8_view":
		case "binary_view":
			return withValidity(slices, concatViews(slices, codecs), [], codecs);
		case "list":
		case "map":
		case "large_list": {
			const width = offsetWidth(type);
			const extents = offsetExtents(slices, width, (array) => array.children[0]!.length);
			const offsets = concatOffsets(slices, extents, width, codecs);
			return withValidity(slices, [offsets], [childOf(0, extents)], codecs);
		}
		case "list_view":
		case "large_list_view": {
			const { buffers, extents } = concatListViews(slices, offsetWidth(type), codecs);
			return withValidity(slices, buffers, [childOf(0, extents)], codecs);
		}
		case "fixed_size_list": {
			const extents = slices.map(({ from, length }) =>
				rangeOf(from * type.size, length * type.size),
			);
			return withValidity(slices, [], [childOf(0, extents)], codecs);
		}
		case "struct": {
			const extents = slices.map(({ from, length }) => rangeOf(from, length));
			const joined = children.map((_, index) => childOf(index, extents));
			return withValidity(slices, [], joined, codecs);
		}
		case "union": {
			const most = type.mode === "dense" ? 2 : 1;
			if (slices.some(({ array }) => array.buffers.length > most)) {
				throw new IngestError(
					"unsupported_type",
					"a delta of a dictionary of unions with nulls of their own, as before Arrow 1.0",
				);
			}
			const typeIds = concatFixed(slices, 0, 1, codecs);
			if (type.mode === "sparse") {
				const extents = slices.map(({ from, length }) => rangeOf(from, length));
				const joined = children.map((_, index) => childOf(index, extents));
				return { length, nullCount: 0, buffers: [typeIds], children: joined, dictionary: null };
			}
			const { offsets, extents } = concatDenseOffsets(slices, type.typeIds, codecs);
			const joined = children.map((_, index) => childOf(index, extents[index]!));
			return {
				length,
				nullCount: 0,
				buffers: [typeIds, offsets],
				children: joined,
				dictionary: null,
			};
		}
		case "run_end_encoded":
			return concatRuns(field, slices, codecs);
		default:
			return plain(concatFixed(slices, 1, fixedWidth(type), codecs));
	}
}

function withValidity(
	slices: readonly ArraySlice[],
	buffers: Uint8Array[],
	children: ArrayData[],
	codecs: Codecs,
): ArrayData {
	const { validity, nullCount } = concatValidity(slices, codecs);
	return {
		length: totalLength(slices),
		nullCount,
		buffers: [validity, ...buffers],
		children,
		dictionary: null,
	};
}

function childSlices(
	slices: readonly ArraySlice[],
	index: number,
	ranges: readonly Extent[],
): ArraySlice[] {
	return slices.map(({ array }, i) => {
		const { first, last } = ranges[i]!;
		const child = array.children[index]!;
		if (last > child.length) {
			throw new IngestError(
				"invalid_arrow",
				`a child of ${child.length} elements where ${last} are needed`,
			);
		}
		return { array: child, from: first, length: last - first };
	});
}

function rangeOf(from: number, length: number): Extent {
	return { first: from, last: from + length };
}

/** Runs that a slice cuts are shortened; runs of equal values that meet stay two. */
function concatRuns(field: Field, slices: readonly ArraySlice[], codecs: Codecs): ArrayData {
	const bits = (field.children[0]!.type as IndexType).bits;
	const ends: number[] = [];
	const valueRanges: Extent[] = [];
	let base = 0;
	for (const slice of slices) {
		const to = slice.from + slice.length;
		const runs = slice.array.children[0]!;
		const buffer = runs.buffers[1] ?? new Uint8Array(0);
		const endAt = (i: number) => readIndex(buffer, bits, true, i);
		const count = Math.min(runs.length, Math.floor((buffer.byteLength * 8) / bits));
		let first = 0;
		while (slice.length > 0 && first < count && endAt(first) <= slice.from) first++;
		let last = first;
		let covered = slice.length === 0 ? to : slice.from;
		while (covered < to && last < count) {
			const end = endAt(last++);
			if (end <= covered) throw new IngestError("invalid_arrow", `run end ${end} after ${covered}`);
			covered = Math.min(end, to);
			ends.push(covered - slice.from + base);
		}
		if (covered < to) {
			throw new IngestError("invalid_arrow", `run ends cover ${covered} elements of ${to}`);
		}
		valueRanges.push({ first, last });
		base += slice.length;
	}
	refuseOver(base, 2 ** (Math.min(bits, 53) - 1) - 1, "run end");
	const target = codecs.allocate((ends.length * bits) / 8);
	ends.forEach((end, i) => {
		writeIndex(target, bits, i, end);
	});
	const runEnds = {
		length: ends.length,
		nullCount: 0,
		buffers: [null, target],
		children: [],
		dictionary: null,
	};
	const values = concatSlices(field.children[1]!, childSlices(slices, 1, valueRanges), codecs);
	return { length: base, nullCount: 0, buffers: [], children: [runEnds, values], dictionary: null };
}

/** Indices stay as they are where all slices share one dictionary; else dictionaries are joined too. */
function concatEncoded(
	field: Field,
	slices: readonly ArraySlice[],
	indexType: IndexType,
	codecs: Codecs,
): ArrayData {
	const { bits, signed } = indexType;
	const indices = concatFixed(slices, 1, bits / 8, codecs);
	const joined = withValidity(slices, [indices], [], codecs);
	const valueField = { ...field, dictionary: null };
	const dictionaries = [...new Set(slices.map(({ array }) => array.dictionary!))];
	if (dictionaries.length === 0)
		return { ...joined, dictionary: concatSlices(valueField, [], codecs) };
	if (dictionaries.length === 1) return { ...joined, dictionary: dictionaries[0]! };
	const baseOf = new Map<ArrayData, number>();
	let total = 0;
	for (const dictionary of dictionaries) {
		baseOf.set(dictionary, total);
		total += dictionary.length;
	}
	refuseOver(total - 1, 2 ** Math.min(signed ? bits - 1 : bits, 53) - 1, "dictionary index");
	const validity = joined.buffers[0] ?? null;
	let at = 0;
	for (const { array, length } of slices) {
		const base = baseOf.get(array.dictionary!)!;
		for (let i = at; base !== 0 && i < at + length; i++) {
			// The index of a null means nothing and might not bear the shift.
			const index = isValid(validity, i) ? readIndex(indices, bits, signed, i) + base : 0;
			writeIndex(indices, bits, i, index);
		}
		at += length;
	}
	return { ...joined, dictionary: concatArrays(valueField, dictionaries, codecs) };
}

function offsetWidth(type: ArrowType): OffsetWidth {
	return type.kind.startsWith("large_") ? 8 : 4;
}
