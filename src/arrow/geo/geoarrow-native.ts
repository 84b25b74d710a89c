/**
 * GeoArrow's native encodings as sources of WKB. In: a field's shape, then an array
 * of it; out: for each row its size in WKB and its bytes. Two passes: all sizes,
 * which cost one subtraction of offsets a level, then all bytes into one buffer.
 *
 * Spec: https://geoarrow.org/format.html#native-encoding
 */

import { IngestError } from "../../errors.ts";
import type { ArrayData, Field } from "../types.ts";
import { nullTest, type Offsets, offsetsOf } from "./geoarrow-buffers.ts";
import {
	type CoordinateShape,
	type Coordinates,
	coordinateShape,
	type WkbOutput,
} from "./geoarrow-coordinates.ts";
import { type Dimensions, wkbType } from "./wkb-types.ts";

/** Rows of one array; `size` and `write` are only for rows that are not null. */
export interface WkbSource {
	isNull(row: number): boolean;
	/** Bytes of the row's WKB. */
	size(row: number): number;
	write(out: WkbOutput, row: number): void;
	/** Throws `invalid_arrow` where a part of the row is null that may not be; null: no row needs it. */
	check: ((row: number) => void) | null;
	dimensions(row: number): Dimensions;
}

/** A field understood as geometry; binds to each of its arrays. */
export interface GeometryShape {
	bind(array: ArrayData): WkbSource;
}

export type NativeKind = keyof typeof wkbType;

/** Bytes of a header: byte order and type. With a count: 9. */
const headerBytes = 5;
const countedBytes = 9;

/** Null where the field's storage is not that of the encoding. `hint`: dimensions known from a union's type id. */
export function nativeShape(
	kind: Exclude<NativeKind, "geometrycollection">,
	field: Field,
	hint: Dimensions | null = null,
): GeometryShape | null {
	const levels = { point: 0, linestring: 1, multipoint: 1, polygon: 2, multilinestring: 2 };
	const depth = kind === "multipolygon" ? 3 : levels[kind];
	const lists: Field[] = [];
	let inner = field;
	for (let level = 0; level < depth; level++) {
		if (inner.type.kind !== "list" && inner.type.kind !== "large_list") return null;
		if (inner.dictionary !== null) return null;
		lists.push(inner);
		inner = inner.children[0]!;
	}
	const shape = coordinateShape(inner, hint);
	if (shape === null) return null;
	return { bind: (array) => bindNative(kind, lists, shape, array) };
}

function bindNative(
	kind: Exclude<NativeKind, "geometrycollection">,
	lists: Field[],
	shape: CoordinateShape,
	array: ArrayData,
): WkbSource {
	const offsets: Offsets[] = [];
	/** Null tests of the levels below the row, whose nulls the format forbids. */
	const innerTests: (((i: number) => boolean) | null)[] = [];
	let level = array;
	for (const list of lists) {
		offsets.push(offsetsOf(level, list.type.kind));
		level = level.children[0]!;
		innerTests.push(nullTest(level));
	}
	const coordinates = shape.bind(level);
	const isNull = nullTest(array) ?? (() => false);
	return {
		isNull,
		dimensions: () => shape.dimensions,
		...layouts[kind](coordinates, shape, offsets),
		check:
			coordinates.findNull === null && innerTests.every((test) => test === null)
				? null
				: (row) => checkNoNulls(row, offsets, innerTests, coordinates),
	};
}

type Layout = (
	coordinates: Coordinates,
	shape: CoordinateShape,
	offsets: Offsets[],
) => Pick<WkbSource, "size" | "write">;

