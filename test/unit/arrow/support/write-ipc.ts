/**
 * A writer of IPC messages from fields and arrays of `types.ts`: for what apache-arrow's writer
 * can't write (run ends, list views, old framing and versions, compression, deltas, damage).
 * Metadata is built with apache-arrow's flatbuffer classes.
 */

import { Binary } from "apache-arrow/fb/binary";
import { BinaryView } from "apache-arrow/fb/binary-view";
import { Block } from "apache-arrow/fb/block";
import { BodyCompression } from "apache-arrow/fb/body-compression";
import { Bool } from "apache-arrow/fb/bool";
import { Buffer as FlatBuffer } from "apache-arrow/fb/buffer";
import { Date as DateType } from "apache-arrow/fb/date";
import { Decimal } from "apache-arrow/fb/decimal";
import { DictionaryBatch } from "apache-arrow/fb/dictionary-batch";
import { DictionaryEncoding } from "apache-arrow/fb/dictionary-encoding";
import { Duration } from "apache-arrow/fb/duration";
import { Field as FlatField } from "apache-arrow/fb/field";
import { FieldNode } from "apache-arrow/fb/field-node";
import { FixedSizeBinary } from "apache-arrow/fb/fixed-size-binary";
import { FixedSizeList } from "apache-arrow/fb/fixed-size-list";
import { FloatingPoint } from "apache-arrow/fb/floating-point";
import { Footer } from "apache-arrow/fb/footer";
import { Int } from "apache-arrow/fb/int";
import { Interval } from "apache-arrow/fb/interval";
import { KeyValue } from "apache-arrow/fb/key-value";
import { LargeBinary } from "apache-arrow/fb/large-binary";
import { LargeList } from "apache-arrow/fb/large-list";
import { LargeListView } from "apache-arrow/fb/large-list-view";
import { LargeUtf8 } from "apache-arrow/fb/large-utf8";
import { List } from "apache-arrow/fb/list";
import { ListView } from "apache-arrow/fb/list-view";
import { Map as MapType } from "apache-arrow/fb/map";
import { Message } from "apache-arrow/fb/message";
import { Null } from "apache-arrow/fb/null";
import { RecordBatch } from "apache-arrow/fb/record-batch";
import { RunEndEncoded } from "apache-arrow/fb/run-end-encoded";
import { Schema } from "apache-arrow/fb/schema";
import { Struct_ } from "apache-arrow/fb/struct-";
import { Time } from "apache-arrow/fb/time";
import { Timestamp } from "apache-arrow/fb/timestamp";
import { Union } from "apache-arrow/fb/union";
import { Utf8 } from "apache-arrow/fb/utf8";
import { Utf8View } from "apache-arrow/fb/utf8-view";
import { Builder } from "flatbuffers";
import {
	type ArrayData,
	type ArrowType,
	type Field,
	timeUnits,
} from "../../../../src/arrow/types.ts";

export interface WriteOptions {
	/** MetadataVersion as it is stored: V4 is 3, V5 is 4. */
	version?: number;
	/** Without the marker of Arrow 0.15. */
	legacy?: boolean;
	/** Of a body's buffers; what comes back is what is written after the length. */
	compression?: { codec: number; compress(bytes: Uint8Array): Uint8Array | null };
	/** Of the message. */
	metadata?: Record<string, string>;
	/** Declared in place of the real one. */
	bodyLength?: bigint;
	/** Schema only. */
	bigEndian?: boolean;
	/** What the header says of its rows, nodes and buffers, in place of the truth. */
	lie?(header: BatchHeader): void;
}

export interface BatchHeader {
	length: bigint;
	nodes: { length: bigint; nullCount: bigint }[];
	buffers: { offset: bigint; length: bigint }[];
	variadicCounts: bigint[];
}

export const endOfStream = Uint8Array.of(0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0);

export function writeStream(
	fields: readonly Field[],
	batches: readonly (readonly ArrayData[])[],
	options: WriteOptions = {},
): Uint8Array {
	return concat(
		writeSchema(fields, options),
		...batches.map((columns) => writeBatch(fields, columns, options)),
		options.legacy ? new Uint8Array(4) : endOfStream,
	);
}

