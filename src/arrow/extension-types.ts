/**
 * The extension types that DuckDB gives a meaning of its own, geometry aside.
 *
 * In: a field. Out: whether its storage is that of its extension, a check of its
 * values, and the field as the engine may see it. DuckDB follows an extension's
 * name without a look at the storage and reads past its end; so a name passes only
 * on the storage that belongs to it, and a name that DuckDB doesn't know is taken
 * off: such a column loads as its storage.
 *
 * Names that DuckDB 1.5.5 registers, found by trying: arrow.uuid, arrow.json,
 * arrow.bool8, geoarrow.wkb (geoarrow.ts), and arrow.opaque of vendor `DuckDB` with
 * type_name hugeint, uhugeint, bit, bignum, time_tz; names compare with their case.
 * Any other opaque type is a blob to it. `varint` is what bignum was called before
 * DuckDB 1.4.
 *
 * Spec: https://arrow.apache.org/docs/format/CanonicalExtensions.html
 */

import { IngestError } from "../errors.ts";
import { type Place, refuseValue } from "./check/check-place.ts";
import { createJsonChecker } from "./check/json-check.ts";
import { createValueCursor, type ValueCursor } from "./check/value-cursor.ts";
import {
	extensionMetadataKey,
	extensionName,
	extensionNameKey,
	isBinary,
	isText,
	withoutExtension,
} from "./geo/geoarrow-metadata.ts";
import { typeName } from "./type-name.ts";
import type { ArrayData, ArrowType, Field, Metadata } from "./types.ts";

interface Extension {
	/** For messages. */
	storage: string;
	isStorage(type: ArrowType): boolean;
	/** Says what is wrong with the value under the cursor; null: nothing. */
	findFault: ((value: ValueCursor) => string | null) | null;
	/** What the engine shall see as the extension's metadata. */
	metadata: string;
}

const fixedSizeBinary = (width: number) => ({
	storage: `fixed_size_binary[${width}]`,
	isStorage: (type: ArrowType) => type.kind === "fixed_size_binary" && type.byteWidth === width,
});
const anyBinary = {
	storage: "binary, large_binary or binary_view",
	isStorage: (type: ArrowType) => isBinary(type.kind),
};
const opaque = (name: string) => JSON.stringify({ type_name: name, vendor_name: "DuckDB" });

const json = createJsonChecker();

const canonical: Record<string, Extension> = {
	"arrow.uuid": { ...fixedSizeBinary(16), findFault: null, metadata: "" },
	"arrow.bool8": {
		storage: "int8",
		isStorage: (type) => type.kind === "int" && type.bits === 8 && type.signed,
		findFault: null,
		metadata: "",
	},
	"arrow.json": {
		storage: "utf8, large_utf8 or utf8_view",
		isStorage: (type) => isText(type.kind),
		findFault({ bytes, start, end }) {
			const at = json.findFault(bytes, start, end);
			return at < 0 ? null : `not valid JSON at byte ${at - start} of ${end - start}`;
		},
		metadata: "",
	},
};

const bignum: Extension = { ...anyBinary, findFault: findBignumFault, metadata: opaque("bignum") };
const opaqueOfDuckdb: Record<string, Extension> = {
	hugeint: { ...fixedSizeBinary(16), findFault: null, metadata: opaque("hugeint") },
	uhugeint: { ...fixedSizeBinary(16), findFault: null, metadata: opaque("uhugeint") },
	time_tz: { ...fixedSizeBinary(8), findFault: findTimeTzFault, metadata: opaque("time_tz") },
	bit: { ...anyBinary, findFault: findBitFault, metadata: opaque("bit") },
	bignum,
	varint: bignum,
};

/** The metadata of a field whose storage is that of DuckDB's type of this name. */
export function withDuckdbType(metadata: Metadata, name: "hugeint" | "uhugeint"): Metadata {
	const encoder = new TextEncoder();
	return new Map(metadata)
		.set(extensionNameKey, encoder.encode("arrow.opaque"))
		.set(extensionMetadataKey, encoder.encode(opaqueOfDuckdb[name]!.metadata));
}

/** Throws `invalid_arrow` when the field's extension is one of DuckDB's on storage of another type. */
export function checkExtensionStorage(field: Field, column = field.name): void {
	const extension = extensionOf(field);
	const { type } = storageOf(field);
	if (extension === null || extension.isStorage(type)) return;
	throw new IngestError(
		"invalid_arrow",
		`column ${column}: extension ${extensionName(field)} on storage ${typeName({ ...storageOf(field), metadata: new Map() })}, expected ${extension.storage}`,
		{ column, arrow_type: typeName(field) },
	);
}

