/**
 * In: a verified RecordBatch header, its body and the fields it fills. Out: one
 * `ArrayData` a field, whose buffers are views into the body wherever that is
 * possible: uncompressed, little-endian and aligned to 8 bytes.
 *
 * Nodes and buffers come flattened, depth first, each field before its children
 * (https://arrow.apache.org/docs/format/Columnar.html#recordbatch-message); there
 * must be exactly as many as the fields ask for. Checked here: counts, lengths and
 * ranges as numbers. Not checked here: whether a buffer holds what `length` asks
 * of it, which `check-batch.ts` does.
 */

import { Buffer as FlatBuffer } from "apache-arrow/fb/buffer";
import { FieldNode } from "apache-arrow/fb/field-node";
import type { RecordBatch } from "apache-arrow/fb/record-batch";
import { IngestError } from "../errors.ts";
import type { Limits } from "../limits.ts";
import { countNulls } from "./array/bitmap.ts";
import { type JoinMemory, joinAlignment, joinMemory } from "./array/join-memory.ts";
import type { BodyCodec } from "./body-compression.ts";
import { uncompressedLength, unpackBuffer } from "./body-compression.ts";
import type { Codecs } from "./codecs.ts";
import type { MemoryPool } from "./memory-pool.ts";
import type { ArrayData, ArrowType, Field } from "./types.ts";
import { readSize } from "./wire/int64.ts";
import { swapToLittleEndian } from "./wire/swap-endian.ts";

export interface BatchSource {
	header: RecordBatch;
	/** The flatbuffer that `header` is part of. */
	metadata: Uint8Array;
	body: Uint8Array;
	/** Metadata V4: every union begins with a validity bitmap. */
	unionsHaveValidity: boolean;
	bigEndian: boolean;
	/** Null: the body is not compressed. */
	codec: BodyCodec | null;
}

export interface DecodeOptions {
	limits: Limits;
	codecs: Codecs;
	/** For what is unpacked; absent: it is the collector's. */
	pool?: MemoryPool | null;
	/** The dictionary of a dictionary-encoded field; null leaves it to be linked later. */
	dictionaryOf(field: Field, nullCount: number, length: number, path: string): ArrayData | null;
}

export function decodeRecordBatch(
	fields: readonly Field[],
	source: BatchSource,
	options: DecodeOptions,
): DecodedColumns {
	return new BatchDecoder(source, options).decode(fields);
}

export interface DecodedColumns {
	length: number;
	columns: ArrayData[];
	/** What was unpacked lies here, and in the body; null: the columns lie in the body, or are the collector's. */
	unpacked: JoinMemory | null;
}

class BatchDecoder {
	readonly #source: BatchSource;
	readonly #options: DecodeOptions;
	readonly #view: DataView;
	readonly #node = new FieldNode();
	readonly #buffer = new FlatBuffer();
	readonly #nodeCount: number;
	readonly #bufferCount: number;
	#nextNode = 0;
	#nextBuffer = 0;
	#nextVariadic = 0;
	#unpacked: JoinMemory | null = null;

	constructor(source: BatchSource, options: DecodeOptions) {
		const { header, metadata } = source;
		this.#source = source;
		this.#options = options;
		this.#view = new DataView(metadata.buffer, metadata.byteOffset, metadata.byteLength);
		this.#nodeCount = header.nodesLength();
		this.#bufferCount = header.buffersLength();
	}

