/**
 * In: a type, a field or metadata. Out: how `struct ArrowSchema` spells it.
 *
 * A dictionary-encoded field is two C schemas: the outer one has the format of
 * `field.dictionary.indexType`, its `dictionary` the format of `field.type`.
 *
 * Spec: https://arrow.apache.org/docs/format/CDataInterface.html#data-type-description-format-strings
 */

import type { ArrowType, Field, Metadata, TimeUnit } from "./types.ts";

/** As `ARROW_FLAG_*` of the specification. */
const flags = { dictionaryOrdered: 1, nullable: 2, mapKeysSorted: 4 } as const;

const plain = {
	null: "n",
	bool: "b",
	utf8: "u",
	large_utf8: "U",
	utf8_view: "vu",
	binary: "z",
	large_binary: "Z",
	binary_view: "vz",
	list: "+l",
	large_list: "+L",
	list_view: "+vl",
	large_list_view: "+vL",
	struct: "+s",
	map: "+m",
	run_end_encoded: "+r",
} as const;

const signedInts = { 8: "c", 16: "s", 32: "i", 64: "l" } as const;
const unsignedInts = { 8: "C", 16: "S", 32: "I", 64: "L" } as const;
const floats = { 16: "e", 32: "f", 64: "g" } as const;
const intervals = { month: "tiM", day_time: "tiD", month_day_nano: "tin" } as const;
const unitLetters = { s: "s", ms: "m", us: "u", ns: "n" } as const satisfies Record<
	TimeUnit,
	string
>;

/** The format string of one type, its children apart. */
export function cDataFormat(type: ArrowType): string {
	switch (type.kind) {
		case "int":
			return (type.signed ? signedInts : unsignedInts)[type.bits];
		case "float":
			return floats[type.bits];
		case "decimal": {
			const width = type.bits === 128 ? "" : `,${type.bits}`;
			return `d:${type.precision},${type.scale}${width}`;
		}
		case "date":
			return type.unit === "day" ? "tdD" : "tdm";
		case "time":
			return `tt${unitLetters[type.unit]}`;
		case "timestamp":
			return `ts${unitLetters[type.unit]}:${type.zone ?? ""}`;
		case "duration":
			return `tD${unitLetters[type.unit]}`;
		case "interval":
			return intervals[type.unit];
		case "fixed_size_binary":
			return `w:${type.byteWidth}`;
		case "fixed_size_list":
			return `+w:${type.size}`;
		case "union":
			return `+u${type.mode === "dense" ? "d" : "s"}:${type.typeIds.join(",")}`;
		default:
			return plain[type.kind];
	}
}

/** `ArrowSchema.flags` of one field. */
export function cDataFlags(field: Field): number {
	let bits = 0;
	if (field.dictionary?.ordered) bits |= flags.dictionaryOrdered;
	if (field.nullable) bits |= flags.nullable;
	if (field.type.kind === "map" && field.type.keysSorted) bits |= flags.mapKeysSorted;
	return bits;
}

/**
 * `ArrowSchema.metadata`: int32 number of pairs, then per pair int32 length and
 * bytes of the key, int32 length and bytes of the value, all in the byte order of
 * this machine. Null where there is none.
 */
export function encodeMetadata(metadata: Metadata): Uint8Array | null {
	if (metadata.size === 0) return null;
	const encoder = new TextEncoder();
	const parts: Uint8Array[] = [int32(metadata.size)];
	for (const [key, value] of metadata) {
		const keyBytes = encoder.encode(key);
		parts.push(int32(keyBytes.length), keyBytes, int32(value.length), value);
	}
	const encoded = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
	let at = 0;
	for (const part of parts) {
		encoded.set(part, at);
		at += part.length;
	}
	return encoded;
}

/** Typed arrays have the machine's byte order, unlike a DataView. */
function int32(value: number): Uint8Array {
	return new Uint8Array(Int32Array.of(value).buffer);
}
