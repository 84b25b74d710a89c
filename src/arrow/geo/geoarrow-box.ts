/**
 * `geoarrow.box` as a source of WKB: a box becomes the polygon of its corners,
 * anticlockwise from the lower left; one whose bounds are all NaN, or infinite and
 * swapped as an empty extent is written, becomes POLYGON EMPTY.
 *
 * GEOMETRY has no solids: bounds in Z and M don't land, and the plan warns of it.
 * A box that crosses the antimeridian (xmin > xmax) becomes two polygons, one to
 * 180 and one from -180 degrees.
 *
 * Spec: https://geoarrow.org/format.html#memory-layouts, "Box"
 */

import { IngestError } from "../../errors.ts";
import type { Field } from "../types.ts";
import { doublesOf, nullTest } from "./geoarrow-buffers.ts";
import type { WkbOutput } from "./geoarrow-coordinates.ts";
import { type GeometryShape, writeHeader } from "./geoarrow-native.ts";
import { wkbType } from "./wkb-types.ts";

const boundsByDimensions = [
	["xmin", "ymin", "xmax", "ymax"],
	["xmin", "ymin", "zmin", "xmax", "ymax", "zmax"],
	["xmin", "ymin", "mmin", "xmax", "ymax", "mmax"],
	["xmin", "ymin", "zmin", "mmin", "xmax", "ymax", "zmax", "mmax"],
];

const emptyPolygonBytes = 9;
/** Header, count of rings, count of points, five points. */
const boxBytes = 5 + 4 + 4 + 5 * 16;
const multiHeaderBytes = 9;

export interface BoxShape extends GeometryShape {
	/** Has bounds that a polygon in the plane doesn't keep. */
	dropsBounds: boolean;
}

/** Null where the field is no box. */
export function boxShape(field: Field): BoxShape | null {
	if (field.type.kind !== "struct" || field.dictionary !== null) return null;
	const names = field.children.map((child) => child.name.toLowerCase());
	const known = boundsByDimensions.find((bounds) => bounds.join() === names.join());
	if (known === undefined || !field.children.every(({ type }) => type.kind === "float"))
		return null;
	const columns = ["xmin", "ymin", "xmax", "ymax"].map((name) => names.indexOf(name));
	return {
		dropsBounds: names.length > 4,
		bind(array) {
			const read = (column: number) => {
				const { type } = field.children[column]!;
				return doublesOf(array.children[column]!, type.kind === "float" ? type.bits : 64);
			};
			const [xmin, ymin, xmax, ymax] = columns.map(read) as [
				Float64Array,
				Float64Array,
				Float64Array,
				Float64Array,
			];
			const tests = columns
				.map((column) => nullTest(array.children[column]!))
				.filter((test) => test !== null);
			const isEmpty = (row: number) =>
				(Number.isNaN(xmin[row]) && Number.isNaN(xmax[row])) ||
				(xmin[row] === Infinity && xmax[row] === -Infinity);
			const isWrapped = (row: number) => xmin[row]! > xmax[row]!;
			return {
				isNull: nullTest(array) ?? (() => false),
				dimensions: () => 0,
				size(row) {
					if (isEmpty(row)) return emptyPolygonBytes;
					return isWrapped(row) ? multiHeaderBytes + 2 * boxBytes : boxBytes;
				},
				write(out, row) {
					if (isEmpty(row)) {
						writeHeader(out, wkbType.polygon, 0);
						writeUint32(out, 0);
					} else if (isWrapped(row)) {
						writeHeader(out, wkbType.multipolygon, 0);
						writeUint32(out, 2);
						writeBox(out, xmin[row]!, ymin[row]!, 180, ymax[row]!);
						writeBox(out, -180, ymin[row]!, xmax[row]!, ymax[row]!);
					} else {
						writeBox(out, xmin[row]!, ymin[row]!, xmax[row]!, ymax[row]!);
					}
				},
				check(row) {
					if (tests.some((isNull) => isNull(row))) fail("a bound of the box is null");
					if (isEmpty(row)) return;
					if (ymin[row]! > ymax[row]!) fail(`ymin ${ymin[row]} is above ymax ${ymax[row]}`);
					if (isWrapped(row) && (xmin[row]! > 180 || xmax[row]! < -180)) {
						fail(`xmin ${xmin[row]} is above xmax ${xmax[row]}, and they are no degrees`);
					}
				},
			};
		},
	};
}

function writeBox(out: WkbOutput, xmin: number, ymin: number, xmax: number, ymax: number): void {
	writeHeader(out, wkbType.polygon, 0);
	writeUint32(out, 1);
	writeUint32(out, 5);
	for (const value of [xmin, ymin, xmax, ymin, xmax, ymax, xmin, ymax, xmin, ymin]) {
		out.view.setFloat64(out.position, value, true);
		out.position += 8;
	}
}

function writeUint32(out: WkbOutput, value: number): void {
	out.view.setUint32(out.position, value, true);
	out.position += 4;
}

function fail(detail: string): never {
	throw new IngestError("invalid_arrow", detail);
}