	decode(fields: readonly Field[]): DecodedColumns {
		const { limits, codecs, pool = null } = this.#options;
		const declared = this.#source.header.length();
		if (declared < 0n || declared > BigInt(Number.MAX_SAFE_INTEGER)) {
			throw new IngestError("invalid_arrow", `a record batch of ${declared} rows`);
		}
		const length = Number(declared);
		// A row counts a byte at least, so that rows which take no bytes at all (null columns) have a bound too.
		if (length > limits.maxBatchBytes) {
			throw new IngestError(
				"too_large",
				`a record batch of ${length} rows is over the limit of ${limits.maxBatchBytes}, at a byte a row`,
				{ extra: { limit: limits.maxBatchBytes } },
			);
		}
		if (this.#source.codec !== null) {
			const size = this.#checkUncompressedSize() + this.#bufferCount * joinAlignment;
			// ZSTD gives memory of its own.
			if (this.#source.codec === "lz4_frame") this.#unpacked = joinMemory(pool, codecs, size);
		}
		const columns = fields.map((field) => {
			const column = this.#array(field, field.name);
			if (column.length !== length) {
				throw this.#invalid(field.name, `has ${column.length} rows in a batch of ${length}`);
			}
			return column;
		});
		this.#checkNothingIsLeft();
		return { length, columns, unpacked: this.#unpacked };
	}

	#array(field: Field, path: string): ArrayData {
		if (this.#nextNode === this.#nodeCount) {
			throw this.#invalid(path, `has no node: the batch has only ${this.#nodeCount}`);
		}
		const at = this.#source.header.nodes(this.#nextNode++, this.#node)!.bb_pos;
		const length = readSize(this.#view, at, `column ${path}: the length`);
		const nullCount = readSize(this.#view, at + 8, `column ${path}: the null count`);
		if (nullCount > length) {
			throw this.#invalid(path, `has ${nullCount} nulls among ${length} values`);
		}
		const encoded = field.dictionary !== null;
		const type = encoded ? field.dictionary!.indexType : field.type;
		const unionValidity =
			type.kind === "union" && this.#source.unionsHaveValidity
				? this.#unionValidity(length, nullCount, path)
				: null;
		const array: ArrayData = {
			length,
			nullCount,
			buffers: this.#buffers(type, path),
			children: [],
			dictionary: null,
		};
		if (this.#source.bigEndian) swapToLittleEndian(type, array, this.#options.codecs);
		if (unionValidity !== null) array.buffers.unshift(unionValidity);
		if (encoded) {
			array.dictionary = this.#options.dictionaryOf(field, nullCount, length, path);
			return array;
		}
		const { children } = field;
		for (let i = 0; i < children.length; i++) {
			array.children.push(this.#array(children[i]!, childPath(path, field, i)));
		}
		return array;
	}

	/** https://arrow.apache.org/docs/format/Columnar.html#buffer-listing-for-each-layout */
	#buffers(type: ArrowType, path: string): ArrayData["buffers"] {
		switch (type.kind) {
			case "null":
			case "run_end_encoded":
				return [];
			case "union":
				return type.mode === "dense" ? [this.#bytes(path), this.#bytes(path)] : [this.#bytes(path)];
			case "struct":
			case "fixed_size_list":
				return [this.#validity(path)];
			case "list_view":
			case "large_list_view":
			case "utf8":
			case "large_utf8":
			case "binary":
			case "large_binary":
				return [this.#validity(path), this.#bytes(path), this.#bytes(path)];
			case "utf8_view":
			case "binary_view": {
				const buffers = [this.#validity(path), this.#bytes(path)];
				const variadic = this.#variadicCount(path);
				for (let i = 0; i < variadic; i++) buffers.push(this.#bytes(path));
				return buffers;
			}
			default:
				return [this.#validity(path), this.#bytes(path)];
		}
	}

	#validity(path: string): Uint8Array | null {
		const bytes = this.#bytes(path);
		return bytes.byteLength === 0 ? null : bytes;
	}

	/**
	 * Until V5 a union had a bitmap of its own, before its type ids. Null where it says
	 * nothing; else it goes before the other buffers, as `check-unions.ts` knows it.
	 */
	#unionValidity(length: number, nullCount: number, path: string): Uint8Array | null {
		const validity = this.#validity(path);
		if (validity === null || nullCount === 0) return null;
		const isAllValid = validity.byteLength * 8 >= length && countNulls(validity, length) === 0;
		return isAllValid ? null : validity;
	}

	/** One count for each view array of the batch, in the order of the nodes. */
	#variadicCount(path: string): number {
		const { header } = this.#source;
		const index = this.#nextVariadic++;
		if (index >= header.variadicBufferCountsLength()) {
			throw this.#invalid(path, "has no count of variadic buffers");
		}
		const count = header.variadicBufferCounts(index)!;
		const left = this.#bufferCount - this.#nextBuffer;
		if (count < 0n || count > BigInt(left)) {
			throw this.#invalid(path, `has ${count} variadic buffers where ${left} buffers are left`);
		}
		return Number(count);
	}

	/** The next buffer: unpacked, inside the body, aligned. */
	#bytes(path: string): Uint8Array {
		if (this.#nextBuffer === this.#bufferCount) {
			throw this.#invalid(path, `lacks a buffer: the batch has only ${this.#bufferCount}`);
		}
		const { codecs } = this.#unpacked ?? this.#options;
		const { codec } = this.#source;
		const range = this.#range(this.#nextBuffer++);
		const bytes = codec === null ? range : unpackBuffer(range, codec, codecs, path);
		if (bytes.byteLength === 0 || bytes.byteOffset % 8 === 0) return bytes;
		const aligned = codecs.allocate(bytes.byteLength);
		aligned.set(bytes);
		return aligned;
	}

	/** Buffer `index` as it lies in the body. The place of a buffer without bytes means nothing. */
	#range(index: number): Uint8Array {
		const { body, header } = this.#source;
		const at = header.buffers(index, this.#buffer)!.bb_pos;
		const length = readSize(this.#view, at + 8, `the length of buffer ${index}`);
		if (length === 0) return noBytes;
		const offset = readSize(this.#view, at, `the offset of buffer ${index}`);
		if (offset + length > body.byteLength) {
			throw new IngestError(
				"invalid_arrow",
				`buffer ${index} takes bytes ${offset} to ${offset + length} of a body of ${body.byteLength}`,
			);
		}
		return body.subarray(offset, offset + length);
	}

	/** Before anything is unpacked: what it will come to. */
	#checkUncompressedSize(): number {
		const { maxBatchBytes } = this.#options.limits;
		let total = 0;
		for (let i = 0; i < this.#bufferCount; i++) total += uncompressedLength(this.#range(i), i);
		if (total <= maxBatchBytes) return total;
		throw new IngestError(
			"too_large",
			`a record batch of ${total} bytes when unpacked is over the limit of ${maxBatchBytes}`,
			{ extra: { limit: maxBatchBytes } },
		);
	}

	#checkNothingIsLeft(): void {
		const variadic = this.#source.header.variadicBufferCountsLength();
		if (
			this.#nextNode === this.#nodeCount &&
			this.#nextBuffer === this.#bufferCount &&
			this.#nextVariadic === variadic
		) {
			return;
		}
		throw new IngestError(
			"invalid_arrow",
			`the batch has ${this.#nodeCount} nodes, ${this.#bufferCount} buffers and ${variadic} variadic counts; its schema asks for ${this.#nextNode}, ${this.#nextBuffer} and ${this.#nextVariadic}`,
		);
	}

	#invalid(path: string, detail: string): IngestError {
		return new IngestError("invalid_arrow", `column ${path} ${detail}`, { column: path });
	}
}

const noBytes = new Uint8Array(0);

/** As `schema.ts` names them: `a`, `point.x`, `tags[]`. */
function childPath(path: string, parent: Field, index: number): string {
	switch (parent.type.kind) {
		case "struct":
		case "union":
			return `${path}.${parent.children[index]!.name}`;
		case "run_end_encoded":
			return path;
		default:
			return `${path}[]`;
	}
}
