/**
 * IPC files, read in one of two ways.
 *
 * At rest the footer decides: what it lists is read, in its order, dictionaries first. When
 * its blocks lie in that order, one pass over the bytes does it; else the blocks
 * are read where they are and the pass only counts and digests.
 *
 * Coming by, a file is the stream inside it. The footer is met at the end and must list the
 * very messages that went by. Dictionaries must come before their use here. This way
 * also reads what has bytes after the footer: padding, or another file.
 *
 * Some writers, apache-arrow for JavaScript among them, put the schema into the footer alone. Such
 * a file is no stream: coming by it is kept in memory, up to the limit of one
 * batch, and then read as at rest.
 */

import { IngestError } from "../errors.ts";
import { ByteCursor } from "./byte-cursor.ts";
import type { ByteSource } from "./byte-source.ts";
import {
	blockEnd,
	type FileBlock,
	type FileFooter,
	fileHeadBytes,
	fileTailBytes,
	footerLength,
	parseFooter,
} from "./file-footer.ts";
import { verifyMessage } from "./flatbuffer-verify.ts";
import { headerTypes, type IpcMessage, parseMessage, readMessage } from "./message-stream.ts";
import type { SourceContext, SourceEvent } from "./read-source.ts";
import { beginsLegacyMessage, fileMagic } from "./sniff.ts";
import { refuseMessage, StreamDecoder, schemaOf } from "./stream-decoder.ts";

type AtRest = NonNullable<ByteSource["atRest"]>;

/** The footer is fetched together with this much before it, which is enough for most. */
const tailReadBytes = 64 * 1024;
/** End-of-stream marker and padding between the last message and the footer. */
const maxGapBytes = 64;

/**
 * The footer of a file that is all of `atRest`, or null: it is cut off, something follows it, or
 * other files come before it. Then the bytes are to be read as they come by.
 */
export async function readFooterAtRest(
	atRest: AtRest,
	context: SourceContext,
): Promise<FileFooter | null> {
	const { limits, signal } = context;
	const tailBytes = Math.min(atRest.size, tailReadBytes);
	const tail = await atRest.read(atRest.size - tailBytes, tailBytes, signal);
	const length = footerLength(tail);
	const footerAt = atRest.size - fileTailBytes - (length ?? 0);
	if (length === null || footerAt < fileHeadBytes || length > limits.maxMetadataBytes) return null;
	const have = tailBytes - fileTailBytes - length;
	const bytes =
		have >= 0 ? tail.slice(have, have + length) : await atRest.read(footerAt, length, signal);
	const footer = parseFooter(bytes, footerAt, limits);
	let last = await schemaEnd(atRest, signal);
	for (const block of footer.dictionaries) last = Math.max(last, blockEnd(block));
	for (const block of footer.batches) last = Math.max(last, blockEnd(block));
	return footerAt - last <= maxGapBytes ? footer : null;
}

/** Where the schema message after the magic ends. */
async function schemaEnd(atRest: AtRest, signal: AbortSignal): Promise<number> {
	const prefix = await atRest.read(fileHeadBytes, Math.min(8, atRest.size - fileHeadBytes), signal);
	if (prefix.byteLength < 8) return fileHeadBytes;
	const view = new DataView(prefix.buffer, prefix.byteOffset, 8);
	const marked = view.getUint32(0, true) === 0xffffffff;
	return fileHeadBytes + (marked ? 8 + view.getInt32(4, true) : 4 + view.getInt32(0, true));
}

/** `cursor` stands at the file's first byte, as the bytes' one pass. */
export async function* readFileAtRest(
	cursor: ByteCursor,
	atRest: AtRest,
	footer: FileFooter,
	context: SourceContext,
): AsyncGenerator<SourceEvent> {
	const decoder = new StreamDecoder(footer.schema, context);
	yield { kind: "schema", schema: footer.schema };
	const dictionariesInPass = ascending([...footer.dictionaries, ...footer.batches]);
	const batchesInPass = dictionariesInPass || ascending(footer.batches);
	const reads = (block: FileBlock, inPass: boolean) =>
		inPass ? readInPass(cursor, block, context) : readAt(atRest, block, context);
	for (const block of footer.dictionaries) {
		const message = await reads(block, dictionariesInPass);
		requireHeader(message, headerTypes.dictionaryBatch, "dictionary batch");
		decodeFileDictionary(decoder, message);
	}
	for (const block of footer.batches) {
		const message = await reads(block, batchesInPass);
		requireHeader(message, headerTypes.recordBatch, "record batch");
		yield { kind: "batch", batch: decoder.decode(message)! };
	}
}

function ascending(blocks: FileBlock[]): boolean {
	return blocks.every((block, i) => i === 0 || block.offset > blocks[i - 1]!.offset);
}

async function readInPass(
	cursor: ByteCursor,
	block: FileBlock,
	context: SourceContext,
): Promise<IpcMessage> {
	await cursor.skip(block.offset - cursor.offset);
	return expectBlock(await readMessage(cursor, context), block, 0);
}

