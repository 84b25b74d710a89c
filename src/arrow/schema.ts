/**
 * In: the Schema of a verified flatbuffer. Out: `Schema`, every field of which
 * has the shape its type asks for and a name that DuckDB can tell from the others.
 *
 * Refused: no columns, too many of them or too deep ones, names that are empty,
 * too long, no text or hold a NUL (a C string would end there), names that differ
 * only in ASCII case, children that do not belong to their type, and metadata
 * versions other than V4 and V5: before V4 (Arrow 0.8, 2017) buffers were laid out
 * differently, and what comes after V5 is not known.
 */

import type { Field as FlatField } from "apache-arrow/fb/field";
import { KeyValue } from "apache-arrow/fb/key-value";
import type { Schema as FlatSchema } from "apache-arrow/fb/schema";
import { Encoding } from "flatbuffers";
import { IngestError } from "../errors.ts";
import { type Limits, maxNameBytes } from "../limits.ts";
import { foldName } from "../table-name.ts";
import { withDuckdbType } from "./extension-types.ts";
import type { ArrowType, Field, Metadata, Schema } from "./types.ts";
import { decodeText, invalid, readInt, readInt128, readType } from "./wire/arrow-type.ts";

/** Schema.fbs, enum MetadataVersion: V4 is 3, V5 is 4. */
export const v4 = 3;
const v5 = 4;
/** All fields of all levels, for each column that is allowed. */
const fieldsPerColumn = 10;

export interface SentSchema extends Schema {
	/** Of every multi-byte value in the bodies; metadata is always little-endian. */
	bigEndian: boolean;
}

/** `version` is that of the message that holds the schema, or of the footer. */
export function readSchema(schema: FlatSchema, version: number, limits: Limits): SentSchema {
	checkVersion(version);
	const columns = schema.fieldsLength();
	if (columns === 0) {
		throw new IngestError("unsupported_type", "the schema has no columns; a table needs one");
	}
	checkLimit(columns, limits.maxColumns, "columns");
	const bigEndian = schema.endianness() === 1;
	const budget = { fields: limits.maxColumns * fieldsPerColumn, limits, bigEndian };
	const sent = Array.from({ length: columns }, (_, i) => schema.fields(i)!);
	return {
		fields: readFields(sent, null, 1, budget),
		metadata: readMetadata(schema),
		bigEndian,
	};
}

/** Messages of one stream may differ in version only where both are read alike; each is checked. */
export function checkVersion(version: number): void {
	if (version === v4 || version === v5) return;
	throw new IngestError(
		"invalid_arrow",
		`metadata version V${version + 1} is not read: V4 and V5 are (Arrow 0.8 and later); write the data again with a current Arrow library`,
	);
}

interface Budget {
	/** Fields that may still come, of all levels. */
	fields: number;
	limits: Limits;
	bigEndian: boolean;
}

interface Parent {
	path: string;
	type: ArrowType;
}

/** Siblings: all names first, then each field with what is below it. */
function readFields(
	fields: FlatField[],
	parent: Parent | null,
	depth: number,
	budget: Budget,
): Field[] {
	const named = parent === null || parent.type.kind === "struct" || parent.type.kind === "union";
	const names = fields.map((field) => readName(field, parent?.path ?? null, named));
	if (named) refuseCollisions(names, parent?.path ?? null);
	return fields.map((field, i) => readField(field, names[i]!, parent, depth, budget));
}

function readField(
	field: FlatField,
	name: string,
	parent: Parent | null,
	depth: number,
	budget: Budget,
): Field {
	const path = pathOf(parent, name);
	if (depth > budget.limits.maxNesting) {
		throw new IngestError(
			"too_large",
			`column ${path}: nested ${depth} levels deep, the limit is ${budget.limits.maxNesting}`,
			{ column: path, extra: { limit: budget.limits.maxNesting } },
		);
	}
	if (budget.fields-- === 0) {
		checkLimit(Number.POSITIVE_INFINITY, budget.limits.maxColumns * fieldsPerColumn, "fields");
	}
	const { type, metadata } = readStorage(field, path, budget);
	const below = Array.from({ length: field.childrenLength() }, (_, i) => field.children(i)!);
	const children = readFields(below, { path, type }, depth + 1, budget);
	checkChildren(type, children, path);
	return {
		name,
		nullable: field.nullable(),
		type,
		children,
		dictionary: readDictionary(field, path),
		metadata,
	};
}

/** Integers of 128 bits lie as DuckDB has them, so they are its own extension type from here on. */
function readStorage(
	field: FlatField,
	path: string,
	{ bigEndian }: Budget,
): Pick<Field, "type" | "metadata"> {
	const int128 = readInt128(field, path);
	if (int128 === null) return { type: readType(field, path), metadata: readMetadata(field) };
	if (bigEndian) {
		throw new IngestError(
			"unsupported_type",
			`column ${path}: integers of 128 bits are read from little-endian writers only`,
			{ column: path, arrow_type: int128 === "hugeint" ? "int128" : "uint128" },
		);
	}
	return {
		type: { kind: "fixed_size_binary", byteWidth: 16 },
		metadata: withDuckdbType(readMetadata(field), int128),
	};
}

