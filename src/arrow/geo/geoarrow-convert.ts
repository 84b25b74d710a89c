/**
 * The three ways from an array of geometry to one of WKB: check WKB as it is, parse
 * WKT, write native encodings. Errors name the row that `place` knows for an element.
 */

import { IngestError } from "../../errors.ts";
import { allocateBitmap, setBit } from "../array/bitmap.ts";
import { type Place, refuseElement } from "../check/check-place.ts";
import { createValueCursor } from "../check/value-cursor.ts";
import type { Codecs } from "../codecs.ts";
import { takeRows } from "../form/take-rows.ts";
import type { ArrayData, ArrowType, Field } from "../types.ts";
import { createByteBuilder } from "./byte-builder.ts";
import type { WkbSource } from "./geoarrow-native.ts";
import { checkWkb } from "./wkb-check.ts";
import { createWktReader } from "./wkt-to-wkb.ts";

/**
 * An array whose every value is WKB that DuckDB reads: mostly the same one. DuckDB
 * parses what stands under a null too, unless that is empty; so it is made empty.
 */
export function checkedWkb(
	array: ArrayData,
	field: Field,
	codecs: Codecs,
	onSrid: (srid: number) => void,
	place: Place,
): ArrayData {
	const cursor = createValueCursor(field.type, array);
	let hasHidden = false;
	eachRow(array.length, place, (row) => {
		cursor.seek(row);
		if (!cursor.isNull(row)) checkWkb(cursor.view, cursor.start, cursor.end, onSrid);
		else if (cursor.end > cursor.start) hasHidden = true;
	});
	if (!hasHidden) return array;
	const positions = new Int32Array(array.length);
	for (let row = 0; row < positions.length; row++) positions[row] = cursor.isNull(row) ? -1 : row;
	return takeRows(field, array, positions, codecs);
}

/** A large_binary array of WKB from one of WKT. */
export function wkbFromWkt(
	array: ArrayData,
	type: ArrowType,
	codecs: Codecs,
	onSrid: (srid: number) => void,
	place: Place,
): ArrayData {
	const cursor = createValueCursor(type, array);
	const out = createByteBuilder(32 * array.length);
	const reader = createWktReader(out);
	const offsets = createOffsets(array.length, codecs);
	eachRow(array.length, place, (row) => {
		if (!cursor.isNull(row)) {
			cursor.seek(row);
			reader.convert(cursor.bytes, cursor.start, cursor.end, onSrid);
		}
		offsets.set(row + 1, out.length);
	});
	const bytes = codecs.allocate(out.length);
	bytes.set(out.bytes());
	const validity = array.nullCount === 0 ? null : (array.buffers[0] ?? null);
	return binaryArray(array.length, array.nullCount, [validity, offsets.bytes, bytes]);
}

/** A large_binary array of the rows' WKB: first all sizes, then all bytes. */
export function wkbFromNative(
	source: WkbSource,
	length: number,
	codecs: Codecs,
	place: Place,
): ArrayData {
	const offsets = createOffsets(length, codecs);
	const validity = allocateBitmap(length, codecs);
	let nullCount = 0;
	let total = 0;
	eachRow(length, place, (row) => {
		if (source.isNull(row)) {
			nullCount++;
		} else {
			setBit(validity, row);
			source.check?.(row);
			total += source.size(row);
		}
		offsets.set(row + 1, total);
	});
	const bytes = codecs.allocate(total);
	const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
	const out = { bytes, view, position: 0 };
	for (let row = 0; row < length; row++) if (!source.isNull(row)) source.write(out, row);
	return binaryArray(length, nullCount, [nullCount === 0 ? null : validity, offsets.bytes, bytes]);
}

function eachRow(length: number, place: Place, visit: (row: number) => void): void {
	let row = 0;
	try {
		for (; row < length; row++) visit(row);
	} catch (error) {
		if (!(error instanceof IngestError)) throw error;
		refuseElement(place, row, error.code, error.message);
	}
}

/** 64-bit little-endian offsets, the first of them 0. */
function createOffsets(length: number, codecs: Codecs) {
	const bytes = codecs.allocate(8 * (length + 1)).fill(0);
	const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
	return {
		bytes,
		set(index: number, value: number) {
			view.setUint32(8 * index, value % 2 ** 32, true);
			view.setUint32(8 * index + 4, Math.floor(value / 2 ** 32), true);
		},
	};
}

function binaryArray(length: number, nullCount: number, buffers: (Uint8Array | null)[]): ArrayData {
	return { length, nullCount, buffers, children: [], dictionary: null };
}
