/**
 * Frames encapsulated IPC messages across any chunk borders.
 *
 *   <0xFFFFFFFF> <int32: metadata bytes, padding included> <Message flatbuffer> <body>
 *   <0xFFFFFFFF> <0>                                          end of stream
 *
 * https://arrow.apache.org/docs/format/Columnar.html#encapsulated-message-format
 * Before Arrow 0.15 the marker was absent: a message began with its length, and
 * four zero bytes ended the stream. Both are read, message by message.
 *
 * In: a cursor. Out: messages whose metadata is verified, each with its body in
 * one buffer, filled from the chunks without joining them. Sizes are
 * checked before anything is allocated, and memory for a body never runs ahead
 * of the bytes that have arrived by more than `maxUnreceivedBytes` or their own
 * number, so declaring a body costs nothing.
 */

import { Message } from "apache-arrow/fb/message";
import { ByteBuffer } from "flatbuffers";
import { IngestError } from "../errors.ts";
import type { Limits } from "../limits.ts";
import type { BatchMemory } from "./batch-memory.ts";
import type { Codecs } from "./codecs.ts";
import type { MemoryPool } from "./memory-pool.ts";
import type { ByteCursor } from "./wire/byte-cursor.ts";
import { verifyMessage } from "./wire/flatbuffer-verify.ts";

const continuationMarker = 0xffffffff;
const MiB = 1024 * 1024;
/** A body up to this size is allocated at once; what follows grows with what has arrived. */
const maxUnreceivedBytes = 64 * MiB;
const emptyBody = new Uint8Array(0);

/** https://github.com/apache/arrow/blob/main/format/Message.fbs, union MessageHeader */
export const headerTypes = {
	none: 0,
	schema: 1,
	dictionaryBatch: 2,
	recordBatch: 3,
	tensor: 4,
	sparseTensor: 5,
} as const;

export interface IpcMessage {
	/** Where the message begins in its source. */
	offset: number;
	/** Bytes of prefix and metadata, padding included: `Block.metaDataLength` of the file format. */
	metadataLength: number;
	/** The flatbuffer; verified. */
	metadata: Uint8Array;
	message: Message;
	body: Uint8Array;
	/** What the body lies in, if it is to be used again: a record batch's may be, its holder is whoever gets the message. */
	memory?: BatchMemory | undefined;
	/** Framed as before Arrow 0.15. */
	legacy: boolean;
}

export interface FramingOptions {
	limits: Limits;
	codecs: Codecs;
	/** Size of the whole source where it is known: a body beyond it is refused before it is allocated. */
	sourceBytes: number | null;
	/** For bodies of record batches; absent: they are the collector's. */
	pool?: MemoryPool | null;
}

/** The next message; `end_of_stream` for its marker; `end` where the source ends at a message border. */
export async function readMessage(
	cursor: ByteCursor,
	options: FramingOptions,
): Promise<IpcMessage | "end_of_stream" | "end"> {
	const offset = cursor.offset;
	let prefix = await next(cursor, 4);
	if (prefix.byteLength === 0) return "end";
	let length = int32(prefix, offset);
	const legacy = length >>> 0 !== continuationMarker;
	if (!legacy) {
		prefix = await next(cursor, 4);
		length = int32(prefix, offset);
	}
	if (length === 0) return "end_of_stream";
	checkMetadataLength(length, legacy, offset, options.limits);
	const metadata = await cursor.read(length);
	if (metadata.byteLength < length) {
		throw truncated(offset, `metadata of ${length} bytes`, metadata.byteLength);
	}
	const message = parseMessage(metadata, offset);
	const isBatch = (message.headerType() as number) === headerTypes.recordBatch;
	// What a dictionary batch brings is kept for as long as the stream goes on.
	const context = isBatch ? options : { ...options, pool: null };
	const { bytes: body, memory } = await readBody(
		cursor,
		bodyLength(message, offset),
		offset,
		context,
	);
	return {
		offset,
		metadataLength: cursor.offset - offset - body.byteLength,
		metadata,
		message,
		body,
		memory,
		legacy,
	};
}

