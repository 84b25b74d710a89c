/** Arrays of geometry made from plain values, and what tests read back from WKB. */

import type { Place } from "../../../../src/arrow/check/check-place.ts";
import type { Codecs } from "../../../../src/arrow/codecs.ts";
import type { ArrayData, ArrowType, Field } from "../../../../src/arrow/types.ts";

/** Only what geometry needs of the codecs. */
export const allocateOnly = {
	allocate: (size: number) => new Uint8Array(size),
} as unknown as Codecs;

export const place: Place = {
	column: "g",
	arrowType: "geoarrow",
	batch: 0,
	rowOf: (index) => index,
};

export function makeField(
	type: ArrowType,
	children: Field[] = [],
	name = "g",
	extension?: string,
	extensionMetadata?: string | Uint8Array,
): Field {
	const metadata = new Map<string, Uint8Array>();
	const encoder = new TextEncoder();
	if (extension) metadata.set("ARROW:extension:name", encoder.encode(extension));
	if (extensionMetadata !== undefined) {
		const bytes =
			typeof extensionMetadata === "string" ? encoder.encode(extensionMetadata) : extensionMetadata;
		metadata.set("ARROW:extension:metadata", bytes);
	}
	return { name, nullable: true, type, children, dictionary: null, metadata };
}

export function bitmapOf(valid: boolean[]): { bitmap: Uint8Array | null; nullCount: number } {
	const nullCount = valid.filter((bit) => !bit).length;
	if (nullCount === 0) return { bitmap: null, nullCount };
	const bitmap = new Uint8Array(Math.ceil(valid.length / 8));
	for (const [i, bit] of valid.entries()) if (bit) bitmap[i >> 3]! |= 1 << (i & 7);
	return { bitmap, nullCount };
}

/** A nested list of numbers with nulls, as an array of `field`'s storage. */
export function makeArray(field: Field, values: unknown[]): ArrayData {
	const { type, children } = field;
	const { bitmap, nullCount } = bitmapOf(values.map((value) => value !== null));
	const base = { length: values.length, nullCount, dictionary: null };
	switch (type.kind) {
		case "float": {
			const numbers = values.map((value) => (value === null ? 0 : (value as number)));
			const typed = type.bits === 32 ? new Float32Array(numbers) : new Float64Array(numbers);
			return { ...base, buffers: [bitmap, bytesOf(typed)], children: [] };
		}
		case "struct": {
			const columns = children.map((child, k) =>
				makeArray(
					child,
					values.map((value) => (value === null ? null : (value as unknown[])[k])),
				),
			);
			return { ...base, buffers: [bitmap], children: columns };
		}
		case "fixed_size_list": {
			const flat = values.flatMap((value) =>
				value === null ? new Array(type.size).fill(0) : (value as unknown[]),
			);
			return { ...base, buffers: [bitmap], children: [makeArray(children[0]!, flat)] };
		}
		case "list":
		case "large_list": {
			const flat: unknown[] = [];
			const offsets = [0];
			for (const value of values) {
				if (value !== null) flat.push(...(value as unknown[]));
				offsets.push(flat.length);
			}
			const buffer =
				type.kind === "list"
					? bytesOf(new Int32Array(offsets))
					: bytesOf(new BigInt64Array(offsets.map(BigInt)));
			return { ...base, buffers: [bitmap, buffer], children: [makeArray(children[0]!, flat)] };
		}
		case "binary":
		case "utf8":
		case "large_binary":
		case "large_utf8": {
			const chunks = values.map(toBytes);
			const offsets = [0];
			for (const chunk of chunks) offsets.push(offsets.at(-1)! + chunk.length);
			const data = new Uint8Array(offsets.at(-1)!);
			for (const [i, chunk] of chunks.entries()) data.set(chunk, offsets[i]);
			const buffer = type.kind.startsWith("large_")
				? bytesOf(new BigInt64Array(offsets.map(BigInt)))
				: bytesOf(new Int32Array(offsets));
			return { ...base, buffers: [bitmap, buffer, data], children: [] };
		}
		case "binary_view":
		case "utf8_view":
			return { ...base, buffers: [bitmap, ...viewBuffers(values.map(toBytes))], children: [] };
		case "union": {
			const items = values as { id: number; value: unknown }[];
			const ids = bytesOf(new Int8Array(items.map((item) => item.id)));
			const perChild: unknown[][] = children.map(() => []);
			const offsets = items.map(({ id, value }) => {
				const child = perChild[type.typeIds.indexOf(id)]!;
				child.push(value);
				return child.length - 1;
			});
			const arrays = children.map((child, k) => makeArray(child, perChild[k]!));
			const buffers = [ids, bytesOf(new Int32Array(offsets))];
			return { ...base, nullCount: 0, buffers, children: arrays };
		}
		default:
			throw new Error(`no maker for ${type.kind}`);
	}
}

