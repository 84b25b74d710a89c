/**
 * Every spelling of geometry as the one that DuckDB reads as GEOMETRY: `geoarrow.wkb`.
 *
 * In: a field, then its arrays, structurally checked. Out: the engine's field, and
 * arrays of WKB. WKB is checked and passed on as it is; WKT is parsed; the native
 * encodings are written as WKB in two passes, sizes and bytes, into one buffer.
 *
 * Decisions:
 * - The CRS goes into the type where DuckDB keeps it; else warning `crs_dropped`,
 *   also for an SRID inside EWKB, and for edges that are not planar, which DuckDB
 *   refuses: the coordinates land, the meaning between them is named in the warning.
 * - An extension name on storage that is not its own is `invalid_arrow`.
 */

import { IngestError } from "../errors.ts";
import type { Warning } from "../flow.ts";
import type { Place } from "./check/check-place.ts";
import type { Codecs } from "./codecs.ts";
import { boxShape } from "./geo/geoarrow-box.ts";
import { checkedWkb, wkbFromNative, wkbFromWkt } from "./geo/geoarrow-convert.ts";
import { engineCrs } from "./geo/geoarrow-crs.ts";
import {
	extensionMetadataKey,
	extensionName,
	extensionNameKey,
	geoMetadata,
	isBinary,
	isText,
	withoutExtension,
} from "./geo/geoarrow-metadata.ts";
import { type GeometryShape, nativeShape } from "./geo/geoarrow-native.ts";
import { collectionShape, unionShape } from "./geo/geoarrow-union.ts";
import type { ArrayData, Field } from "./types.ts";

export interface GeoPlan {
	/** Name and nullability as before, `geoarrow.wkb` on a binary type. */
	field: Field;
	/** Grows while arrays are converted: an SRID is met only there. */
	warnings: Warning[];
	/** The array is of `field`'s old type, its structure checked; buffers may be shared with the result. */
	convert(array: ArrayData, place: Place): ArrayData;
}

type Encoding = { kind: "wkb" } | { kind: "wkt" } | { kind: "native"; shape: GeometryShape };

/** Null: the field is no geometry. `column` is its path, for messages. */
export function geoPlan(field: Field, codecs: Codecs, column = field.name): GeoPlan | null {
	const name = extensionName(field);
	if (name === null) return null;
	const encoding = encodingOf(name, field, column);
	if (encoding === null) return null;
	const warnings: Warning[] = [];
	const warnOnce = (detail: string, code: Warning["code"] = "crs_dropped") => {
		if (!warnings.some((warning) => warning.detail === detail)) {
			warnings.push({ code, column, detail });
		}
	};
	if (encoding.kind === "native" && "dropsBounds" in encoding.shape && encoding.shape.dropsBounds) {
		warnOnce("the box's bounds in Z and M are not kept: a polygon has none", "lossy_cast");
	}
	const onSrid = (srid: number) => {
		if (srid !== 0)
			warnOnce(`SRID ${srid} of the values is not kept: GEOMETRY has no place for it`);
	};
	return {
		field: engineField(field, encoding, warnOnce),
		warnings,
		convert: converter(field, encoding, codecs, onSrid),
	};
}

function encodingOf(name: string, field: Field, column: string): Encoding | null {
	const { kind } = field.type;
	switch (name) {
		case "geoarrow.wkb":
		case "ogc.wkb":
		case "WKB":
			return isBinary(kind) && !field.dictionary ? { kind: "wkb" } : wrongStorage();
		case "geoarrow.wkt":
		case "ogc.wkt":
		case "WKT":
			return isText(kind) && !field.dictionary ? { kind: "wkt" } : wrongStorage();
		case "geoarrow.point":
		case "geoarrow.linestring":
		case "geoarrow.polygon":
		case "geoarrow.multipoint":
		case "geoarrow.multilinestring":
		case "geoarrow.multipolygon": {
			const native = name.slice("geoarrow.".length) as Parameters<typeof nativeShape>[0];
			return fromShape(nativeShape(native, field));
		}
		case "geoarrow.box":
			return fromShape(boxShape(field));
		case "geoarrow.geometry":
			return fromShape(unionShape(field));
		case "geoarrow.geometrycollection":
			return fromShape(collectionShape(field));
		default:
			return null;
	}

	function fromShape(shape: GeometryShape | null): Encoding {
		return shape === null ? wrongStorage() : { kind: "native", shape };
	}

	function wrongStorage(): never {
		const detail = `extension ${name} on storage ${kind}, which is not that of its specification`;
		throw new IngestError("invalid_arrow", detail, { column, arrow_type: name });
	}
}

function engineField(field: Field, encoding: Encoding, warn: (detail: string) => void): Field {
	const { crs, edges, unreadable } = geoMetadata(field);
	if (unreadable) warn("the extension metadata is neither JSON nor a list of keys and values");
	const engine = engineCrs(crs);
	if (engine !== null && engine.kept === null) {
		warn(`CRS ${engine.label} is not kept: DuckDB's GEOMETRY type takes no such definition`);
	}
	if (edges !== null) {
		warn(`edges "${edges}" are not kept: DuckDB's GEOMETRY knows straight lines in the plane only`);
	}
	const encoder = new TextEncoder();
	const metadata = new Map(withoutExtension(field.metadata));
	metadata.set(extensionNameKey, encoder.encode("geoarrow.wkb"));
	const parameters = engine?.kept ? JSON.stringify({ crs: engine.kept }) : "{}";
	metadata.set(extensionMetadataKey, encoder.encode(parameters));
	// 64-bit offsets: WKB can be larger than the coordinates that it is made of.
	const type = encoding.kind === "wkb" ? field.type : { kind: "large_binary" as const };
	return { ...field, type, children: [], metadata };
}

function converter(
	field: Field,
	encoding: Encoding,
	codecs: Codecs,
	onSrid: (srid: number) => void,
): GeoPlan["convert"] {
	const { type } = field;
	switch (encoding.kind) {
		case "wkb":
			return (array, place) => checkedWkb(array, field, codecs, onSrid, place);
		case "wkt":
			return (array, place) => wkbFromWkt(array, type, codecs, onSrid, place);
		case "native":
			return (array, place) =>
				wkbFromNative(encoding.shape.bind(array), array.length, codecs, place);
	}
}
