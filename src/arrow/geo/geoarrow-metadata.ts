/**
 * What a field says of its geometry: encoding, CRS, edges.
 *
 * In: a field's extension metadata and, for older writers and GeoParquet, the
 * schema's `geo`. Out: one plain object. Three spellings are read: GeoArrow's JSON,
 * the binary key-value list of GeoArrow before 0.1 (int32 count, then length and
 * bytes of each key and value), where children could carry `crs` and `edges`, and
 * the JSON of GeoParquet, under which column names stand.
 *
 * Specs: https://geoarrow.org/extension-types.html#extension-metadata,
 * https://geoparquet.org/releases/v1.1.0/
 */

import type { ArrowType, Field, Metadata, Schema } from "../types.ts";

export const extensionNameKey = "ARROW:extension:name";
export const extensionMetadataKey = "ARROW:extension:metadata";

export interface GeoMetadata {
	/** As written; undefined: not said, null: said to be unknown. */
	crs: unknown;
	/** Null: planar, or not said. */
	edges: string | null;
	/** The metadata could not be read at all. */
	unreadable: boolean;
}

/** The extension's name, or null. Bytes that are not UTF-8 are no name we know. */
export function extensionName(field: Field): string | null {
	const bytes = field.metadata.get(extensionNameKey);
	return bytes === undefined ? null : decodeText(bytes);
}

/** Of a geometry field: its own metadata first, then that of the encodings inside it. */
export function geoMetadata(field: Field): GeoMetadata {
	const found: GeoMetadata = { crs: undefined, edges: null, unreadable: false };
	for (let level: Field | undefined = field; level !== undefined; level = level.children[0]) {
		const bytes = level.metadata.get(extensionMetadataKey);
		if (bytes === undefined || bytes.length === 0) continue;
		const entries = parseEntries(bytes);
		if (entries === null) {
			found.unreadable = true;
			continue;
		}
		found.crs ??= entries.crs;
		const edges = entries.edges;
		if (typeof edges === "string" && edges !== "planar") found.edges ??= edges;
	}
	return found;
}

/**
 * The schema with what its `geo` metadata says written to the fields: a binary or
 * text column that it calls WKB or WKT becomes such an extension, and a geometry
 * without CRS or edges of its own gets those. Columns whose storage is not what
 * `geo` says stay as they are.
 */
export function withGeoMetadata<S extends Schema>(schema: S): S {
	const bytes = schema.metadata.get("geo");
	if (bytes === undefined) return schema;
	const geo = parseJsonObject(bytes);
	const columns = asObject(geo?.columns);
	if (geo === null || columns === null) return schema;
	// GeoParquet 1.0 and later: "If the key is not provided, the CRS is OGC:CRS84".
	const defaultCrs = /^1\./.test(String(geo.version)) ? "OGC:CRS84" : undefined;
	const fields = schema.fields.map((field) => {
		const column = asObject(Object.hasOwn(columns, field.name) ? columns[field.name] : null);
		return column === null ? field : withColumnMetadata(field, column, defaultCrs);
	});
	return { ...schema, fields };
}

function withColumnMetadata(
	field: Field,
	column: Record<string, unknown>,
	defaultCrs: string | undefined,
): Field {
	const encoding = String(column.encoding);
	const ownName = extensionName(field);
	const name = ownName ?? impliedExtension(encoding, field);
	if (name === null || !/^(geoarrow\.\w+|ogc\.wk[bt]|wk[bt])$/i.test(name)) return field;
	const own = geoMetadata(field);
	const crs = own.crs !== undefined ? own.crs : "crs" in column ? column.crs : defaultCrs;
	const edges = own.edges ?? column.edges;
	const metadata = new Map(field.metadata);
	const encoder = new TextEncoder();
	metadata.set(extensionNameKey, encoder.encode(name));
	metadata.set(extensionMetadataKey, encoder.encode(JSON.stringify({ crs, edges })));
	return { ...field, metadata };
}

/** Of a column without an extension name, as GeoParquet readers hand them on. */
function impliedExtension(encoding: string, field: Field): string | null {
	const kind = field.type.kind;
	if (/^wkb$/i.test(encoding)) return isBinary(kind) ? "geoarrow.wkb" : null;
	if (/^wkt$/i.test(encoding)) return isText(kind) ? "geoarrow.wkt" : null;
	const native = /^(?:geoarrow\.)?(point|(?:multi)?(?:linestring|polygon)|multipoint)$/.exec(
		encoding,
	);
	if (native === null) return null;
	const isCoordinates = kind === "struct" || kind === "fixed_size_list";
	const hasShape = native[1] === "point" ? isCoordinates : kind === "list" || kind === "large_list";
	return hasShape ? `geoarrow.${native[1]}` : null;
}

export function isBinary(kind: ArrowType["kind"]): boolean {
	return kind === "binary" || kind === "large_binary" || kind === "binary_view";
}

export function isText(kind: ArrowType["kind"]): boolean {
	return kind === "utf8" || kind === "large_utf8" || kind === "utf8_view";
}

/** Metadata without extension keys: the field is its storage. */
export function withoutExtension(metadata: Metadata): Metadata {
	const rest = new Map(metadata);
	rest.delete(extensionNameKey);
	rest.delete(extensionMetadataKey);
	return rest;
}

function parseEntries(bytes: Uint8Array): Record<string, unknown> | null {
	return parseJsonObject(bytes) ?? parseBinaryEntries(bytes);
}

function parseJsonObject(bytes: Uint8Array): Record<string, unknown> | null {
	const text = decodeText(bytes);
	if (text === null || !text.trimStart().startsWith("{")) return null;
	try {
		return asObject(JSON.parse(text));
	} catch {
		return null;
	}
}

function parseBinaryEntries(bytes: Uint8Array): Record<string, unknown> | null {
	const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
	let position = 0;
	const readText = () => {
		if (position + 4 > bytes.length) return null;
		const length = view.getInt32(position, true);
		position += 4;
		if (length < 0 || position + length > bytes.length) return null;
		position += length;
		return decodeText(bytes.subarray(position - length, position));
	};
	if (bytes.length < 4) return null;
	const count = view.getInt32(0, true);
	position = 4;
	// Every entry has two lengths of 4 bytes.
	if (count < 0 || count > (bytes.length - 4) / 8) return null;
	const entries: Record<string, unknown> = {};
	for (let entry = 0; entry < count; entry++) {
		const key = readText();
		const value = readText();
		if (key === null || value === null) return null;
		if (key === "crs" || key === "edges") entries[key] = value;
	}
	return position === bytes.length ? entries : null;
}

function asObject(value: unknown): Record<string, unknown> | null {
	return typeof value === "object" && value !== null && !Array.isArray(value)
		? (value as Record<string, unknown>)
		: null;
}

function decodeText(bytes: Uint8Array): string | null {
	try {
		return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
	} catch {
		return null;
	}
}
