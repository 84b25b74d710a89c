/**
 * One stream's messages → its record batches: holds the schema and the dictionaries.
 * Used alike for streams and for the messages of a file, in whatever order those are read.
 */

import { DictionaryBatch } from "apache-arrow/fb/dictionary-batch";
import { RecordBatch } from "apache-arrow/fb/record-batch";
import { Schema as FlatSchema } from "apache-arrow/fb/schema";
import { IngestError } from "../errors.ts";
import type { Limits } from "../limits.ts";
import { type JoinMemory, joinMemory } from "./array/join-memory.ts";
import { type BatchMemory, joinMemories } from "./batch-memory.ts";
import { readBodyCodec } from "./body-compression.ts";
import type { Codecs } from "./codecs.ts";
import { DictionaryBook } from "./dictionary-batch.ts";
import { BatchGatherer, type GatheredRun, type GatherLimits } from "./gather-batches.ts";
import type { MemoryPool } from "./memory-pool.ts";
import { headerTypes, type IpcMessage, parseMessage } from "./message-stream.ts";
import { type BatchSource, type DecodeOptions, decodeRecordBatch } from "./record-batch.ts";
import { checkVersion, readMetadata, readSchema, type SentSchema, v4 } from "./schema.ts";
import type { ArrayData } from "./types.ts";
import type { ByteCursor } from "./wire/byte-cursor.ts";

export interface DecoderOptions {
	limits: Limits;
	codecs: Codecs;
	pool?: MemoryPool | null;
}

export interface DecodedBatch {
	length: number;
	columns: ArrayData[];
	/** What the columns lie in, as of a checked batch. */
	memory?: BatchMemory | undefined;
}

/** Batches that were sent one after the other, joined. */
export interface GatheredBatches extends DecodedBatch {
	/** As sent. */
	count: number;
	/**
	 * The same, each as it was sent: for who could not use them joined. Only until bytes after them are asked
	 * for. Who comes to the end of it has found nothing wrong with them, and gets no more that are joined.
	 */
	apart(): Generator<DecodedBatch>;
}

/** The schema of a message that holds one, or null. */
export function schemaOf(message: IpcMessage, limits: Limits): SentSchema | null {
	if (message.message.headerType() !== headerTypes.schema) return null;
	const header = headerOf(message, new FlatSchema());
	return readSchema(header, message.message.version(), limits);
}

export class StreamDecoder {
	readonly schema: SentSchema;
	readonly #options: DecoderOptions;
	readonly #dictionaries: DictionaryBook;
	/** Null: batches of this stream are not joined. */
	#gatherer: BatchGatherer | null;

	constructor(schema: SentSchema, options: DecoderOptions) {
		this.schema = schema;
		this.#options = options;
		this.#dictionaries = new DictionaryBook(schema.fields, options.limits, options.codecs);
		this.#gatherer = schema.bigEndian ? null : new BatchGatherer(schema.fields);
	}

	/** A record batch, or null for a dictionary batch, which is kept. Other messages don't belong here. */
	decode(message: IpcMessage): DecodedBatch | null {
		this.#dictionaries.received(message.body.byteLength);
		switch (message.message.headerType() as number) {
			case headerTypes.dictionaryBatch:
				this.#addDictionary(message);
				return null;
			case headerTypes.recordBatch: {
				const source = this.#source(headerOf(message, new RecordBatch()), message);
				const batch = this.#decodeBatch(source, message);
				// What the first rows show decides about columns, so that they come as they were sent.
				if (batch.length > 0) {
					this.#gatherer?.sawBatch(message.metadata, message.body.byteLength, source.codec);
				}
				return batch;
			}
			default:
				throw refuseMessage(message);
		}
	}