/** Verifies metadata and wraps it; `offset` is for the error. */
export function parseMessage(metadata: Uint8Array, offset: number): Message {
	try {
		verifyMessage(metadata);
	} catch (error) {
		if (!(error instanceof IngestError)) throw error;
		throw new IngestError(error.code, `message at byte ${offset}: ${error.message}`);
	}
	return Message.getRootAsMessage(new ByteBuffer(metadata));
}

/** `Message.bodyLength`, checked to be a size. */
export function bodyLength(message: Message, offset: number): number {
	const length = message.bodyLength();
	if (length < 0n || length > BigInt(Number.MAX_SAFE_INTEGER)) {
		throw new IngestError(
			"invalid_arrow",
			`message at byte ${offset}: a body of ${length} bytes is not a size`,
		);
	}
	return Number(length);
}

/** The int32 of a prefix, which may have been cut short. */
function int32(prefix: Uint8Array, offset: number): number {
	if (prefix.byteLength < 4) throw truncated(offset, "prefix", prefix.byteLength);
	return prefix[0]! | (prefix[1]! << 8) | (prefix[2]! << 16) | (prefix[3]! << 24);
}

function checkMetadataLength(length: number, legacy: boolean, offset: number, limits: Limits) {
	if (length < 0 || (legacy && length > limits.maxMetadataBytes)) {
		const what = legacy ? `begins with 0x${hex(length)}` : `declares ${length} bytes of metadata`;
		throw new IngestError("invalid_arrow", `message at byte ${offset} ${what}`);
	}
	if (length > limits.maxMetadataBytes) {
		throw new IngestError(
			"too_large",
			`message at byte ${offset}: metadata of ${length} bytes is over the limit of ${limits.maxMetadataBytes}`,
			{ extra: { limit: limits.maxMetadataBytes } },
		);
	}
}

interface Body {
	bytes: Uint8Array;
	memory?: BatchMemory | undefined;
}

async function readBody(
	cursor: ByteCursor,
	length: number,
	offset: number,
	{ limits, codecs, sourceBytes, pool }: FramingOptions,
): Promise<Body> {
	if (length === 0) return { bytes: emptyBody };
	if (length > limits.maxBatchBytes) {
		throw new IngestError(
			"too_large",
			`message at byte ${offset}: a body of ${length} bytes is over the limit of ${limits.maxBatchBytes} for one batch`,
			{ extra: { limit: limits.maxBatchBytes } },
		);
	}
	if (sourceBytes !== null && length > sourceBytes - cursor.offset) {
		throw truncated(offset, `body of ${length} bytes`, Math.max(0, sourceBytes - cursor.offset));
	}
	const atOnce = sourceBytes === null ? Math.min(length, maxUnreceivedBytes) : length;
	const pooled = atOnce === length ? makeRoom(length, (size) => pool?.take(size) ?? null) : null;
	const memory = pooled?.memory;
	let body = pooled?.bytes ?? makeRoom(atOnce, codecs.allocate);
	let filled = 0;
	// Small bodies come by the thousand; none of them waits where it is there.
	if (atOnce === length && cursor.fillNow(body)) return { bytes: body, memory };
	for (;;) {
		filled = await cursor.fill(body, filled);
		if (filled < body.byteLength) throw truncated(offset, `body of ${length} bytes`, filled);
		if (filled === length) return { bytes: body, memory };
		const grown = makeRoom(Math.min(length, 2 * filled), codecs.allocate);
		grown.set(body);
		body = grown;
	}
}

/** A limit that was set beyond what the runtime can do is still a limit. */
function makeRoom<T>(size: number, make: (size: number) => T): T {
	try {
		return make(size);
	} catch (cause) {
		throw new IngestError("too_large", `there is no memory for a body of ${size} bytes`, { cause });
	}
}

async function next(cursor: ByteCursor, length: number): Promise<Uint8Array> {
	return cursor.take(length) ?? (await cursor.read(length));
}

function truncated(offset: number, what: string, got: number): IngestError {
	return new IngestError(
		"truncated_stream",
		`the bytes end inside the message at byte ${offset}: of its ${what} only ${got} arrived`,
	);
}

function hex(int: number): string {
	return (int >>> 0).toString(16).padStart(8, "0");
}
