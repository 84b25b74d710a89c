/**
 * Slices of an array, as it was sent or in the engine's form; checked before.
 *
 * Values are not copied: buffers become narrower views, children narrower slices.
 * Offsets and run ends are copied and rebased, so that a slice holds on to no more
 * data than it shows. Slices begin at multiples of 8, where bitmaps can be cut at
 * bytes; a child's slice begins at the last such multiple before its elements.
 */

import { readRunEnds } from "../check/check-run-ends.ts";
import { childOfTypeId, typeIdsAt, type Union } from "../check/check-unions.ts";
import type { Codecs } from "../codecs.ts";
import type { ArrayData, Field, IndexType } from "../types.ts";
import { bitmapBytes, countNulls, isValid } from "./bitmap.ts";
import { int32View, int64View } from "./buffer-views.ts";
import { fixedWidth } from "./fixed-width.ts";
import { type OffsetWidth, offsetAt, readOffsets } from "./offsets.ts";

/** Elements `from … from + length`; `from` is a multiple of 8. */
export function sliceArray(
	field: Field,
	array: ArrayData,
	from: number,
	length: number,
	codecs: Codecs,
): ArrayData {
	const { children } = field;
	const fixed = (index: number, width: number) =>
		array.buffers[index]!.subarray(from * width, (from + length) * width);
	const inStep = (factor: number) =>
		children.map((child, i) =>
			sliceArray(child, array.children[i]!, from * factor, length * factor, codecs),
		);
	const sliced = (buffers: (Uint8Array | null)[], parts: ArrayData[] = []): ArrayData => {
		const validity = array.nullCount > 0 ? bits(array.buffers[0]!, from, length) : null;
		const nullCount = validity === null ? 0 : countNulls(validity, length);
		return {
			length,
			nullCount,
			buffers: [nullCount === 0 ? null : validity, ...buffers],
			children: parts,
			dictionary: null,
		};
	};
	if (field.dictionary) {
		const indices = fixed(1, field.dictionary.indexType.bits / 8);
		return { ...sliced([indices]), dictionary: array.dictionary };
	}
	const { type } = field;
	switch (type.kind) {
		case "null":
			return { ...array, length, nullCount: length };
		case "bool":
			return sliced([bits(array.buffers[1]!, from, length)]);
		case "utf8":
		case "binary":
		case "large_utf8":
		case "large_binary": {
			const width = type.kind.startsWith("large_") ? 8 : 4;
			const { bytes, start, end } = sliceOffsets(array.buffers[1]!, width, from, length, 1, codecs);
			return sliced([bytes, array.buffers[2]!.subarray(start, end)]);
		}
		case "utf8_view":
		case "binary_view":
			return sliced([fixed(1, 16), ...array.buffers.slice(2)]);
		case "list":
		case "map":
		case "large_list": {
			const width = type.kind === "large_list" ? 8 : 4;
			const { bytes, start, end } = sliceOffsets(array.buffers[1]!, width, from, length, 8, codecs);
			return sliced(
				[bytes],
				[sliceArray(children[0]!, array.children[0]!, start, end - start, codecs)],
			);
		}
		case "list_view":
		case "large_list_view":
			return sliceListView(field, array, from, length, codecs, sliced);
		case "fixed_size_list":
			return sliced([], inStep(type.size));
		case "struct":
			return sliced([], inStep(1));
		case "union":
			return sliceUnion(field, type, array, from, length, codecs);
		case "run_end_encoded":
			return sliceRuns(field, array, from, length, codecs);
		default:
			return sliced([fixed(1, fixedWidth(type))]);
	}
}

function bits(bitmap: Uint8Array, from: number, length: number): Uint8Array {
	return bitmap.subarray(from >>> 3, (from >>> 3) + bitmapBytes(length));
}

/** Offsets from `start` on, where `start` is the first one or the multiple of `step` before it. */
function sliceOffsets(
	buffer: Uint8Array,
	width: OffsetWidth,
	from: number,
	length: number,
	step: 1 | 8,
	codecs: Codecs,
): { bytes: Uint8Array; start: number; end: number } {
	const window = buffer.subarray(from * width, (from + length + 1) * width);
	const first = offsetAt(window, width, 0);
	const start = first - (first % step);
	const end = offsetAt(window, width, length);
	if (start === 0) return { bytes: window, start, end };
	const bytes = codecs.allocate((length + 1) * width);
	if (width === 4) {
		const source = int32View(window, length + 1);
		const target = int32View(bytes, length + 1);
		for (let i = 0; i <= length; i++) target[i] = source[i]! - start;
	} else {
		const source = readOffsets(window, 8, length + 1);
		const target = int64View(bytes, length + 1);
		for (let i = 0; i <= length; i++) target[i] = BigInt(source[i]! - start);
	}
	return { bytes, start, end };
}