async function readAt(
	atRest: AtRest,
	block: FileBlock,
	context: SourceContext,
): Promise<IpcMessage> {
	if (block.bodyLength > context.limits.maxBatchBytes) {
		throw new IngestError(
			"too_large",
			`a batch of ${block.bodyLength} bytes is over the limit of ${context.limits.maxBatchBytes}`,
			{ extra: { limit: context.limits.maxBatchBytes } },
		);
	}
	const length = block.metadataLength + block.bodyLength;
	const bytes = await atRest.read(block.offset, length, context.signal);
	const cursor = new ByteCursor(once(bytes));
	return expectBlock(
		await readMessage(cursor, { ...context, sourceBytes: length }),
		block,
		block.offset,
	);
}

async function* once(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
	yield bytes;
}

/** A message that is as long as its block says; `base` is where its cursor began in the file. */
function expectBlock(
	message: Awaited<ReturnType<typeof readMessage>>,
	block: FileBlock,
	base: number,
): IpcMessage {
	const where = `the footer's block at byte ${block.offset}`;
	if (message === "end" || message === "end_of_stream") {
		throw new IngestError("invalid_arrow", `${where} holds no message`);
	}
	const { metadataLength, body } = message;
	if (metadataLength !== block.metadataLength || body.byteLength !== block.bodyLength) {
		throw new IngestError(
			"invalid_arrow",
			`${where} has ${block.metadataLength} and ${block.bodyLength} bytes of metadata and body; its message has ${metadataLength} and ${body.byteLength}`,
		);
	}
	message.offset += base;
	return message;
}

function requireHeader(message: IpcMessage, type: number, what: string): void {
	if ((message.message.headerType() as number) === type) return;
	throw new IngestError(
		"invalid_arrow",
		`the footer says that a ${what} lies at byte ${message.offset}, its message has header type ${message.message.headerType()}`,
	);
}

/** "In a file, dictionary replacement is not supported": all of a dictionary's batches but the first are deltas. */
function decodeFileDictionary(decoder: StreamDecoder, message: IpcMessage): void {
	const replaced = decoder.replacedDictionary(message);
	if (replaced !== null) {
		throw new IngestError(
			"invalid_arrow",
			`dictionary ${replaced} is given twice; the file format has only deltas`,
		);
	}
	decoder.decode(message);
}

/** `cursor` stands at the file's first byte, and after its last one when this ends. */
export async function* readFileComingBy(
	cursor: ByteCursor,
	context: SourceContext,
): AsyncGenerator<SourceEvent> {
	if (!(await schemaIsFirst(cursor, context))) {
		yield* readFileInMemory(cursor, context);
		return;
	}
	const start = cursor.offset;
	await passHead(cursor);
	const first = await readMessage(cursor, context);
	if (first === "end_of_stream" || first === "end") throw cutFile(cursor.offset);
	const schema = schemaOf(first, context.limits);
	if (schema === null) throw refuseBeforeSchema(first);
	yield { kind: "schema", schema };
	const decoder = new StreamDecoder(schema, context);
	const seen = { dictionaries: [] as FileBlock[], batches: [] as FileBlock[] };
	while (!(await footerIsNext(cursor, context))) {
		const message = await readMessage(cursor, context);
		if (message === "end_of_stream") break;
		if (message === "end") throw cutFile(cursor.offset);
		const block = {
			offset: message.offset - start,
			metadataLength: message.metadataLength,
			bodyLength: message.body.byteLength,
		};
		if ((message.message.headerType() as number) === headerTypes.dictionaryBatch) {
			decodeFileDictionary(decoder, message);
			seen.dictionaries.push(block);
		} else {
			const batch = decoder.decode(message);
			seen.batches.push(block);
			if (batch !== null) yield { kind: "batch", batch };
		}
	}
	await checkFooter(cursor, start, seen, context);
}

/** Where bytes end too early to tell, the answer is yes, and reading on says so. */
async function schemaIsFirst(cursor: ByteCursor, { limits }: SourceContext): Promise<boolean> {
	let at = fileHeadBytes;
	let head = await cursor.peek(at + 8);
	while (head.byteLength === at + 8 && at < maxGapBytes && head.subarray(at).every(isZero)) {
		at += 8;
		head = await cursor.peek(at + 8);
	}
	if (head.byteLength < at + 8) return true;
	const view = new DataView(head.buffer, head.byteOffset + at, 8);
	const marked = view.getInt32(0, true) === -1;
	const length = view.getInt32(marked ? 4 : 0, true);
	if (length <= 0 || length > limits.maxMetadataBytes) return false;
	const from = at + (marked ? 8 : 4);
	const metadata = (await cursor.peek(from + length)).slice(from);
	if (metadata.byteLength < length) return marked;
	try {
		const header = parseMessage(metadata, from).headerType() as number;
		return header === headerTypes.schema;
	} catch {
		return false;
	}
}

function isZero(byte: number): boolean {
	return byte === 0;
}

