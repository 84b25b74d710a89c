/**
 * In: an array, checked, and positions in it. Out: a new array of those elements
 * in that order; position -1 gives a null. It serves every rewrite that unfolds:
 * dictionaries, runs, list views, dense unions, lists with elements under nulls.
 *
 * Knows the types of the engine's form only (no dictionary, no run ends, no list
 * view, no dense union). Memory comes from `codecs.allocate`, all of it, before it
 * is filled: whoever hands in an allocator with a limit bounds what unfolds.
 */

import { allocateBitmap, isValid, setBit } from "../array/bitmap.ts";
import { int32View } from "../array/buffer-views.ts";
import { fixedWidth } from "../array/fixed-width.ts";
import { type OffsetWidth, readOffsets } from "../array/offsets.ts";
import type { Codecs } from "../codecs.ts";
import type { ArrayData, Field } from "../types.ts";
import { elementPositions, newOffsets } from "./element-offsets.ts";

export function takeRows(
	field: Field,
	array: ArrayData,
	positions: Int32Array,
	codecs: Codecs,
): ArrayData {
	const { type, children } = field;
	const { length } = positions;
	switch (type.kind) {
		case "null":
			return { ...array, length, nullCount: length };
		case "union": {
			const ids = codecs.allocate(length);
			const from = array.buffers[0]!;
			for (let i = 0; i < length; i++) ids[i] = positions[i]! < 0 ? 0 : from[positions[i]!]!;
			const taken = children.map((child, i) =>
				takeRows(child, array.children[i]!, positions, codecs),
			);
			return { length, nullCount: 0, buffers: [ids], children: taken, dictionary: null };
		}
		case "struct": {
			const taken = children.map((child, i) =>
				takeRows(child, array.children[i]!, positions, codecs),
			);
			return { ...takenValidity(array, positions, codecs), children: taken };
		}
		case "bool": {
			const taken = takenValidity(array, positions, codecs);
			const bits = allocateBitmap(length, codecs);
			const from = array.buffers[1]!;
			for (let i = 0; i < length; i++) {
				if (positions[i]! >= 0 && isValid(from, positions[i]!)) setBit(bits, i);
			}
			taken.buffers.push(bits);
			return taken;
		}
		case "utf8":
		case "binary":
			return takeStrings(array, 4, positions, codecs);
		case "large_utf8":
		case "large_binary":
			return takeStrings(array, 8, positions, codecs);
		case "utf8_view":
		case "binary_view": {
			const taken = takenValidity(array, positions, codecs);
			taken.buffers.push(
				takeFixed(array.buffers[1]!, 16, positions, codecs),
				...array.buffers.slice(2),
			);
			return taken;
		}
		case "list":
		case "map":
			return takeLists(children[0]!, array, 4, positions, codecs);
		case "large_list":
			return takeLists(children[0]!, array, 8, positions, codecs);
		case "fixed_size_list": {
			const taken = takenValidity(array, positions, codecs);
			const inner = elementPositions(length * type.size, codecs);
			for (let i = 0, at = 0; i < length; i++) {
				const position = positions[i]!;
				for (let j = 0; j < type.size; j++, at++)
					inner[at] = position < 0 ? -1 : position * type.size + j;
			}
			taken.children.push(takeRows(children[0]!, array.children[0]!, inner, codecs));
			return taken;
		}
		default: {
			const taken = takenValidity(array, positions, codecs);
			taken.buffers.push(takeFixed(array.buffers[1]!, fixedWidth(type), positions, codecs));
			return taken;
		}
	}
}

