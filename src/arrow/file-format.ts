/**
 * IPC files that come by: each is the stream inside it.
 *
 * The footer is met at the end and must list the very messages that went by. Dictionaries must come
 * before their use here. This way also reads what has bytes after its footer: padding, or another file.
 *
 * Some writers, apache-arrow for JavaScript among them, put the schema into the footer alone. Such
 * a file is no stream: it is kept in memory, up to the limit of one batch, and then
 * read as at rest.
 */

import { IngestError } from "../errors.ts";
import { headerTypes, parseMessage, readMessage } from "./message-stream.ts";
import { sameShape } from "./same-fields.ts";
import type { SentSchema } from "./schema.ts";
import { beginsLegacyMessage, fileMagic } from "./sniff.ts";
import type { SourceContext, SourceEvent } from "./source-events.ts";
import { refuseBeforeSchema, StreamDecoder, schemaOf } from "./stream-decoder.ts";
import type { Field } from "./types.ts";
import { ByteCursor } from "./wire/byte-cursor.ts";
import {
	type AtRest,
	decodeFileDictionary,
	once,
	readFileAtRest,
	readFooterAtRest,
} from "./wire/file-at-rest.ts";
import {
	type FileBlock,
	fileHeadBytes,
	fileTailBytes,
	footerLength,
	maxGapBytes,
	parseFooter,
} from "./wire/file-footer.ts";
import { verifyMessage } from "./wire/flatbuffer-verify.ts";

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
			let run: FileBlock[] = [];
			const taken = (at: number, metadataLength: number, bodyLength: number) =>
				run.push({ offset: cursor.offset - start + at, metadataLength, bodyLength }) > 0;
			for (;;) {
				const batches = decoder.gather(cursor, taken);
				if (batches === null) break;
				for (const block of run) seen.batches.push(block);
				run = [];
				yield { kind: "batches", batches };
			}
		}
	}
	await checkFooter(cursor, start, schema, seen, context);
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
	schema: SentSchema,
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
			requireSameSchema(footer.schema, schema);
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

/** At rest the footer's schema is read; what comes by must not mean other values. */
function requireSameSchema(listed: SentSchema, seen: SentSchema): void {
	const same =
		listed.bigEndian === seen.bigEndian &&
		listed.fields.length === seen.fields.length &&
		listed.fields.every((field, i) => {
			const other = seen.fields[i]!;
			return field.name === other.name && sameShape(field, other) && sameDictionaries(field, other);
		});
	if (same) return;
	throw new IngestError(
		"invalid_arrow",
		"the footer has another schema than the file's first message",
	);
}

/** Of fields of one shape. */
function sameDictionaries(a: Field, b: Field): boolean {
	const [one, other] = [a.dictionary, b.dictionary];
	const same =
		one?.id === other?.id &&
		one?.indexType.bits === other?.indexType.bits &&
		one?.indexType.signed === other?.indexType.signed;
	return same && a.children.every((child, i) => sameDictionaries(child, b.children[i]!));
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