/** A file of any messages; `order` says how the footer lists batches and dictionaries, by position. */
export function writeFile(
	fields: readonly Field[],
	dictionaries: readonly Uint8Array[],
	batches: readonly Uint8Array[],
	{
		physical = [...dictionaries, ...batches],
		options = {},
		footerFields = fields,
		tamper = () => {},
	}: {
		physical?: readonly Uint8Array[];
		options?: WriteOptions;
		footerFields?: readonly Field[];
		tamper?(blocks: { dictionaries: WrittenBlock[]; batches: WrittenBlock[] }): void;
	} = {},
): Uint8Array {
	const magic = new TextEncoder().encode("ARROW1");
	const schema = writeSchema(fields, options);
	let at = 8 + schema.byteLength;
	const blockOf = new Map<Uint8Array, WrittenBlock>();
	for (const message of physical) {
		blockOf.set(message, { offset: at, ...messageLengths(message) });
		at += message.byteLength;
	}
	const blocks = {
		dictionaries: dictionaries.map((message) => ({ ...blockOf.get(message)! })),
		batches: batches.map((message) => ({ ...blockOf.get(message)! })),
	};
	tamper(blocks);
	const footer = writeFooter(footerFields, blocks, options);
	return concat(
		magic,
		new Uint8Array(2),
		schema,
		...physical,
		endOfStream,
		footer,
		int32(footer.byteLength),
		magic,
	);
}

export interface WrittenBlock {
	offset: number;
	metadataLength: number;
	bodyLength: number;
}

function messageLengths(message: Uint8Array): { metadataLength: number; bodyLength: number } {
	const view = new DataView(message.buffer, message.byteOffset, message.byteLength);
	const metadataLength = 8 + view.getInt32(4, true);
	return { metadataLength, bodyLength: message.byteLength - metadataLength };
}

export function writeSchema(fields: readonly Field[], options: WriteOptions = {}): Uint8Array {
	const b = new Builder();
	const schema = buildSchema(b, fields, options);
	return frame(b, 1, schema, new Uint8Array(0), options);
}

export function writeBatch(
	fields: readonly Field[],
	columns: readonly ArrayData[],
	options: WriteOptions = {},
	length = columns[0]?.length ?? 0,
): Uint8Array {
	const b = new Builder();
	const { header, body } = buildBatch(b, fields, columns, length, options);
	return frame(b, 3, header, body, options);
}

/** `field` is the encoded one; `values` fill its dictionary. */
export function writeDictionary(
	field: Field,
	values: ArrayData,
	options: WriteOptions & { isDelta?: boolean; id?: bigint } = {},
): Uint8Array {
	const b = new Builder();
	const valueField = { ...field, dictionary: null };
	const { header, body } = buildBatch(b, [valueField], [values], values.length, options);
	DictionaryBatch.startDictionaryBatch(b);
	DictionaryBatch.addId(b, options.id ?? field.dictionary!.id);
	DictionaryBatch.addData(b, header);
	DictionaryBatch.addIsDelta(b, options.isDelta ?? false);
	return frame(b, 2, DictionaryBatch.endDictionaryBatch(b), body, options);
}

/** Prefix, metadata padded to 8 bytes, body. */
export function frame(
	b: Builder,
	headerType: number,
	header: number,
	body: Uint8Array,
	{ version = 4, legacy = false, metadata = {}, bodyLength }: WriteOptions = {},
): Uint8Array {
	const pairs = Object.entries(metadata).map(([key, value]) =>
		KeyValue.createKeyValue(b, b.createString(key), b.createString(value)),
	);
	const custom = pairs.length > 0 ? Message.createCustomMetadataVector(b, pairs) : 0;
	Message.startMessage(b);
	Message.addVersion(b, version);
	Message.addHeaderType(b, headerType);
	Message.addHeader(b, header);
	Message.addBodyLength(b, bodyLength ?? BigInt(body.byteLength));
	if (custom !== 0) Message.addCustomMetadata(b, custom);
	b.finish(Message.endMessage(b));
	return frameMetadata(b.asUint8Array(), body, legacy);
}

export function frameMetadata(
	metadata: Uint8Array,
	body: Uint8Array = new Uint8Array(0),
	legacy = false,
): Uint8Array {
	const prefix = legacy ? 4 : 8;
	const padded = Math.ceil((prefix + metadata.byteLength) / 8) * 8 - prefix;
	return concat(
		legacy ? int32(padded) : concat(int32(-1), int32(padded)),
		metadata,
		new Uint8Array(padded - metadata.byteLength),
		body,
	);
}