function pathOf(parent: Parent | null, name: string): string {
	if (parent === null) return name;
	if (parent.type.kind === "struct" || parent.type.kind === "union")
		return `${parent.path}.${name}`;
	return parent.type.kind === "run_end_encoded" ? parent.path : `${parent.path}[]`;
}

/** Names matter where DuckDB will have them: of columns, struct fields and union members. */
function readName(field: FlatField, parentPath: string | null, named: boolean): string {
	const bytes = field.name(Encoding.UTF8_BYTES) as Uint8Array | null;
	const where = parentPath === null ? "a column" : `a field of column ${parentPath}`;
	const refuse = (what: string) =>
		new IngestError("invalid_arrow", `the name of ${where} ${what}`, {
			...(parentPath === null ? {} : { column: parentPath }),
		});
	const name = bytes === null ? "" : decodeText(bytes);
	if (name === null) throw refuse("is not UTF-8");
	if (name.includes("\0")) throw refuse(`holds a NUL: ${JSON.stringify(name)}`);
	if (named && name === "") throw refuse("is empty");
	if (bytes !== null && bytes.byteLength > maxNameBytes) {
		throw refuse(`has ${bytes.byteLength} bytes, at most ${maxNameBytes} are taken`);
	}
	return name;
}

/** https://arrow.apache.org/docs/format/Columnar.html: how many children a type has, and of what kind. */
function checkChildren(type: ArrowType, children: Field[], path: string): void {
	const expected = childCount(type);
	if (expected !== null && children.length !== expected) {
		throw invalid(path, `${type.kind} has ${expected} child fields, and not ${children.length}`);
	}
	if (type.kind === "map") checkMapEntries(children[0]!, path);
	if (type.kind === "run_end_encoded") checkRunEnds(children[0]!, path);
	if (expected === null && children.length === 0) {
		throw new IngestError(
			"unsupported_type",
			`column ${path}: DuckDB has no ${type.kind} without members`,
			{ column: path, arrow_type: type.kind },
		);
	}
}

/** Null: any number but none. */
function childCount(type: ArrowType): number | null {
	switch (type.kind) {
		case "list":
		case "large_list":
		case "list_view":
		case "large_list_view":
		case "fixed_size_list":
		case "map":
			return 1;
		case "run_end_encoded":
			return 2;
		case "struct":
		case "union":
			return null;
		default:
			return 0;
	}
}

function checkMapEntries(entries: Field, path: string): void {
	if (entries.type.kind === "struct" && entries.children.length === 2 && !entries.dictionary)
		return;
	throw invalid(path, "a map's child is a struct of key and value");
}

function checkRunEnds(runEnds: Field, path: string): void {
	const { type, dictionary } = runEnds;
	if (type.kind === "int" && type.signed && type.bits > 8 && !dictionary) return;
	throw invalid(path, "run ends are int16, int32 or int64");
}

/** DuckDB compares names ASCII-case-insensitively. */
function refuseCollisions(names: string[], path: string | null): void {
	const seen = new Map<string, string>();
	for (const name of names) {
		const folded = foldName(name);
		const before = seen.get(folded);
		if (before !== undefined) {
			const column = path === null ? name : `${path}.${name}`;
			const where = path === null ? "the schema" : `column ${path}`;
			throw new IngestError(
				"duplicate_column",
				`${where} has both ${JSON.stringify(before)} and ${JSON.stringify(name)}, which DuckDB cannot tell apart`,
				{ column },
			);
		}
		seen.set(folded, name);
	}
}

function readDictionary(field: FlatField, path: string): Field["dictionary"] {
	const encoding = field.dictionary();
	if (encoding === null) return null;
	if ((encoding.dictionaryKind() as number) !== 0) {
		throw invalid(path, `dictionary kind ${encoding.dictionaryKind()} is not known`);
	}
	const indexType = encoding.indexType();
	return {
		id: encoding.id(),
		// Schema.fbs: "indices are int32 if not specified".
		indexType:
			indexType === null ? { kind: "int", bits: 32, signed: true } : readInt(indexType, path),
		ordered: encoding.isOrdered(),
	};
}

/** Values are bytes; a key that is there twice has the last value. */
export function readMetadata(holder: {
	customMetadataLength(): number;
	customMetadata(index: number, pair?: KeyValue): KeyValue | null;
}): Metadata {
	const metadata = new Map<string, Uint8Array>();
	const pair = new KeyValue();
	for (let i = 0; i < holder.customMetadataLength(); i++) {
		holder.customMetadata(i, pair);
		const key = pair.key(Encoding.UTF8_BYTES) as Uint8Array | null;
		const value = pair.value(Encoding.UTF8_BYTES) as Uint8Array | null;
		metadata.set(
			key === null ? "" : new TextDecoder().decode(key),
			(value ?? new Uint8Array(0)).slice(),
		);
	}
	return metadata;
}

function checkLimit(count: number, limit: number, what: string): void {
	if (count <= limit) return;
	const found = Number.isFinite(count) ? `${count} ${what}` : `more ${what} than that`;
	throw new IngestError("too_large", `the schema has ${found}, the limit is ${limit}`, {
		extra: { limit },
	});
}
