/**
 * Arrays and fields for tests, written by hand: no Arrow library stands between the
 * test and the bytes that DuckDB follows.
 */
import type { ArrayDescription, BatchDescription, FieldDescription } from "../index.js";

export const nullable = 2;

export function field(
	name: string,
	format: string,
	more: Partial<FieldDescription> = {},
): FieldDescription {
	return { name, format, flags: nullable, metadata: null, children: [], dictionary: null, ...more };
}

/** The bytes of a typed array, where they lie. */
export function bytes(array: ArrayBufferView): Uint8Array {
	return new Uint8Array(array.buffer, array.byteOffset, array.byteLength);
}

export function array(
	length: number,
	buffers: (ArrayBufferView | null)[],
	more: Partial<ArrayDescription> = {},
): ArrayDescription {
	return {
		length,
		nullCount: 0,
		buffers: buffers.map((buffer) => (buffer === null ? null : bytes(buffer))),
		children: [],
		dictionary: null,
		...more,
	};
}

export function batch(...columns: ArrayDescription[]): BatchDescription {
	return { length: columns[0]?.length ?? 0, columns };
}

/** Validity of `values`, or null where there is no null; and how many there are. */
export function validity(values: readonly unknown[]): {
	bitmap: Uint8Array | null;
	nullCount: number;
} {
	const bitmap = new Uint8Array(Math.ceil(values.length / 8));
	let nullCount = 0;
	for (const [index, value] of values.entries()) {
		if (value === null) nullCount += 1;
		else bitmap[index >> 3] = (bitmap[index >> 3] as number) | (1 << (index & 7));
	}
	return { bitmap: nullCount === 0 ? null : bitmap, nullCount };
}

export function int32s(values: readonly (number | null)[]): ArrayDescription {
	const { bitmap, nullCount } = validity(values);
	return array(values.length, [bitmap, Int32Array.from(values, (value) => value ?? 0)], {
		nullCount,
	});
}

export function utf8s(values: readonly (string | null)[]): ArrayDescription {
	const { bitmap, nullCount } = validity(values);
	const encoded = values.map((value) => new TextEncoder().encode(value ?? ""));
	const offsets = new Int32Array(values.length + 1);
	for (const [index, text] of encoded.entries()) {
		offsets[index + 1] = (offsets[index] as number) + text.length;
	}
	const data = new Uint8Array(offsets[values.length] as number);
	for (const [index, text] of encoded.entries()) data.set(text, offsets[index]);
	return array(values.length, [bitmap, offsets, data], { nullCount });
}

/** Views of 16 bytes: texts up to 12 bytes inside, longer ones in one data buffer. */
export function utf8Views(values: readonly (string | null)[]): ArrayDescription {
	const { bitmap, nullCount } = validity(values);
	const views = new DataView(new ArrayBuffer(values.length * 16));
	const long: number[] = [];
	for (const [index, value] of values.entries()) {
		const text = new TextEncoder().encode(value ?? "");
		const at = index * 16;
		views.setInt32(at, text.length, true);
		if (text.length <= 12) {
			for (const [i, byte] of text.entries()) views.setUint8(at + 4 + i, byte);
		} else {
			for (let i = 0; i < 4; i++) views.setUint8(at + 4 + i, text[i] as number);
			views.setInt32(at + 8, 0, true);
			views.setInt32(at + 12, long.length, true);
			long.push(...text);
		}
	}
	return array(values.length, [bitmap, views, Uint8Array.from(long)], { nullCount });
}

export function lists(values: readonly (readonly (number | null)[] | null)[]): ArrayDescription {
	const { bitmap, nullCount } = validity(values);
	const offsets = new Int32Array(values.length + 1);
	for (const [index, value] of values.entries()) {
		offsets[index + 1] = (offsets[index] as number) + (value?.length ?? 0);
	}
	const items = int32s(values.flatMap((value) => value ?? []));
	return array(values.length, [bitmap, offsets], { nullCount, children: [items] });
}

export function dictionary(
	indices: readonly (number | null)[],
	values: ArrayDescription,
): ArrayDescription {
	const { bitmap, nullCount } = validity(indices);
	return array(indices.length, [bitmap, Int8Array.from(indices, (index) => index ?? 0)], {
		nullCount,
		dictionary: values,
	});
}