/** An array of the right length and nulls, and no values yet. */
function takenValidity(array: ArrayData, positions: Int32Array, codecs: Codecs): ArrayData {
	const { length } = positions;
	const from = array.nullCount > 0 ? array.buffers[0]! : null;
	let nulls = 0;
	for (let i = 0; i < length; i++) {
		const position = positions[i]!;
		if (position < 0 || (from !== null && ((from[position >>> 3]! >>> (position & 7)) & 1) === 0))
			nulls++;
	}
	if (nulls === 0) return { length, nullCount: 0, buffers: [null], children: [], dictionary: null };
	const validity = allocateBitmap(length, codecs);
	for (let i = 0; i < length; i++) {
		const position = positions[i]!;
		if (position < 0) continue;
		if (from === null || ((from[position >>> 3]! >>> (position & 7)) & 1) === 1)
			setBit(validity, i);
	}
	return { length, nullCount: nulls, buffers: [validity], children: [], dictionary: null };
}

/** Elements of `width` bytes; nulls become zeros. */
function takeFixed(
	from: Uint8Array,
	width: number,
	positions: Int32Array,
	codecs: Codecs,
): Uint8Array {
	const { length } = positions;
	const to = codecs.allocate(length * width);
	if (from.byteOffset % 8 === 0 && width % 4 === 0 && width <= 16) {
		const source = int32View(from);
		const target = int32View(to);
		const words = width / 4;
		for (let i = 0, t = 0; i < length; i++) {
			const s = positions[i]! * words;
			if (s < 0) for (let w = 0; w < words; w++) target[t++] = 0;
			else for (let w = 0; w < words; w++) target[t++] = source[s + w]!;
		}
		return to;
	}
	for (let i = 0, t = 0; i < length; i++, t += width) {
		const s = positions[i]! * width;
		if (s < 0) to.fill(0, t, t + width);
		else for (let b = 0; b < width; b++) to[t + b] = from[s + b]!;
	}
	return to;
}

function takeStrings(
	array: ArrayData,
	width: OffsetWidth,
	positions: Int32Array,
	codecs: Codecs,
): ArrayData {
	const taken = takenValidity(array, positions, codecs);
	const validity = array.nullCount > 0 ? array.buffers[0]! : null;
	const from = readOffsets(array.buffers[1]!, width, array.length + 1);
	const data = array.buffers[2]!;
	const total = sumOfSizes(from, validity, positions);
	const offsets = newOffsets(positions.length, width, total, codecs);
	const bytes = codecs.allocate(total);
	let end = 0;
	for (let i = 0; i < positions.length; i++) {
		const position = positions[i]!;
		if (position >= 0 && isValid(validity, position)) {
			const start = from[position]!;
			const stop = from[position + 1]!;
			if (stop - start > 64) bytes.set(data.subarray(start, stop), end);
			else for (let b = start, t = end; b < stop; b++, t++) bytes[t] = data[b]!;
			end += stop - start;
		}
		offsets.set(i + 1, end);
	}
	taken.buffers.push(offsets.bytes, bytes);
	return taken;
}

function takeLists(
	child: Field,
	array: ArrayData,
	width: OffsetWidth,
	positions: Int32Array,
	codecs: Codecs,
): ArrayData {
	const taken = takenValidity(array, positions, codecs);
	const validity = array.nullCount > 0 ? array.buffers[0]! : null;
	const from = readOffsets(array.buffers[1]!, width, array.length + 1);
	const total = sumOfSizes(from, validity, positions);
	const inner = elementPositions(total, codecs);
	const offsets = newOffsets(positions.length, width, total, codecs);
	let end = 0;
	for (let i = 0; i < positions.length; i++) {
		const position = positions[i]!;
		if (position >= 0 && isValid(validity, position)) {
			for (let at = from[position]!; at < from[position + 1]!; at++) inner[end++] = at;
		}
		offsets.set(i + 1, end);
	}
	taken.buffers.push(offsets.bytes);
	taken.children.push(takeRows(child, array.children[0]!, inner, codecs));
	return taken;
}

function sumOfSizes(
	offsets: ArrayLike<number>,
	validity: Uint8Array | null,
	positions: Int32Array,
): number {
	let total = 0;
	for (let i = 0; i < positions.length; i++) {
		const position = positions[i]!;
		if (position >= 0 && isValid(validity, position))
			total += offsets[position + 1]! - offsets[position]!;
	}
	return total;
}
