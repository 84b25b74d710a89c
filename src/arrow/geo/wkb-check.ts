/**
 * Checks one WKB value before DuckDB sees it: in, the bytes of a value; out,
 * nothing, or an IngestError that says what is wrong at which byte of the value.
 *
 * ISO WKB and EWKB, of either byte order, also mixed, as DuckDB reads them; it
 * turns all of them into little-endian ISO WKB itself. An SRID is handed to
 * `onSrid`: GEOMETRY has no place for one.
 */

import { IngestError } from "../../errors.ts";
import {
	dimensionNames,
	ewkbM,
	ewkbSrid,
	ewkbZ,
	geometryTypes,
	maxGeometryNesting,
	ordinates,
	otherGeometryTypes,
	wkbType,
} from "./wkb-types.ts";

/** `[start, end)` of `view` is one WKB value; `onSrid` is called for every SRID in it. */
export function checkWkb(
	view: DataView,
	start: number,
	end: number,
	onSrid: (srid: number) => void,
): void {
	const next = checkGeometry(view, start, start, end, 1, -1, 0, onSrid);
	if (next !== end) {
		fail(`the geometry ends at byte ${next - start}, ${end - next} bytes before its value does`);
	}
}

/** Returns the position after the geometry. `dimensions` -1: any; `onlyType` 0: any. */
function checkGeometry(
	view: DataView,
	start: number,
	position: number,
	end: number,
	depth: number,
	dimensions: number,
	onlyType: number,
	onSrid: (srid: number) => void,
): number {
	const at = position - start;
	if (end - position < 5) fail(`${end - position} bytes at byte ${at}, where a geometry needs 5`);
	// Offsets: 0 byte order (0 big, 1 little), 1 type, 5 SRID where its bit is set.
	const order = view.getUint8(position);
	if (order > 1) fail(`byte order ${order} at byte ${at}, which is neither 0 nor 1`);
	const little = order === 1;
	const code = view.getUint32(position + 1, little);
	position += 5;

	const isoCode = code & ~(ewkbZ | ewkbM | ewkbSrid);
	const thousands = Math.trunc(isoCode / 1000);
	const type = isoCode - thousands * 1000;
	if (thousands > 3 || type === 0) fail(`unknown geometry type ${code} at byte ${at}`);
	if (type > geometryTypes.length) {
		const name = otherGeometryTypes[type - geometryTypes.length - 1] ?? `type ${type}`;
		unsupported(`DuckDB's GEOMETRY has no ${name} (at byte ${at})`);
	}
	const hasZ = (code & ewkbZ) !== 0 || (thousands & 1) === 1 ? 1 : 0;
	const hasM = (code & ewkbM) !== 0 || (thousands & 2) === 2 ? 2 : 0;
	const ownDimensions = hasZ | hasM;
	if (dimensions >= 0 && ownDimensions !== dimensions) {
		const names = `${dimensionNames[ownDimensions]} inside ${dimensionNames[dimensions]}`;
		fail(`geometries of different dimensions, ${names}, at byte ${at}`);
	}
	if (onlyType !== 0 && type !== onlyType) {
		fail(`${geometryTypes[type - 1]} at byte ${at}, expected ${geometryTypes[onlyType - 1]}`);
	}
	if ((code & ewkbSrid) !== 0) {
		if (end - position < 4) fail(`the value ends inside the SRID at byte ${position - start}`);
		onSrid(view.getUint32(position, little));
		position += 4;
	}

	const coordinateBytes = 8 * ordinates[ownDimensions as 0];
	if (type === wkbType.point) return skip(start, position, end, 1, coordinateBytes);

	const count = readCount(view, start, position, end, little);
	position += 4;
	if (type === wkbType.linestring) return skip(start, position, end, count, coordinateBytes);
	if (type === wkbType.polygon) {
		for (let ring = 0; ring < count; ring++) {
			const points = readCount(view, start, position, end, little);
			position = skip(start, position + 4, end, points, coordinateBytes);
		}
		return position;
	}
	const isCollection = type === wkbType.geometrycollection;
	if (isCollection && depth >= maxGeometryNesting && count > 0) {
		unsupported(`geometries nested deeper than ${maxGeometryNesting}, which is all GEOMETRY takes`);
	}
	for (let part = 0; part < count; part++) {
		const partType = isCollection ? 0 : type - 3;
		position = checkGeometry(
			view,
			start,
			position,
			end,
			depth + 1,
			ownDimensions,
			partType,
			onSrid,
		);
	}
	return position;
}

function readCount(
	view: DataView,
	start: number,
	position: number,
	end: number,
	little: boolean,
): number {
	if (end - position < 4) fail(`the value ends inside the count at byte ${position - start}`);
	return view.getUint32(position, little);
}

function skip(start: number, position: number, end: number, count: number, bytes: number): number {
	const next = position + count * bytes;
	if (next > end) {
		const left = end - position;
		fail(
			`${count} coordinates of ${bytes} bytes at byte ${position - start}, but ${left} bytes left`,
		);
	}
	return next;
}

function fail(detail: string): never {
	throw new IngestError("invalid_arrow", `not valid WKB: ${detail}`);
}

function unsupported(detail: string): never {
	throw new IngestError("unsupported_type", detail);
}
