/**
 * The words of well-known binary: geometry types, dimensions and their numbers.
 *
 * ISO 13249-3 writes a geometry's type as `type + 1000 * dimensions`; EWKB sets
 * bits instead. Spec: https://libgeos.org/specifications/wkb/
 */

/** Types that DuckDB's GEOMETRY holds; a type's WKB number is its index + 1. */
export const geometryTypes = [
	"POINT",
	"LINESTRING",
	"POLYGON",
	"MULTIPOINT",
	"MULTILINESTRING",
	"MULTIPOLYGON",
	"GEOMETRYCOLLECTION",
] as const;
export type GeometryType = (typeof geometryTypes)[number];

/** WKB numbers of the types, by name. */
export const wkbType = {
	point: 1,
	linestring: 2,
	polygon: 3,
	multipoint: 4,
	multilinestring: 5,
	multipolygon: 6,
	geometrycollection: 7,
} as const;

/** Types that WKB and WKT know beyond those, from number 8 on; GEOMETRY has none of them. */
export const otherGeometryTypes = [
	"CIRCULARSTRING",
	"COMPOUNDCURVE",
	"CURVEPOLYGON",
	"MULTICURVE",
	"MULTISURFACE",
	"CURVE",
	"SURFACE",
	"POLYHEDRALSURFACE",
	"TIN",
	"TRIANGLE",
] as const;

/** 0 XY, 1 XYZ, 2 XYM, 3 XYZM: the thousands of an ISO type number. */
export type Dimensions = 0 | 1 | 2 | 3;
export const dimensionNames = ["XY", "XYZ", "XYM", "XYZM"] as const;
/** Numbers of one coordinate, by dimensions. */
export const ordinates = [2, 3, 3, 4] as const;

/** EWKB's bits of the type number. */
export const ewkbZ = 0x80000000;
export const ewkbM = 0x40000000;
export const ewkbSrid = 0x20000000;

/**
 * Levels of nesting that DuckDB's GEOMETRY has, the value itself included
 * (measured: 15 collections around a point are read, 16 are refused).
 */
export const maxGeometryNesting = 16;
