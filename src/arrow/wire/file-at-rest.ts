/**
 * IPC files at rest: the footer decides. What it lists is read, in its order, dictionaries first.
 *
 * When its blocks lie in that order, one pass over the bytes does it; else the blocks
 * are read where they are, and the pass only counts and digests.
 */

import { IngestError } from "../../errors.ts";
import type { ByteSource } from "../byte-source.ts";
import { headerTypes, type IpcMessage, readMessage } from "../message-stream.ts";
import type { SourceContext, SourceEvent } from "../source-events.ts";
import { type GatheredBatches, StreamDecoder } from "../stream-decoder.ts";
import { ByteCursor } from "./byte-cursor.ts";
import {
	blockEnd,
	type FileBlock,
	type FileFooter,
	fileHeadBytes,
	fileTailBytes,
	footerLength,
	maxGapBytes,
	parseFooter,
} from "./file-footer.ts";

export type AtRest = NonNullable<ByteSource["atRest"]>;

/** The footer is fetched together with this much before it, which is enough for most. */
const tailReadBytes = 64 * 1024;

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
	for (let i = 0; i < footer.batches.length; ) {
		const message = await reads(footer.batches[i]!, batchesInPass);
		requireHeader(message, headerTypes.recordBatch, "record batch");
		yield { kind: "batch", batch: decoder.decode(message)! };
		i++;
		if (!batchesInPass) continue;
		for (;;) {
			const batches = gatherListed(decoder, cursor, footer.batches, i);
			if (batches === null) break;
			i += batches.count;
			yield { kind: "batches", batches };
		}
	}
}

/** Messages that lie one after the other, each as its block says, the first of them as block `next`. */
function gatherListed(
	decoder: StreamDecoder,
	cursor: ByteCursor,
	blocks: readonly FileBlock[],
	next: number,
): GatheredBatches | null {
	let position = next;
	return decoder.gather(cursor, (at, metadataLength, bodyLength) => {
		const block = blocks[position++];
		return (
			block?.offset === cursor.offset + at &&
			block.metadataLength === metadataLength &&
			block.bodyLength === bodyLength
		);
	});
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

export async function* once(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
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
export function decodeFileDictionary(decoder: StreamDecoder, message: IpcMessage): void {
	const replaced = decoder.replacedDictionary(message);
	if (replaced !== null) {
		throw new IngestError(
			"invalid_arrow",
			`dictionary ${replaced} is given twice; the file format has only deltas`,
		);
	}
	decoder.decode(message);
}
