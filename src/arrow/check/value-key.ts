/**
 * A value as text that equals another's exactly when DuckDB takes the two for the
 * same map key. Not for reading: bytes stand as characters of the same code.
 */

import { isValid } from "../array/bitmap.ts";
import { fixedWidth } from "../array/fixed-width.ts";
import { offsetAt } from "../array/offsets.ts";
import type { ArrayData, Field, IndexType } from "../types.ts";
import { indexView, indices64 } from "./check-dictionary.ts";
import { readRunEnds } from "./check-run-ends.ts";
import { childOfTypeId, typeIdsAt } from "./check-unions.ts";
import { temporalKey } from "./temporal-key.ts";

export type ValueKey = (array: ArrayData, index: number) => string;

/** Makes the reader of one field's keys. The arrays have been checked. */
export function valueKey(field: Field): ValueKey {
	if (field.dictionary) {
		const { indexType } = field.dictionary;
		const values = valueKey({ ...field, dictionary: null });
		return nullable((array, index) => {
			const bytes = array.buffers[1]!;
			const position =
				indexType.bits === 64
					? indices64(bytes.subarray(index * 8, index * 8 + 8), 1)[0]!
					: indexView(bytes, indexType, array.length)[index]!;
			return values(array.dictionary!, position);
		});
	}
	const children = field.children.map(valueKey);
	const { type } = field;
	switch (type.kind) {
		case "null":
			return () => "∅";
		case "bool":
			return nullable((array, index) => (isValid(array.buffers[1]!, index) ? "1" : "0"));
		case "float":
			return nullable((array, index) => floatKey(array.buffers[1]!, type.bits, index));
		case "utf8":
		case "binary":
			return nullable((array, index) => offsetBytes(array, 4, index));
		case "large_utf8":
		case "large_binary":
			return nullable((array, index) => offsetBytes(array, 8, index));
		case "utf8_view":
		case "binary_view":
			return nullable(viewBytes);
		case "list":
		case "large_list":
		case "map": {
			const width = type.kind === "large_list" ? 8 : 4;
			return nullable((array, index) =>
				elements(
					children[0]!,
					array.children[0]!,
					offsetAt(array.buffers[1]!, width, index),
					offsetAt(array.buffers[1]!, width, index + 1),
				),
			);
		}
		case "list_view":
		case "large_list_view": {
			const width = type.kind === "large_list_view" ? 8 : 4;
			return nullable((array, index) => {
				const start = offsetAt(array.buffers[1]!, width, index);
				const end = start + offsetAt(array.buffers[2]!, width, index);
				return elements(children[0]!, array.children[0]!, start, end);
			});
		}
		case "fixed_size_list":
			return nullable((array, index) =>
				elements(children[0]!, array.children[0]!, index * type.size, (index + 1) * type.size),
			);
		case "struct":
			return nullable((array, index) =>
				children.map((key, i) => framed(key(array.children[i]!, index))).join(""),
			);
		case "union": {
			const childOf = childOfTypeId(type);
			return (array, index) => {
				const first = typeIdsAt(array, type);
				if (first === 1 && array.nullCount > 0 && !isValid(array.buffers[0]!, index)) return "∅";
				const child = childOf[((array.buffers[first]![index]! << 24) >> 24) + 128]!;
				const at = type.mode === "dense" ? offsetAt(array.buffers[first + 1]!, 4, index) : index;
				return `${child}:${children[child]!(array.children[child]!, at)}`;
			};
		}
		case "run_end_encoded": {
			const endType = field.children[0]!.type as IndexType;
			return (array, index) => {
				const ends = readRunEnds(array.children[0]!, endType);
				let run = 0;
				while (ends[run]! <= index) run++;
				return children[1]!(array.children[1]!, run);
			};
		}
		default: {
			const counts = temporalKey(type);
			if (counts) return nullable((array, index) => String(counts(array.buffers[1]!, index)));
			const width = fixedWidth(type);
			return nullable((array, index) => bytesKey(array.buffers[1]!, index * width, width));
		}
	}
}

/** The bytes as characters of the same code. */
export function bytesKey(bytes: Uint8Array, start: number, size: number): string {
	let text = "";
	for (let i = start; i < start + size; i += 8192) {
		text += String.fromCharCode(...bytes.subarray(i, Math.min(i + 8192, start + size)));
	}
	return text;
}

function nullable(key: ValueKey): ValueKey {
	return (array, index) =>
		array.nullCount > 0 && !isValid(array.buffers[0] ?? null, index)
			? "∅"
			: `=${key(array, index)}`;
}

function framed(key: string): string {
	return `${key.length}:${key}`;
}

function elements(key: ValueKey, child: ArrayData, start: number, end: number): string {
	let text = "";
	for (let i = start; i < end; i++) text += framed(key(child, i));
	return text;
}

function offsetBytes(array: ArrayData, width: 4 | 8, index: number): string {
	const start = offsetAt(array.buffers[1]!, width, index);
	return bytesKey(array.buffers[2]!, start, offsetAt(array.buffers[1]!, width, index + 1) - start);
}

function viewBytes(array: ArrayData, index: number): string {
	const views = array.buffers[1]!;
	const size = offsetAt(views, 4, index * 4);
	if (size <= 12) return bytesKey(views, index * 16 + 4, size);
	const buffer = array.buffers[2 + offsetAt(views, 4, index * 4 + 2)]!;
	return bytesKey(buffer, offsetAt(views, 4, index * 4 + 3), size);
}

/** Zero equals minus zero, and one NaN every other. */
function floatKey(bytes: Uint8Array, bits: 16 | 32 | 64, index: number): string {
	const view = new DataView(bytes.buffer, bytes.byteOffset);
	if (bits === 16) {
		const half = view.getUint16(index * 2, true);
		if ((half & 0x7fff) > 0x7c00) return "NaN";
		return half === 0x8000 ? "0" : String(half);
	}
	return String(bits === 32 ? view.getFloat32(index * 4, true) : view.getFloat64(index * 8, true));
}
