/**
 * One stream's messages → its record batches: holds the schema and the dictionaries.
 * Used alike for streams and for the messages of a file, in whatever order those are read.
 */

import { DictionaryBatch } from "apache-arrow/fb/dictionary-batch";
import { RecordBatch } from "apache-arrow/fb/record-batch";
import { Schema as FlatSchema } from "apache-arrow/fb/schema";
import { IngestError } from "../errors.ts";
import type { Limits } from "../limits.ts";
import { readBodyCodec } from "./body-compression.ts";
import type { Codecs } from "./codecs.ts";
import { DictionaryBook } from "./dictionary-batch.ts";
import { headerTypes, type IpcMessage } from "./message-stream.ts";
import { type BatchSource, decodeRecordBatch } from "./record-batch.ts";
import { checkVersion, readMetadata, readSchema, type SentSchema, v4 } from "./schema.ts";
import type { ArrayData } from "./types.ts";

export interface DecoderOptions {
	limits: Limits;
	codecs: Codecs;
}

export interface DecodedBatch {
	length: number;
	columns: ArrayData[];
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

	constructor(schema: SentSchema, options: DecoderOptions) {
		this.schema = schema;
		this.#options = options;
		this.#dictionaries = new DictionaryBook(schema.fields, options.limits, options.codecs);
	}

	/** A record batch, or null for a dictionary batch, which is kept. Other messages don't belong here. */
	decode(message: IpcMessage): DecodedBatch | null {
		this.#dictionaries.received(message.body.byteLength);
		switch (message.message.headerType() as number) {
			case headerTypes.dictionaryBatch:
				this.#addDictionary(message);
				return null;
			case headerTypes.recordBatch: {
				const header = headerOf(message, new RecordBatch());
				return decodeRecordBatch(this.schema.fields, this.#source(header, message), {
					...this.#options,
					dictionaryOf: (field, nullCount, length, path) =>
						this.#dictionaries.lookUp(field, nullCount === length, path),
				});
			}
			default:
				throw refuseMessage(message);
		}
	}

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