function buildBatch(
	b: Builder,
	fields: readonly Field[],
	columns: readonly ArrayData[],
	length: number,
	{ compression, version = 4, lie }: WriteOptions,
): { header: number; body: Uint8Array } {
	const header: BatchHeader = {
		length: BigInt(length),
		nodes: [],
		buffers: [],
		variadicCounts: [],
	};
	const parts: Uint8Array[] = [];
	let at = 0;
	const put = (buffer: Uint8Array | null) => {
		let bytes: Uint8Array = buffer ?? new Uint8Array(0);
		if (compression && bytes.byteLength > 0) {
			const packed = compression.compress(bytes);
			bytes =
				packed === null
					? concat(int64(-1n), bytes)
					: concat(int64(BigInt(bytes.byteLength)), packed);
		}
		header.buffers.push({ offset: BigInt(at), length: BigInt(bytes.byteLength) });
		const padding = new Uint8Array((8 - (bytes.byteLength % 8)) % 8);
		parts.push(bytes, padding);
		at += bytes.byteLength + padding.byteLength;
	};
	const visit = (field: Field, array: ArrayData) => {
		header.nodes.push({ length: BigInt(array.length), nullCount: BigInt(array.nullCount) });
		const { kind } = field.type;
		const bare = field.type.kind === "union" && field.type.mode === "sparse" ? 1 : 2;
		if (kind === "union" && version === 3 && array.buffers.length === bare) put(null);
		for (const buffer of array.buffers) put(buffer);
		if (field.dictionary !== null) return;
		if (kind.endsWith("_view") && !kind.includes("list")) {
			header.variadicCounts.push(BigInt(array.buffers.length - 2));
		}
		field.children.forEach((child, i) => {
			visit(child, array.children[i]!);
		});
	};
	fields.forEach((field, i) => {
		visit(field, columns[i]!);
	});
	lie?.(header);
	RecordBatch.startNodesVector(b, header.nodes.length);
	for (const { length: rows, nullCount } of header.nodes.toReversed()) {
		FieldNode.createFieldNode(b, rows, nullCount);
	}
	const nodes = b.endVector();
	RecordBatch.startBuffersVector(b, header.buffers.length);
	for (const { offset, length: bytes } of header.buffers.toReversed()) {
		FlatBuffer.createBuffer(b, offset, bytes);
	}
	const buffers = b.endVector();
	const variadic =
		header.variadicCounts.length > 0
			? RecordBatch.createVariadicBufferCountsVector(b, header.variadicCounts)
			: 0;
	const codec = compression ? BodyCompression.createBodyCompression(b, compression.codec, 0) : 0;
	RecordBatch.startRecordBatch(b);
	RecordBatch.addLength(b, header.length);
	RecordBatch.addNodes(b, nodes);
	RecordBatch.addBuffers(b, buffers);
	// 0.17's experimental compression is named in the message's metadata instead.
	if (codec !== 0 && compression!.codec >= 0) RecordBatch.addCompression(b, codec);
	if (variadic !== 0) RecordBatch.addVariadicBufferCounts(b, variadic);
	return { header: RecordBatch.endRecordBatch(b), body: concat(...parts) };
}

function writeFooter(
	fields: readonly Field[],
	blocks: { dictionaries: WrittenBlock[]; batches: WrittenBlock[] },
	options: WriteOptions,
): Uint8Array {
	const b = new Builder();
	const schema = buildSchema(b, fields, options);
	const vector = (list: WrittenBlock[]) => {
		for (const { offset, metadataLength, bodyLength } of list.toReversed()) {
			Block.createBlock(b, BigInt(offset), metadataLength, BigInt(bodyLength));
		}
		return b.endVector();
	};
	Footer.startDictionariesVector(b, blocks.dictionaries.length);
	const dictionaries = vector(blocks.dictionaries);
	Footer.startRecordBatchesVector(b, blocks.batches.length);
	const batches = vector(blocks.batches);
	Footer.startFooter(b);
	Footer.addVersion(b, options.version ?? 4);
	Footer.addSchema(b, schema);
	Footer.addDictionaries(b, dictionaries);
	Footer.addRecordBatches(b, batches);
	b.finish(Footer.endFooter(b));
	return b.asUint8Array().slice();
}

function buildSchema(b: Builder, fields: readonly Field[], { bigEndian = false }: WriteOptions) {
	const offsets = fields.map((field) => buildField(b, field));
	const vector = Schema.createFieldsVector(b, offsets);
	Schema.startSchema(b);
	Schema.addEndianness(b, bigEndian ? 1 : 0);
	Schema.addFields(b, vector);
	return Schema.endSchema(b);
}

function buildField(b: Builder, field: Field): number {
	const name = b.createString(field.name);
	const children = FlatField.createChildrenVector(
		b,
		field.children.map((child) => buildField(b, child)),
	);
	const metadata = FlatField.createCustomMetadataVector(
		b,
		[...field.metadata].map(([key, value]) =>
			KeyValue.createKeyValue(b, b.createString(key), b.createString(value)),
		),
	);
	const [code, type] = buildType(b, field.type);
	let dictionary = 0;
	if (field.dictionary !== null) {
		const { id, indexType, ordered } = field.dictionary;
		const index = Int.createInt(b, indexType.bits, indexType.signed);
		DictionaryEncoding.startDictionaryEncoding(b);
		DictionaryEncoding.addId(b, id);
		DictionaryEncoding.addIndexType(b, index);
		DictionaryEncoding.addIsOrdered(b, ordered);
		dictionary = DictionaryEncoding.endDictionaryEncoding(b);
	}
	FlatField.startField(b);
	FlatField.addName(b, name);
	FlatField.addNullable(b, field.nullable);
	FlatField.addTypeType(b, code);
	FlatField.addType(b, type);
	if (dictionary !== 0) FlatField.addDictionary(b, dictionary);
	FlatField.addChildren(b, children);
	FlatField.addCustomMetadata(b, metadata);
	return FlatField.endField(b);
}