async function* readFileInMemory(
	cursor: ByteCursor,
	context: SourceContext,
): AsyncGenerator<SourceEvent> {
	const { limits } = context;
	const parts: Uint8Array[] = [];
	let size = 0;
	for (let chunk = await cursor.takeChunk(); chunk !== null; chunk = await cursor.takeChunk()) {
		parts.push(chunk.slice());
		size += chunk.byteLength;
		if (size <= limits.maxBatchBytes) continue;
		throw new IngestError(
			"too_large",
			`the file has its schema in its footer alone, so it can't be read as it comes by, and at more than ${limits.maxBatchBytes} bytes it is too large to be kept; send it without content coding, or as an Arrow stream`,
			{ extra: { limit: limits.maxBatchBytes } },
		);
	}
	const bytes = join(parts, size, context);
	const atRest: AtRest = {
		size,
		read: async (offset, length) => bytes.subarray(offset, offset + length),
	};
	const inside = { ...context, sourceBytes: size };
	const footer = await readFooterAtRest(atRest, inside);
	if (footer === null) throw cutFile(cursor.offset);
	yield* readFileAtRest(new ByteCursor(once(bytes)), atRest, footer, inside);
}

function join(parts: Uint8Array[], size: number, { codecs }: SourceContext): Uint8Array {
	const bytes = codecs.allocate(size);
	let at = 0;
	for (const part of parts) {
		bytes.set(part, at);
		at += part.byteLength;
	}
	return bytes;
}

/** The magic and its padding: 2 bytes by the specification, up to the next 64 by some writers. */
async function passHead(cursor: ByteCursor): Promise<void> {
	const start = cursor.offset;
	if ((await cursor.skip(fileHeadBytes)) < fileHeadBytes) throw cutFile(cursor.offset);
	while (cursor.offset - start < maxGapBytes) {
		const head = await cursor.peek(8);
		if (head.byteLength < 8 || !head.every(isZero)) return;
		await cursor.skip(8);
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

/** Old writers put no end-of-stream marker before the footer: then what comes next is no message. */
async function footerIsNext(cursor: ByteCursor, context: SourceContext): Promise<boolean> {
	const head = await cursor.peek(8);
	if (head.byteLength < 8) return false;
	const length = new DataView(head.buffer, head.byteOffset, 4).getInt32(0, true);
	if (length === -1 || length === 0) return false;
	if (!beginsLegacyMessage(head) || length > context.limits.maxMetadataBytes) return true;
	try {
		verifyMessage((await cursor.peek(4 + length)).slice(4));
		return false;
	} catch {
		return true;
	}
}

/** Finds the footer, which nothing announces, by the length and magic that follow it. */
async function checkFooter(
	cursor: ByteCursor,
	start: number,
	seen: { dictionaries: FileBlock[]; batches: FileBlock[] },
	{ limits }: SourceContext,
): Promise<void> {
	const most = limits.maxMetadataBytes + fileTailBytes + maxGapBytes;
	let searched = 0;
	for (let size = 4096; ; size *= 2) {
		const bytes = await cursor.peek(Math.min(size, most));
		const found = findTail(bytes, searched);
		if (found !== null) {
			const footerAt = cursor.offset - start + found.from;
			const footer = parseFooter(bytes.slice(found.from, found.to), footerAt, limits);
			requireSameBlocks(footer.dictionaries, seen.dictionaries, "dictionary");
			requireSameBlocks(footer.batches, seen.batches, "record");
			await cursor.skip(found.to + fileTailBytes);
			return;
		}
		if (bytes.byteLength < Math.min(size, most)) throw cutFile(cursor.offset + bytes.byteLength);
		if (bytes.byteLength === most) {
			throw new IngestError(
				"invalid_arrow",
				`no footer within ${most} bytes after the file's last batch`,
			);
		}
		searched = Math.max(0, bytes.byteLength - fileTailBytes);
	}
}

/** The first magic in `bytes`, searched from `searched` on, whose length before it leads back to where the footer can begin. */
function findTail(bytes: Uint8Array, searched: number): { from: number; to: number } | null {
	const first = fileMagic.charCodeAt(0);
	for (let at = bytes.indexOf(first, searched); at >= 0; at = bytes.indexOf(first, at + 1)) {
		const length = footerLength(bytes.subarray(0, at + fileMagic.length));
		const from = at - 4 - (length ?? 0);
		if (length !== null && from >= 0 && from <= maxGapBytes) return { from, to: at - 4 };
	}
	return null;
}

function requireSameBlocks(listed: FileBlock[], seen: FileBlock[], what: string): void {
	const same =
		listed.length === seen.length &&
		listed.every((block, i) => {
			const { offset, metadataLength, bodyLength } = seen[i]!;
			return (
				block.offset === offset &&
				block.metadataLength === metadataLength &&
				block.bodyLength === bodyLength
			);
		});
	if (same) return;
	throw new IngestError(
		"invalid_arrow",
		`the footer lists ${listed.length} ${what} batches which are not the ${seen.length} that came before it`,
	);
}

function cutFile(at: number): IngestError {
	return new IngestError("truncated_stream", `the file ends at byte ${at} without its footer`);
}
