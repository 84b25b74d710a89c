/**
 * In: the bytes of a Parquet footer. Out: what we look at of it, as the file says it and not
 * yet checked; the rest is skipped.
 *
 * https://github.com/apache/parquet-format/blob/master/src/main/thrift/parquet.thrift
 */

import { invalidParquet } from "./invalid-parquet.ts";
import type { ParquetUnit, SchemaElement } from "./parquet-schema.ts";
import { ThriftCompact, thrift } from "./thrift-compact.ts";

/** A number that the file doesn't say is -1. */
export interface ParquetChunk {
	/** Empty: in this file. */
	filePath: string;
	encrypted: boolean;
	/** `CompressionCodec`, by number. */
	codec: number;
	values: number;
	uncompressed: number;
	compressed: number;
	dataAt: number;
	dictionaryAt: number | null;
}

export interface ParquetRowGroup {
	rows: number;
	chunks: ParquetChunk[];
}

export interface ParquetMetadata {
	/** As the file says, or -1. */
	rows: number;
	encrypted: boolean;
	schema: SchemaElement[];
	groups: ParquetRowGroup[];
}

/** `FileMetaData`. */
export function readMetadata(bytes: Uint8Array): ParquetMetadata {
	const reader = new ThriftCompact(bytes);
	const found: ParquetMetadata = { rows: -1, encrypted: false, schema: [], groups: [] };
	reader.readStruct((id, type) => {
		if (id === 2 && type === thrift.list) {
			reader.readList(thrift.struct, () => void found.schema.push(readElement(reader)));
		} else if (id === 3 && type === thrift.i64) {
			found.rows = reader.integer();
		} else if (id === 4 && type === thrift.list) {
			reader.readList(thrift.struct, () => void found.groups.push(readGroup(reader)));
		} else {
			// `encryption_algorithm`
			if (id === 8) found.encrypted = true;
			return false;
		}
		return true;
	});
	return found;
}

/** `SchemaElement`. */
function readElement(reader: ThriftCompact): SchemaElement {
	const found: SchemaElement = {
		name: "",
		repetition: 0,
		children: 0,
		physical: -1,
		precision: 0,
		time: null,
		isVariant: false,
		isDecimal: false,
	};
	/** `ConvertedType` DECIMAL. */
	const convertedDecimal = 5;
	reader.readStruct((id, type) => {
		if (id === 1 && type === thrift.i32) found.physical = reader.integer();
		else if (id === 3 && type === thrift.i32) found.repetition = reader.integer();
		else if (id === 4 && type === thrift.binary) found.name = reader.text();
		else if (id === 5 && type === thrift.i32) found.children = reader.integer();
		else if (id === 6 && type === thrift.i32) {
			if (reader.integer() === convertedDecimal) found.isDecimal = true;
		} else if (id === 8 && type === thrift.i32) found.precision = reader.integer();
		else if (id === 10 && type === thrift.struct) readLogical(reader, found);
		else return false;
		return true;
	});
	if (found.children < 0) throw invalidParquet(`a group has ${found.children} members`);
	return found;
}

/** `LogicalType`, a union. */
function readLogical(reader: ThriftCompact, element: SchemaElement): void {
	reader.readStruct((id, type) => {
		if (type !== thrift.struct) return false;
		if (id === 5) {
			element.isDecimal = true;
			reader.readStruct((field, kind) => {
				if (field !== 2 || kind !== thrift.i32) return false;
				element.precision = Math.max(element.precision, reader.integer());
				return true;
			});
		} else if (id === 7 || id === 8) {
			element.time = readTime(reader, id === 7 ? "time" : "timestamp");
		} else if (id === 16) {
			element.isVariant = true;
			return false;
		} else {
			return false;
		}
		return true;
	});
}

/** `TimeType`, `TimestampType`. */
function readTime(reader: ThriftCompact, kind: "time" | "timestamp"): SchemaElement["time"] {
	const units: Record<number, ParquetUnit> = { 1: "ms", 2: "us", 3: "ns" };
	let unit: ParquetUnit = "us";
	let utc = false;
	reader.readStruct((id, type) => {
		if (id === 1) utc = type === thrift.true;
		if (id !== 2 || type !== thrift.struct) return false;
		reader.readStruct((which) => {
			unit = units[which] ?? unit;
			return false;
		});
		return true;
	});
	return { kind, unit, utc };
}

function readGroup(reader: ThriftCompact): ParquetRowGroup {
	const group: ParquetRowGroup = { rows: -1, chunks: [] };
	reader.readStruct((id, type) => {
		if (id === 1 && type === thrift.list) {
			reader.readList(thrift.struct, () => void group.chunks.push(readChunk(reader)));
		} else if (id === 3 && type === thrift.i64) {
			group.rows = reader.integer();
		} else {
			return false;
		}
		return true;
	});
	return group;
}

/** `ColumnChunk` with its `ColumnMetaData`. */
function readChunk(reader: ThriftCompact): ParquetChunk {
	const chunk: ParquetChunk = {
		filePath: "",
		encrypted: false,
		codec: -1,
		values: -1,
		uncompressed: -1,
		compressed: -1,
		dataAt: -1,
		dictionaryAt: null,
	};
	reader.readStruct((id, type) => {
		if (id === 1 && type === thrift.binary) chunk.filePath = reader.text();
		else if (id === 3 && type === thrift.struct) {
			reader.readStruct((field, kind) => {
				if (field === 4 && kind === thrift.i32) chunk.codec = reader.integer();
				else if (kind !== thrift.i64) return false;
				else if (field === 5) chunk.values = reader.integer();
				else if (field === 6) chunk.uncompressed = reader.integer();
				else if (field === 7) chunk.compressed = reader.integer();
				else if (field === 9) chunk.dataAt = reader.integer();
				else if (field === 11) chunk.dictionaryAt = reader.integer();
				else return false;
				return true;
			});
		} else {
			// `crypto_metadata`, `encrypted_column_metadata`.
			if (id === 8 || id === 9) chunk.encrypted = true;
			return false;
		}
		return true;
	});
	return chunk;
}
