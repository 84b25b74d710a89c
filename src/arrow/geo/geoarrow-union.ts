/**
 * `geoarrow.geometry` (a union of the native encodings) and `geoarrow.geometrycollection`
 * (a list of such unions) as sources of WKB.
 *
 * A union's type ids say what its children are: the ones' digit is the WKB type,
 * the tens' digit the dimensions (0 XY, 1 XYZ, 2 XYM, 3 XYZM). Sparse unions, which
 * the specification doesn't name, are read alike.
 *
 * Spec: https://geoarrow.org/format.html#memory-layouts, "Geometry" and "GeometryCollection"
 */

import { IngestError } from "../../errors.ts";
import type { ArrayData, Field } from "../types.ts";
import { int32sOf, nullTest, offsetsOf } from "./geoarrow-buffers.ts";
import {
	type GeometryShape,
	nativeShape,
	type WkbSource,
	writeCount,
	writeHeader,
} from "./geoarrow-native.ts";
import { type Dimensions, dimensionNames, wkbType } from "./wkb-types.ts";

const kindsByWkbType = [
	"point",
	"linestring",
	"polygon",
	"multipoint",
	"multilinestring",
	"multipolygon",
] as const;

/** Null where the field is no union of geometries. */
export function unionShape(field: Field): GeometryShape | null {
	const { type, children } = field;
	if (type.kind !== "union" || field.dictionary !== null) return null;
	const shapes: GeometryShape[] = [];
	/** Child position by type id. */
	const childOf = new Int8Array(128).fill(-1);
	for (const [position, child] of children.entries()) {
		const id = type.typeIds[position]!;
		const hint = Math.trunc(id / 10) as Dimensions;
		const wkb = id % 10;
		if (hint > 3 || wkb < 1 || wkb > 7) return null;
		const shape =
			wkb === wkbType.geometrycollection
				? collectionShape(child, hint)
				: nativeShape(kindsByWkbType[wkb - 1]!, child, hint);
		if (shape === null) return null;
		shapes.push(shape);
		childOf[id] = position;
	}
	const isDense = type.mode === "dense";
	return { bind: (array) => bindUnion(array, shapes, childOf, isDense) };
}

function bindUnion(
	array: ArrayData,
	shapes: GeometryShape[],
	childOf: Int8Array,
	isDense: boolean,
): WkbSource {
	// Buffers: type ids, and of a dense union offsets; a union has no validity since metadata V5.
	const ids = array.buffers[0] ?? new Uint8Array(array.length);
	const offsets = isDense ? int32sOf(array.buffers[1], array.length) : null;
	const sources = shapes.map((shape, position) => shape.bind(array.children[position]!));
	const sourceOf = (row: number) => sources[childOf[ids[row]!]!]!;
	const placeOf = (row: number) => (offsets === null ? row : offsets[row]!);
	return {
		isNull: (row) => sourceOf(row).isNull(placeOf(row)),
		size: (row) => sourceOf(row).size(placeOf(row)),
		write: (out, row) => sourceOf(row).write(out, placeOf(row)),
		check: sources.every((source) => source.check === null)
			? null
			: (row) => sourceOf(row).check?.(placeOf(row)),
		dimensions: (row) => sourceOf(row).dimensions(placeOf(row)),
	};
}

/** Null where the field is no list of geometries. `hint`: what an empty collection is. */
export function collectionShape(field: Field, hint: Dimensions = 0): GeometryShape | null {
	if (field.type.kind !== "list" && field.type.kind !== "large_list") return null;
	if (field.dictionary !== null) return null;
	const kind = field.type.kind;
	const inner = unionShape(field.children[0]!);
	if (inner === null) return null;
	return {
		bind(array) {
			const offsets = offsetsOf(array, kind);
			const items = inner.bind(array.children[0]!);
			const isNull = nullTest(array) ?? (() => false);
			const dimensions = (row: number) =>
				offsets[row]! < offsets[row + 1]! ? items.dimensions(offsets[row]!) : hint;
			return {
				isNull,
				dimensions,
				size(row) {
					let bytes = 9;
					for (let i = offsets[row]!; i < offsets[row + 1]!; i++) bytes += items.size(i);
					return bytes;
				},
				write(out, row) {
					writeHeader(out, wkbType.geometrycollection, dimensions(row));
					const last = writeCount(out, offsets, row);
					for (let i = offsets[row]!; i < last; i++) items.write(out, i);
				},
				check(row) {
					const own = dimensions(row);
					for (let i = offsets[row]!; i < offsets[row + 1]!; i++) {
						const at = i - offsets[row]!;
						if (items.isNull(i)) fail(`part ${at} of the geometry is null`);
						items.check?.(i);
						const other = items.dimensions(i);
						if (other === own) continue;
						fail(`part ${at} of an ${dimensionNames[own]} collection is ${dimensionNames[other]}`);
					}
				},
			};
		},
	};
}

function fail(detail: string): never {
	throw new IngestError("invalid_arrow", detail);
}