/** One entry an encoding; `a`, `b`, `c` are the offsets from the outermost list inwards. */
const layouts: Record<Exclude<NativeKind, "geometrycollection">, Layout> = {
	point: (coordinates, { width, dimensions }) => ({
		size: () => headerBytes + width,
		write(out, row) {
			writeHeader(out, wkbType.point, dimensions);
			coordinates.write(out, row, row + 1);
		},
	}),
	linestring: (coordinates, { width, dimensions }, [a]) => ({
		size: (row) => countedBytes + width * (a![row + 1]! - a![row]!),
		write(out, row) {
			writeHeader(out, wkbType.linestring, dimensions);
			writePoints(out, coordinates, a!, row);
		},
	}),
	multipoint: (coordinates, { width, dimensions }, [a]) => ({
		size: (row) => countedBytes + (headerBytes + width) * (a![row + 1]! - a![row]!),
		write(out, row) {
			writeHeader(out, wkbType.multipoint, dimensions);
			const last = writeCount(out, a!, row);
			for (let i = a![row]!; i < last; i++) {
				writeHeader(out, wkbType.point, dimensions);
				coordinates.write(out, i, i + 1);
			}
		},
	}),
	polygon: (coordinates, { width, dimensions }, [a, b]) => ({
		size(row) {
			const from = a![row]!;
			const to = a![row + 1]!;
			return countedBytes + 4 * (to - from) + width * (b![to]! - b![from]!);
		},
		write(out, row) {
			writeHeader(out, wkbType.polygon, dimensions);
			writeRings(out, coordinates, a!, b!, row);
		},
	}),
	multilinestring: (coordinates, { width, dimensions }, [a, b]) => ({
		size(row) {
			const from = a![row]!;
			const to = a![row + 1]!;
			return countedBytes + countedBytes * (to - from) + width * (b![to]! - b![from]!);
		},
		write(out, row) {
			writeHeader(out, wkbType.multilinestring, dimensions);
			const last = writeCount(out, a!, row);
			for (let i = a![row]!; i < last; i++) {
				writeHeader(out, wkbType.linestring, dimensions);
				writePoints(out, coordinates, b!, i);
			}
		},
	}),
	multipolygon: (coordinates, { width, dimensions }, [a, b, c]) => ({
		size(row) {
			const from = a![row]!;
			const to = a![row + 1]!;
			const firstRing = b![from]!;
			const lastRing = b![to]!;
			return (
				countedBytes +
				countedBytes * (to - from) +
				4 * (lastRing - firstRing) +
				width * (c![lastRing]! - c![firstRing]!)
			);
		},
		write(out, row) {
			writeHeader(out, wkbType.multipolygon, dimensions);
			const last = writeCount(out, a!, row);
			for (let i = a![row]!; i < last; i++) {
				writeHeader(out, wkbType.polygon, dimensions);
				writeRings(out, coordinates, b!, c!, i);
			}
		},
	}),
};

export function writeHeader(out: WkbOutput, type: number, dimensions: Dimensions): void {
	out.view.setUint8(out.position, 1);
	out.view.setUint32(out.position + 1, type + 1000 * dimensions, true);
	out.position += headerBytes;
}

/** Writes how many items the list at `row` has; returns the end of its range. */
export function writeCount(out: WkbOutput, offsets: Offsets, row: number): number {
	const to = offsets[row + 1]!;
	out.view.setUint32(out.position, to - offsets[row]!, true);
	out.position += 4;
	return to;
}

function writePoints(out: WkbOutput, coordinates: Coordinates, offsets: Offsets, row: number) {
	const to = writeCount(out, offsets, row);
	coordinates.write(out, offsets[row]!, to);
}

function writeRings(
	out: WkbOutput,
	coordinates: Coordinates,
	rings: Offsets,
	points: Offsets,
	row: number,
): void {
	const last = writeCount(out, rings, row);
	for (let ring = rings[row]!; ring < last; ring++) writePoints(out, coordinates, points, ring);
}

/**
 * "Only the outermost level may have nulls": https://geoarrow.org/format.html#missing-values-nulls
 */
function checkNoNulls(
	row: number,
	offsets: Offsets[],
	tests: (((i: number) => boolean) | null)[],
	coordinates: Coordinates,
): void {
	let from = row;
	let to = row + 1;
	for (let level = 0; level < offsets.length; level++) {
		from = offsets[level]![from]!;
		to = offsets[level]![to]!;
		const isNull = tests[level];
		for (let i = from; isNull && i < to; i++) if (isNull(i)) failNull(i - from);
	}
	const at = coordinates.findNull?.(from, to) ?? -1;
	if (at >= 0) failNull(at - from);
}

function failNull(at: number): never {
	throw new IngestError("invalid_arrow", `part ${at} of the geometry is null`);
}