/** The number of the type in the union of Schema.fbs, and its table. */
function buildType(b: Builder, type: ArrowType): [number, number] {
	switch (type.kind) {
		case "null":
			Null.startNull(b);
			return [1, Null.endNull(b)];
		case "int":
			return [2, Int.createInt(b, type.bits, type.signed)];
		case "float":
			return [3, FloatingPoint.createFloatingPoint(b, [16, 32, 64].indexOf(type.bits))];
		case "binary":
			Binary.startBinary(b);
			return [4, Binary.endBinary(b)];
		case "utf8":
			Utf8.startUtf8(b);
			return [5, Utf8.endUtf8(b)];
		case "bool":
			Bool.startBool(b);
			return [6, Bool.endBool(b)];
		case "decimal":
			return [7, Decimal.createDecimal(b, type.precision, type.scale, type.bits)];
		case "date":
			return [8, DateType.createDate(b, type.unit === "day" ? 0 : 1)];
		case "time":
			return [9, Time.createTime(b, timeUnits.indexOf(type.unit), type.bits)];
		case "timestamp": {
			const zone = type.zone === null ? 0 : b.createString(type.zone);
			Timestamp.startTimestamp(b);
			Timestamp.addUnit(b, timeUnits.indexOf(type.unit));
			if (zone !== 0) Timestamp.addTimezone(b, zone);
			return [10, Timestamp.endTimestamp(b)];
		}
		case "interval": {
			const units = ["month", "day_time", "month_day_nano"];
			return [11, Interval.createInterval(b, units.indexOf(type.unit))];
		}
		case "list":
			List.startList(b);
			return [12, List.endList(b)];
		case "struct":
			Struct_.startStruct_(b);
			return [13, Struct_.endStruct_(b)];
		case "union": {
			const ids = Union.createTypeIdsVector(b, type.typeIds);
			return [14, Union.createUnion(b, type.mode === "sparse" ? 0 : 1, ids)];
		}
		case "fixed_size_binary":
			return [15, FixedSizeBinary.createFixedSizeBinary(b, type.byteWidth)];
		case "fixed_size_list":
			return [16, FixedSizeList.createFixedSizeList(b, type.size)];
		case "map":
			return [17, MapType.createMap(b, type.keysSorted)];
		case "duration":
			return [18, Duration.createDuration(b, timeUnits.indexOf(type.unit))];
		case "large_binary":
			LargeBinary.startLargeBinary(b);
			return [19, LargeBinary.endLargeBinary(b)];
		case "large_utf8":
			LargeUtf8.startLargeUtf8(b);
			return [20, LargeUtf8.endLargeUtf8(b)];
		case "large_list":
			LargeList.startLargeList(b);
			return [21, LargeList.endLargeList(b)];
		case "run_end_encoded":
			RunEndEncoded.startRunEndEncoded(b);
			return [22, RunEndEncoded.endRunEndEncoded(b)];
		case "binary_view":
			BinaryView.startBinaryView(b);
			return [23, BinaryView.endBinaryView(b)];
		case "utf8_view":
			Utf8View.startUtf8View(b);
			return [24, Utf8View.endUtf8View(b)];
		case "list_view":
			ListView.startListView(b);
			return [25, ListView.endListView(b)];
		case "large_list_view":
			LargeListView.startLargeListView(b);
			return [26, LargeListView.endLargeListView(b)];
	}
}

export function concat(...parts: readonly Uint8Array[]): Uint8Array {
	const bytes = new Uint8Array(parts.reduce((sum, part) => sum + part.byteLength, 0));
	let at = 0;
	for (const part of parts) {
		bytes.set(part, at);
		at += part.byteLength;
	}
	return bytes;
}

function int32(value: number): Uint8Array {
	const bytes = new Uint8Array(4);
	new DataView(bytes.buffer).setInt32(0, value, true);
	return bytes;
}

export function int64(value: bigint): Uint8Array {
	const bytes = new Uint8Array(8);
	new DataView(bytes.buffer).setBigInt64(0, value, true);
	return bytes;
}