function sliceListView(
	field: Field,
	array: ArrayData,
	from: number,
	length: number,
	codecs: Codecs,
	sliced: (buffers: Uint8Array[], children: ArrayData[]) => ArrayData,
): ArrayData {
	const width = field.type.kind === "list_view" ? 4 : 8;
	const part = (index: number) =>
		array.buffers[index]!.subarray(from * width, (from + length) * width);
	const offsets = readOffsets(part(1), width, length);
	const sizes = readOffsets(part(2), width, length);
	const validity = array.nullCount > 0 ? bits(array.buffers[0]!, from, length) : null;
	let first = array.children[0]!.length;
	let end = 0;
	for (let i = 0; i < length; i++) {
		if (sizes[i] === 0 || !isValid(validity, i)) continue;
		first = Math.min(first, offsets[i]!);
		end = Math.max(end, offsets[i]! + sizes[i]!);
	}
	if (end === 0) first = 0;
	const start = first - (first % 8);
	const rebased = codecs.allocate(length * width);
	const write = width === 4 ? int32View(rebased, length) : int64View(rebased, length);
	for (let i = 0; i < length; i++) {
		const offset = isValid(validity, i) && sizes[i]! > 0 ? offsets[i]! - start : 0;
		write[i] = width === 4 ? offset : BigInt(offset);
	}
	const child = sliceArray(field.children[0]!, array.children[0]!, start, end - start, codecs);
	return sliced([rebased, part(2)], [child]);
}

function sliceUnion(
	field: Field,
	type: Union,
	array: ArrayData,
	from: number,
	length: number,
	codecs: Codecs,
): ArrayData {
	const first = typeIdsAt(array, type);
	const validity = first === 1 ? bits(array.buffers[0]!, from, length) : null;
	const nullCount = validity === null ? 0 : countNulls(validity, length);
	const ids = array.buffers[first]!.subarray(from, from + length);
	const head = validity === null ? [ids] : [validity, ids];
	if (type.mode === "sparse") {
		const children = field.children.map((child, i) =>
			sliceArray(child, array.children[i]!, from, length, codecs),
		);
		return { length, nullCount, buffers: head, children, dictionary: null };
	}
	const childOf = childOfTypeId(type);
	const offsets = int32View(array.buffers[first + 1]!).subarray(from, from + length);
	const starts = field.children.map(() => -1);
	const ends = field.children.map(() => 0);
	// Offsets only go up within a child: its first and last are its extent.
	const memberAt = (i: number) =>
		isValid(validity, i) ? childOf[((ids[i]! << 24) >> 24) + 128]! : -1;
	for (let i = 0; i < length; i++) {
		const member = memberAt(i);
		if (member < 0) continue;
		if (starts[member]! < 0) starts[member] = offsets[i]! - (offsets[i]! % 8);
		ends[member] = offsets[i]! + 1;
	}
	const bytes = codecs.allocate(length * 4);
	const rebased = int32View(bytes, length);
	for (let i = 0; i < length; i++) {
		const member = memberAt(i);
		rebased[i] = member < 0 ? 0 : offsets[i]! - starts[member]!;
	}
	const children = field.children.map((child, i) => {
		const start = Math.max(0, starts[i]!);
		return sliceArray(child, array.children[i]!, start, ends[i]! - start, codecs);
	});
	return { length, nullCount, buffers: [...head, bytes], children, dictionary: null };
}

/** Runs that end before the slice stay, as runs of nothing, where values must begin at a multiple of 8. */
function sliceRuns(
	field: Field,
	array: ArrayData,
	from: number,
	length: number,
	codecs: Codecs,
): ArrayData {
	const endType = field.children[0]!.type as IndexType;
	const ends = readRunEnds(array.children[0]!, endType);
	let low = 0;
	let high = ends.length;
	while (low < high) {
		const middle = (low + high) >>> 1;
		if (ends[middle]! <= from) low = middle + 1;
		else high = middle;
	}
	const start = low - (low % 8);
	let stop = low;
	while (length > 0 && stop < ends.length && ends[stop]! < from + length) stop++;
	const count = length === 0 ? 0 : stop + 1 - start;
	const bytes = codecs.allocate((count * endType.bits) / 8);
	const rebased = {
		buffers: [null, bytes],
		length: count,
		nullCount: 0,
		children: [],
		dictionary: null,
	};
	const write = endType.bits === 64 ? int64View(bytes, count) : readRunEnds(rebased, endType);
	for (let i = 0; i < count; i++) {
		const end = Math.max(0, Math.min(length, ends[start + i]! - from));
		(write as Record<number, number | bigint>)[i] = endType.bits === 64 ? BigInt(end) : end;
	}
	const values = sliceArray(field.children[1]!, array.children[1]!, start, count, codecs);
	return { length, nullCount: 0, buffers: [], children: [rebased, values], dictionary: null };
}