	/**
	 * Takes record batches that lie whole in what the cursor has at hand, two or more; null: the
	 * next message is to be read. `takes` is asked about each.
	 */
	gather(cursor: ByteCursor, takes?: GatherLimits["takes"]): GatheredBatches | null {
		if (this.#gatherer === null) return null;
		const { codecs, limits, pool } = this.#options;
		const bytes = cursor.atHand();
		let run: GatheredRun | null = null;
		try {
			run = this.#gatherer.gather(
				bytes,
				{ maxBatchBytes: limits.maxBatchBytes, ...(takes ? { takes } : {}) },
				{
					codecs,
					dictionaryOf: this.#dictionaryOf,
					memoryFor: (size) => joinMemory(pool ?? null, codecs, size),
				},
			);
		} catch (error) {
			// Such as a dictionary that is missing: whoever reads the message says so.
			if (!(error instanceof IngestError)) throw error;
		}
		if (run === null) return null;
		const { length, columns, count, byteLength, bodyBytes } = run;
		const memory = run.memory ?? undefined;
		const offset = cursor.offset;
		cursor.take(byteLength);
		this.#dictionaries.received(bodyBytes);
		return { length, columns, memory, count, apart: () => this.#apart(bytes, offset, run) };
	}

	*#apart(bytes: Uint8Array, offset: number, run: GatheredRun): Generator<DecodedBatch> {
		for (let i = 0; i < run.count; i++) {
			const { at, metadataAt, bodyAt, end } = run.message(i);
			const metadata = bytes.slice(metadataAt, bodyAt);
			const body = this.#options.codecs.allocate(end - bodyAt);
			body.set(bytes.subarray(bodyAt, end));
			const message: IpcMessage = {
				offset: offset + at,
				metadataLength: bodyAt - at,
				metadata,
				message: parseMessage(metadata, offset + at),
				body,
				legacy: false,
			};
			const source = this.#source(headerOf(message, new RecordBatch()), message);
			yield this.#decodeBatch(source, message);
		}
		this.#gatherer = null;
	}

	#decodeBatch(source: BatchSource, message: IpcMessage): DecodedBatch {
		const { length, columns, unpacked } = decodeRecordBatch(this.schema.fields, source, {
			...this.#options,
			dictionaryOf: this.#dictionaryOf,
		});
		return { length, columns, memory: memoryOf(message.memory, unpacked, columns) };
	}

	readonly #dictionaryOf: DecodeOptions["dictionaryOf"] = (field, nullCount, length, path) =>
		this.#dictionaries.lookUp(field, nullCount === length, path);

	/** The id of a dictionary batch that would replace one; the file format has no way to say when it counts. */
	replacedDictionary(message: IpcMessage): bigint | null {
		const header = headerOf(message, new DictionaryBatch());
		return !header.isDelta() && this.#dictionaries.has(header.id()) ? header.id() : null;
	}

	#addDictionary(message: IpcMessage): void {
		const header = headerOf(message, new DictionaryBatch());
		const data = header.data();
		if (data === null) throw misshapen(message, "a dictionary batch without data");
		const field = this.#dictionaries.valueField(header.id());
		const { columns } = decodeRecordBatch([field], this.#source(data, message), {
			...this.#options,
			// It is kept for as long as the stream goes on.
			pool: null,
			dictionaryOf: () => null,
		});
		this.#dictionaries.add(header.id(), columns[0]!, header.isDelta());
	}

	#source(header: RecordBatch, { message, metadata, body }: IpcMessage): BatchSource {
		checkVersion(message.version());
		const compression = header.compression();
		return {
			header,
			metadata,
			body,
			bigEndian: this.schema.bigEndian,
			unionsHaveValidity: (message.version() as number) === v4,
			codec: readBodyCodec(
				compression,
				compression === null && message.customMetadataLength() > 0
					? readMetadata(message)
					: noMetadata,
			),
		};
	}
}

/** What columns lie in: the body, what was unpacked of it, or both. */
function memoryOf(
	body: BatchMemory | undefined,
	unpacked: JoinMemory | null,
	columns: readonly ArrayData[],
): BatchMemory | undefined {
	if (unpacked === null) return body;
	if (!unpacked.holdsAll(columns)) return joinMemories([body, unpacked.memory]);
	body?.release();
	return unpacked.memory ?? undefined;
}

/** A batch, or something stranger, where the schema belongs. */
export function refuseBeforeSchema(message: IpcMessage): IngestError {
	const type = message.message.headerType() as number;
	if (type !== headerTypes.recordBatch && type !== headerTypes.dictionaryBatch) {
		return refuseMessage(message);
	}
	return new IngestError(
		"invalid_arrow",
		`a ${type === headerTypes.recordBatch ? "record" : "dictionary"} batch at byte ${message.offset} comes before any schema; the stream's beginning is missing`,
	);
}

/** The error for a message that is neither schema nor batch. */
function refuseMessage(message: IpcMessage): IngestError {
	switch (message.message.headerType() as number) {
		case headerTypes.tensor:
		case headerTypes.sparseTensor:
			return new IngestError(
				"unsupported_type",
				`the message at byte ${message.offset} is a tensor, and not a table`,
				{ arrow_type: "tensor" },
			);
		default:
			return misshapen(message, `header type ${message.message.headerType()}`);
	}
}

function headerOf<T>(message: IpcMessage, table: T): T {
	const header = message.message.header(table) as T | null;
	if (header === null) throw misshapen(message, "a message without its header");
	return header;
}

function misshapen(message: IpcMessage, what: string): IngestError {
	return new IngestError("invalid_arrow", `message at byte ${message.offset}: ${what}`);
}

const noMetadata = new Map<string, Uint8Array>();