/**
 * Checks the values of an array of the field's storage (of a dictionary-encoded
 * field: of its dictionary) whose structure has been checked. Null: there is
 * nothing to check. Throws at once where the storage is not the extension's.
 */
export function extensionCheck(
	field: Field,
	column = field.name,
): ((array: ArrayData, place: Place) => void) | null {
	checkExtensionStorage(field, column);
	if (field.type.kind === "run_end_encoded") return null;
	const findFault = extensionOf(field)?.findFault;
	if (!findFault) return null;
	const { type } = field;
	return (array, place) => {
		const cursor = createValueCursor(type, array);
		for (let row = 0; row < array.length; row++) {
			if (cursor.isNull(row)) continue;
			cursor.seek(row);
			const fault = findFault(cursor);
			if (fault !== null) refuseValue(place, row, "invalid_arrow", fault);
		}
	};
}

/** The field with an extension that DuckDB reads rightly, or none. Only after `checkExtensionStorage`. */
export function engineExtension(field: Field): Field {
	const name = extensionName(field);
	if (!field.metadata.has(extensionNameKey) && !field.metadata.has(extensionMetadataKey))
		return field;
	const metadata = new Map(withoutExtension(field.metadata));
	const extension = extensionOf(field);
	if (name !== null && extension !== null) {
		const encoder = new TextEncoder();
		metadata.set(extensionNameKey, encoder.encode(name));
		metadata.set(extensionMetadataKey, encoder.encode(extension.metadata));
	}
	return { ...field, metadata };
}

function extensionOf(field: Field): Extension | null {
	const name = extensionName(field);
	if (name === null) return null;
	if (name !== "arrow.opaque") return Object.hasOwn(canonical, name) ? canonical[name]! : null;
	try {
		const bytes = field.metadata.get(extensionMetadataKey) ?? new Uint8Array(0);
		const { type_name, vendor_name } = JSON.parse(new TextDecoder().decode(bytes));
		const isKnown = vendor_name === "DuckDB" && Object.hasOwn(opaqueOfDuckdb, String(type_name));
		return isKnown ? opaqueOfDuckdb[type_name]! : null;
	} catch {
		return null;
	}
}

/** A run-end encoded field has its values' type as storage; a dictionary's is its `type` already. */
function storageOf(field: Field): Field {
	return field.type.kind === "run_end_encoded" ? storageOf(field.children[1]!) : field;
}

/** Microseconds of a day. */
const dayMicroseconds = 86_400_000_000n;
/** Seconds of the largest offset, 15:59:59 either way; DuckDB stores this minus the offset. */
const maxOffsetSeconds = 57_599n;

/** 64 bits, little-endian: the upper 40 microseconds of the day, the lower 24 the offset. */
function findTimeTzFault({ view, start }: ValueCursor): string | null {
	const bits = view.getBigUint64(start, true);
	const microseconds = bits >> 24n;
	const offset = maxOffsetSeconds - (bits & 0xff_ffffn);
	if (microseconds > dayMicroseconds)
		return `a time of ${microseconds} microseconds, over 24 hours`;
	if (offset < -maxOffsetSeconds) return `an offset of ${offset} seconds, beyond 15:59:59`;
	return null;
}

/** A byte that says how many bits are padding, then the bits, the padding first and set. */
function findBitFault({ bytes, start, end }: ValueCursor): string | null {
	if (end - start < 2) return `a bit string of ${end - start} bytes, the shortest has 2`;
	const padding = bytes[start]!;
	if (padding > 7) return `a bit string with ${padding} bits of padding, at most 7`;
	const mask = (0xff << (8 - padding)) & 0xff;
	if ((bytes[start + 1]! & mask) !== mask) return "a bit string whose padding is not set";
	return null;
}

/**
 * Three bytes, big-endian: the count of bytes with the top bit set; then the
 * magnitude, big-endian. Of a negative number all bits are inverted.
 */
function findBignumFault({ bytes, start, end }: ValueCursor): string | null {
	const size = end - start - 3;
	if (size < 1) return `a bignum of ${end - start} bytes, the shortest has 4`;
	const header = (bytes[start]! << 16) | (bytes[start + 1]! << 8) | bytes[start + 2]!;
	const isNegative = (header & 0x80_0000) === 0;
	const declared = (isNegative ? ~header : header) & 0x7f_ffff;
	if (declared !== size) return `a bignum that declares ${declared} bytes and has ${size}`;
	const first = isNegative ? ~bytes[start + 3]! & 0xff : bytes[start + 3]!;
	if (first === 0 && (size > 1 || isNegative))
		return "a bignum with a leading zero, or negative zero";
	return null;
}
