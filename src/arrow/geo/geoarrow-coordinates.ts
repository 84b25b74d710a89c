/**
 * Coordinates of the native encodings, separated (a struct of x, y, z, m) and
 * interleaved (a fixed size list), as a source of WKB's little-endian doubles.
 *
 * Spec: https://geoarrow.org/format.html#memory-layouts, "Coordinate (separated)"
 * and "Coordinate (interleaved)".
 */

import type { ArrayData, Field } from "../types.ts";
import { doublesOf, nullTest } from "./geoarrow-buffers.ts";
import { type Dimensions, ordinates } from "./wkb-types.ts";

/** Where WKB is written; `position` moves on. */
export interface WkbOutput {
	view: DataView;
	bytes: Uint8Array;
	position: number;
}

export interface Coordinates {
	write(out: WkbOutput, from: number, to: number): void;
	/** The first position in `[from, to)` whose coordinate, or a number of it, is null; -1: none. Null: there are none. */
	findNull: ((from: number, to: number) => number) | null;
}

export interface CoordinateShape {
	dimensions: Dimensions;
	/** Bytes in WKB. */
	width: number;
	bind(array: ArrayData): Coordinates;
}

const dimensionsByNames: Record<string, Dimensions> = { xy: 0, xyz: 1, xym: 2, xyzm: 3 };

/**
 * Null where the field is no coordinate. Of a list of three the child's name says
 * whether the third is M (`xym`); `hint` decides where the name says nothing.
 */
export function coordinateShape(field: Field, hint: Dimensions | null): CoordinateShape | null {
	const { type, children } = field;
	const isFloat = (child: Field | undefined) => child?.type.kind === "float" && !child.dictionary;
	if (field.dictionary !== null || !children.every(isFloat)) return null;
	if (type.kind === "fixed_size_list") {
		const named = dimensionsByNames[children[0]!.name.toLowerCase()];
		const dimensions =
			named !== undefined && ordinates[named] === type.size
				? named
				: hint !== null && ordinates[hint] === type.size
					? hint
					: ([null, null, 0, 1, 3] as const)[type.size];
		if (dimensions === null || dimensions === undefined) return null;
		return { dimensions, width: 8 * type.size, bind: (array) => interleaved(field, array) };
	}
	if (type.kind === "struct") {
		const names = children.map((child) => child.name.toLowerCase()).join("");
		const dimensions = dimensionsByNames[names];
		if (dimensions === undefined || ordinates[dimensions] !== children.length) return null;
		return {
			dimensions,
			width: 8 * children.length,
			bind: (array) => separated(field, array),
		};
	}
	return null;
}

function bitsOf(field: Field): 16 | 32 | 64 {
	return field.type.kind === "float" ? field.type.bits : 64;
}

function interleaved(field: Field, array: ArrayData): Coordinates {
	const size = field.type.kind === "fixed_size_list" ? field.type.size : 0;
	const child = array.children[0]!;
	const values = doublesOf(child, bitsOf(field.children[0]!));
	const isNull = nullTest(array);
	const isNumberNull = nullTest(child);
	const bytes = new Uint8Array(values.buffer, values.byteOffset, values.byteLength);
	return {
		write(out, from, to) {
			const first = from * size;
			const last = to * size;
			// Arrow and WKB are both little-endian here; below a few coordinates the view costs more than it saves.
			if (last - first > 16 && isLittleEndian) {
				out.bytes.set(bytes.subarray(8 * first, 8 * last), out.position);
				out.position += 8 * (last - first);
				return;
			}
			for (let i = first; i < last; i++) {
				out.view.setFloat64(out.position, values[i]!, true);
				out.position += 8;
			}
		},
		findNull: isNull === null && isNumberNull === null ? null : findNull,
	};

	function findNull(from: number, to: number): number {
		for (let i = from; i < to; i++) {
			if (isNull?.(i)) return i;
			for (let k = 0; isNumberNull !== null && k < size; k++) {
				if (isNumberNull(i * size + k)) return i;
			}
		}
		return -1;
	}
}

function separated(field: Field, array: ArrayData): Coordinates {
	const columns = array.children.map((child, k) => doublesOf(child, bitsOf(field.children[k]!)));
	const tests = [array, ...array.children].map(nullTest).filter((test) => test !== null);
	const width = 8 * columns.length;
	return {
		write(out, from, to) {
			for (let k = 0; k < columns.length; k++) {
				const column = columns[k]!;
				let position = out.position + 8 * k;
				for (let i = from; i < to; i++) {
					out.view.setFloat64(position, column[i]!, true);
					position += width;
				}
			}
			out.position += width * (to - from);
		},
		findNull: tests.length === 0 ? null : findNull,
	};

	function findNull(from: number, to: number): number {
		for (let i = from; i < to; i++) if (tests.some((isNull) => isNull(i))) return i;
		return -1;
	}
}

const isLittleEndian = new Uint8Array(new Uint16Array([1]).buffer)[0] === 1;
