/**
 * Walks the values of a binary or text array of any storage: fixed width, offsets
 * of 32 or 64 bits, or views with their inlined values and data buffers. The array
 * has been checked before: every value lies inside its buffer.
 */

import { nullTest, offsetsOf } from "../geo/geoarrow-buffers.ts";
import type { ArrayData, ArrowType } from "../types.ts";

/** After `seek(row)` the value is `bytes[start, end)`, and `view` looks at the same bytes. */
export interface ValueCursor {
	bytes: Uint8Array;
	view: DataView;
	start: number;
	end: number;
	isNull(row: number): boolean;
	seek(row: number): void;
}

/** Values of up to this length stand in the view itself. */
const maxInlinedBytes = 12;

export function createValueCursor(type: ArrowType, array: ArrayData): ValueCursor {
	const isNull = nullTest(array) ?? (() => false);
	if (type.kind === "fixed_size_binary") return overWidth(type.byteWidth, array, isNull);
	return type.kind === "utf8_view" || type.kind === "binary_view"
		? overViews(array, isNull)
		: overOffsets(type.kind, array, isNull);
}

function overWidth(width: number, array: ArrayData, isNull: (row: number) => boolean): ValueCursor {
	const bytes = array.buffers[1] ?? new Uint8Array(0);
	return {
		bytes,
		view: dataView(bytes),
		start: 0,
		end: 0,
		isNull,
		seek(row) {
			this.start = width * row;
			this.end = this.start + width;
		},
	};
}

function overOffsets(
	kind: ArrowType["kind"],
	array: ArrayData,
	isNull: (row: number) => boolean,
): ValueCursor {
	const offsets = offsetsOf(array, kind);
	const bytes = array.buffers[2] ?? new Uint8Array(0);
	return {
		bytes,
		view: dataView(bytes),
		start: 0,
		end: 0,
		isNull,
		seek(row) {
			this.start = offsets[row]!;
			this.end = offsets[row + 1]!;
		},
	};
}

/**
 * A view's 16 bytes: 0 length, then up to 12 bytes of value, or 4 prefix, 8 buffer
 * index, 12 offset. https://arrow.apache.org/docs/format/Columnar.html#variable-size-binary-view-layout
 */
function overViews(array: ArrayData, isNull: (row: number) => boolean): ValueCursor {
	const views = array.buffers[1] ?? new Uint8Array(0);
	const viewsView = dataView(views);
	const data = array.buffers.slice(2).map((buffer) => buffer ?? new Uint8Array(0));
	const dataViews = data.map(dataView);
	return {
		bytes: views,
		view: viewsView,
		start: 0,
		end: 0,
		isNull,
		seek(row) {
			const at = 16 * row;
			const length = viewsView.getInt32(at, true);
			if (length <= maxInlinedBytes) {
				this.bytes = views;
				this.view = viewsView;
				this.start = at + 4;
			} else {
				const index = viewsView.getInt32(at + 8, true);
				this.bytes = data[index]!;
				this.view = dataViews[index]!;
				this.start = viewsView.getInt32(at + 12, true);
			}
			this.end = this.start + length;
		},
	};
}

function dataView(bytes: Uint8Array): DataView {
	return new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}
