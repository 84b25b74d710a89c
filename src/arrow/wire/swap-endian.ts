/**
 * Big-endian bodies, as their schema declares them, turned into little-endian ones.
 *
 * In: the type and array of one node, its buffers still as they were sent. Out:
 * the same array with new buffers; those sent may overlap, so they are left alone.
 * Bitmaps, bytes and text have no byte order. Only whole elements are swapped;
 * what is left over is no element and stays as it is.
 */

import type { Codecs } from "../codecs.ts";
import type { ArrayData, ArrowType } from "../types.ts";

const viewBytes = 16;
/** Longer values than this lie in a data buffer, and the view says where. */
const maxInlineBytes = 12;

export function swapToLittleEndian(type: ArrowType, array: ArrayData, codecs: Codecs): void {
	const { buffers } = array;
	for (const [index, swapBuffer] of swapsOf(type)) {
		const buffer = buffers[index];
		if (buffer) buffers[index] = swapBuffer(buffer, codecs);
	}
}

type SwapBuffer = (source: Uint8Array, codecs: Codecs) => Uint8Array;

const by4: SwapBuffer = (source, codecs) => swapElements(source, 4, codecs);
const by8: SwapBuffer = (source, codecs) => swapElements(source, 8, codecs);

/** Which buffers have a byte order, by their index, and how it is turned. */
function swapsOf(type: ArrowType): [number, SwapBuffer][] {
	switch (type.kind) {
		case "int":
		case "float":
		case "decimal":
		case "time": {
			const { bits } = type;
			return bits === 8 ? [] : [[1, (source, codecs) => swapElements(source, bits / 8, codecs)]];
		}
		case "date":
			return [[1, type.unit === "day" ? by4 : by8]];
		case "timestamp":
		case "duration":
			return [[1, by8]];
		case "interval":
			return [[1, type.unit === "month_day_nano" ? swapMonthDayNano : by4]];
		case "utf8":
		case "binary":
		case "list":
		case "map":
			return [[1, by4]];
		case "large_utf8":
		case "large_binary":
		case "large_list":
			return [[1, by8]];
		case "list_view":
			return [
				[1, by4],
				[2, by4],
			];
		case "large_list_view":
			return [
				[1, by8],
				[2, by8],
			];
		case "utf8_view":
		case "binary_view":
			return [[1, swapViews]];
		case "union":
			return type.mode === "dense" ? [[1, by4]] : [];
		default:
			return [];
	}
}

/** Every element of `width` bytes reversed. */
function swapElements(source: Uint8Array, width: number, codecs: Codecs): Uint8Array {
	const target = copyOf(source, codecs);
	const end = source.byteLength - (source.byteLength % width);
	for (let at = 0; at < end; at += width) {
		for (let i = 0; i < width; i++) target[at + i] = source[at + width - 1 - i]!;
	}
	return target;
}

/** int32 months, int32 days, int64 nanoseconds. */
function swapMonthDayNano(source: Uint8Array, codecs: Codecs): Uint8Array {
	const target = copyOf(source, codecs);
	for (let at = 0; at + 16 <= source.byteLength; at += 16) {
		reverse(target, at, 4);
		reverse(target, at + 4, 4);
		reverse(target, at + 8, 8);
	}
	return target;
}

/** int32 length, then the bytes themselves, or 4 bytes of prefix, int32 buffer and int32 offset. */
function swapViews(source: Uint8Array, codecs: Codecs): Uint8Array {
	const target = copyOf(source, codecs);
	const view = new DataView(target.buffer, target.byteOffset, target.byteLength);
	for (let at = 0; at + viewBytes <= source.byteLength; at += viewBytes) {
		reverse(target, at, 4);
		if (view.getInt32(at, true) <= maxInlineBytes) continue;
		reverse(target, at + 8, 4);
		reverse(target, at + 12, 4);
	}
	return target;
}

function reverse(bytes: Uint8Array, at: number, width: number): void {
	bytes.subarray(at, at + width).reverse();
}

function copyOf(source: Uint8Array, codecs: Codecs): Uint8Array {
	const target = codecs.allocate(source.byteLength);
	target.set(source);
	return target;
}