/** Views and one data buffer a value, so that buffer indices matter. */
function viewBuffers(values: Uint8Array[]): Uint8Array[] {
	const views = new Uint8Array(16 * values.length);
	const view = new DataView(views.buffer);
	const data: Uint8Array[] = [];
	for (const [i, value] of values.entries()) {
		view.setInt32(16 * i, value.length, true);
		if (value.length <= 12) {
			views.set(value, 16 * i + 4);
			continue;
		}
		views.set(value.subarray(0, 4), 16 * i + 4);
		view.setInt32(16 * i + 8, data.length, true);
		const padding = data.length + 1;
		view.setInt32(16 * i + 12, padding, true);
		const buffer = new Uint8Array(padding + value.length);
		buffer.set(value, padding);
		data.push(buffer);
	}
	return [views, ...data];
}

function toBytes(value: unknown): Uint8Array {
	if (value === null) return new Uint8Array(0);
	return typeof value === "string" ? new TextEncoder().encode(value) : (value as Uint8Array);
}

function bytesOf(typed: ArrayBufferView): Uint8Array {
	return new Uint8Array(typed.buffer, typed.byteOffset, typed.byteLength);
}

/** The values of a binary array, null where they are. */
export function readBinary(
	array: ArrayData,
	kind: "binary" | "large_binary",
): (Uint8Array | null)[] {
	const offsets = array.buffers[1]!;
	const view = new DataView(offsets.buffer, offsets.byteOffset, offsets.byteLength);
	const offset = (i: number) =>
		kind === "binary" ? view.getInt32(4 * i, true) : Number(view.getBigInt64(8 * i, true));
	const bitmap = array.buffers[0];
	return Array.from({ length: array.length }, (_, i) => {
		const isNull = bitmap && !((bitmap[i >> 3]! >> (i & 7)) & 1);
		return isNull ? null : array.buffers[2]!.slice(offset(i), offset(i + 1));
	});
}

/** WKT of little-endian ISO WKB, in the manner of DuckDB's ST_AsText. */
export function wktOf(wkb: Uint8Array): string {
	const view = new DataView(wkb.buffer, wkb.byteOffset, wkb.byteLength);
	let at = 0;
	const names =
		"POINT LINESTRING POLYGON MULTIPOINT MULTILINESTRING MULTIPOLYGON GEOMETRYCOLLECTION";
	const uint32 = () => {
		at += 4;
		return view.getUint32(at - 4, true);
	};
	const list = (item: () => string) => {
		const count = uint32();
		const items = Array.from({ length: count }, item);
		return count === 0 ? "EMPTY" : `(${items.join(", ")})`;
	};
	const geometry = (bare: boolean): string => {
		if (view.getUint8(at) !== 1) throw new Error(`byte order ${view.getUint8(at)} at ${at}`);
		at += 1;
		const code = uint32();
		const [type, dimensions] = [code % 1000, Math.trunc(code / 1000)];
		const coordinate = () => {
			const numbers = Array.from({ length: [2, 3, 3, 4][dimensions]! }, () => {
				at += 8;
				return view.getFloat64(at - 8, true);
			});
			return numbers.every(Number.isNaN) ? "EMPTY" : numbers.join(" ");
		};
		const ring = () => list(coordinate);
		const point = () => {
			const text = coordinate();
			return text === "EMPTY" || bare ? text : `(${text})`;
		};
		const child = type === 7 ? () => geometry(false) : () => geometry(true);
		const body = type === 1 ? point() : type === 2 ? ring() : type === 3 ? list(ring) : list(child);
		if (bare) return body;
		return `${names.split(" ")[type - 1]} ${["", "Z ", "M ", "ZM "][dimensions]}${body}`;
	};
	const text = geometry(false);
	if (at !== wkb.length) throw new Error(`${wkb.length - at} bytes after the geometry`);
	return text;
}
