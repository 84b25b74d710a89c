/**
 * Joins buffers whose elements say where their values lie: views into data buffers, list
 * views into a child, dense unions into the child of their member, indices into dictionaries.
 *
 * As in `concat-buffers.ts`, what leaves its data is `invalid_arrow` and not followed.
 */

import { IngestError } from "../../errors.ts";
import type { Codecs } from "../codecs.ts";
import type { ArrayData } from "../types.ts";
import { int32View } from "./buffer-views.ts";
import {
	type ArraySlice,
	bufferOf,
	concatFixed,
	type Extent,
	readInt,
	refuseOver,
	writeInt,
} from "./concat-buffers.ts";
import type { OffsetWidth } from "./offsets.ts";

export const viewBytes = 16;
export const maxInlineBytes = 12;
const maxInt32 = 0x7fff_ffff;

/**
 * The views of all slices, and the data buffers that they point into, each once: batches whose values come
 * of one dictionary, which deltas have made of many buffers, all bring the same ones.
 */
export function concatViews(slices: readonly ArraySlice[], codecs: Codecs): Uint8Array[] {
	const views = concatFixed(slices, 1, viewBytes, codecs);
	const words = int32View(views);
	const data = new DataBuffers();
	const placesOf = new Map<ArrayData, Int32Array>();
	let at = 0;
	for (const { array, length } of slices) {
		let places = placesOf.get(array);
		if (places === undefined) {
			places = Int32Array.from(array.buffers.slice(2), (buffer) => data.place(buffer ?? noBytes));
			placesOf.set(array, places);
		}
		// int32 length, 4 bytes of prefix, int32 buffer, int32 offset
		for (let w = at * 4; w < (at + length) * 4; w += 4) {
			// Of a null, or of values that nobody has checked yet, it may be any: it stays wrong.
			if (words[w]! > maxInlineBytes) words[w + 2] = places[words[w + 2]!] ?? -1;
		}
		at += length;
	}
	return [views, ...data.all];
}

class DataBuffers {
	readonly all: Uint8Array[] = [];
	readonly #placeOf = new Map<ArrayBufferLike, Map<string, number>>();

	/** Where the bytes are among all. */
	place(bytes: Uint8Array): number {
		let places = this.#placeOf.get(bytes.buffer);
		if (places === undefined) {
			places = new Map();
			this.#placeOf.set(bytes.buffer, places);
		}
		const range = `${bytes.byteOffset} ${bytes.byteLength}`;
		const place = places.get(range) ?? this.all.push(bytes) - 1;
		places.set(range, place);
		return place;
	}
}

/** Only the part of each child that a slice's views reach is kept. */
export function concatListViews(
	slices: readonly ArraySlice[],
	width: OffsetWidth,
	codecs: Codecs,
): { buffers: Uint8Array[]; extents: Extent[] } {
	const sizes = concatFixed(slices, 2, width, codecs);
	const offsets = concatFixed(slices, 1, width, codecs);
	const extents: Extent[] = [];
	let at = 0;
	let base = 0;
	for (const { array, length } of slices) {
		const limit = array.children[0]!.length;
		let first = limit;
		let last = 0;
		for (let i = at; i < at + length; i++) {
			const size = readInt(sizes, width, i);
			if (size === 0) continue;
			const offset = readInt(offsets, width, i);
			if (offset < 0 || size < 0 || offset + size > limit) {
				throw new IngestError(
					"invalid_arrow",
					`a list view of ${size} elements at ${offset} does not fit ${limit}`,
				);
			}
			first = Math.min(first, offset);
			last = Math.max(last, offset + size);
		}
		if (last === 0) first = 0;
		for (let i = at; i < at + length; i++) {
			const empty = readInt(sizes, width, i) === 0;
			writeInt(offsets, width, i, empty ? 0 : readInt(offsets, width, i) - first + base);
		}
		extents.push({ first, last });
		at += length;
		base += last - first;
	}
	refuseOver(base, width === 4 ? maxInt32 : Number.MAX_SAFE_INTEGER, "offset");
	return { buffers: [offsets, sizes], extents };
}

/** Offsets into each member's joined child, of which only the reached parts are kept: `extents[member][slice]`. */
export function concatDenseOffsets(
	slices: readonly ArraySlice[],
	typeIds: readonly number[],
	codecs: Codecs,
): { offsets: Uint8Array; extents: Extent[][] } {
	const offsets = concatFixed(slices, 1, 4, codecs);
	const values = int32View(offsets);
	const memberOf = new Int16Array(256).fill(-1);
	typeIds.forEach((id, member) => {
		memberOf[id] = member;
	});
	const bases = typeIds.map(() => 0);
	const extents = typeIds.map((): Extent[] => []);
	let at = 0;
	for (const slice of slices) {
		const ids = bufferOf(slice, 0, slice.from + slice.length);
		const ranges = typeIds.map(() => ({ first: maxInt32, last: 0 }));
		const memberAt = (i: number) => {
			const member = memberOf[ids[slice.from + i]!]!;
			if (member >= 0) return member;
			throw new IngestError(
				"invalid_arrow",
				`union type id ${ids[slice.from + i]} is not declared`,
			);
		};
		for (let i = 0; i < slice.length; i++) {
			const range = ranges[memberAt(i)]!;
			const offset = values[at + i]!;
			if (offset < 0) throw new IngestError("invalid_arrow", `union offset ${offset}`);
			range.first = Math.min(range.first, offset);
			range.last = Math.max(range.last, offset + 1);
		}
		for (const range of ranges) if (range.last === 0) range.first = 0;
		for (let i = 0; i < slice.length; i++) {
			const member = memberAt(i);
			values[at + i]! += bases[member]! - ranges[member]!.first;
		}
		ranges.forEach((range, member) => {
			extents[member]!.push(range);
			bases[member]! += range.last - range.first;
			refuseOver(bases[member]!, maxInt32, "offset");
		});
		at += slice.length;
	}
	return { offsets, extents };
}

/** Integer `index` of a buffer of them, of any width. */
export function readIndex(
	buffer: Uint8Array,
	bits: number,
	signed: boolean,
	index: number,
): number {
	switch (bits) {
		case 8:
			return signed ? (buffer[index]! << 24) >> 24 : buffer[index]!;
		case 16: {
			const value = buffer[2 * index]! | (buffer[2 * index + 1]! << 8);
			return signed ? (value << 16) >> 16 : value;
		}
		case 32: {
			const value = readInt(buffer, 4, index);
			return signed ? value : value >>> 0;
		}
		default:
			return readInt(buffer, 8, index);
	}
}

export function writeIndex(buffer: Uint8Array, bits: number, index: number, value: number): void {
	if (bits === 8) buffer[index] = value;
	else if (bits === 16) {
		buffer[2 * index] = value;
		buffer[2 * index + 1] = value >>> 8;
	} else writeInt(buffer, bits === 32 ? 4 : 8, index, value);
}

const noBytes = new Uint8Array(0);
