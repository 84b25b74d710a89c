/**
 * In: one byte source. Out: its schemas and record batches, in order: of an IPC file, of a stream,
 * or of several complete ones after the other. Every byte passes `onChunk`, also those that hold no rows.
 *
 * A stream that ends at a message border is complete, with or without its marker; a
 * missing one is a warning, or `truncated_stream` where the caller wants it there.
 *
 * Bytes after the end. What begins like Arrow is the next stream, and its errors count. Of the rest
 * no byte can hold rows we know of, so it is ignored with a warning (padding to a block,
 * a newline, a checksum), unless it looks like data in another format, or somewhere
 * has the marker that every message begins with: then rows may be missing, and
 * the load is refused.
 */

import { IngestError } from "../errors.ts";
import type { Warning } from "../flow.ts";
import type { ByteSource } from "./byte-source.ts";
import { readFileComingBy } from "./file-format.ts";
import { readMessage } from "./message-stream.ts";
import { beginsArrow, fileMagic, knownFormat, requireArrow, sniffBytes } from "./sniff.ts";
import type { ReadOptions, SourceContext, SourceEvent } from "./source-events.ts";
import { refuseBeforeSchema, StreamDecoder, schemaOf } from "./stream-decoder.ts";
import { ByteCursor } from "./wire/byte-cursor.ts";
import { readFileAtRest, readFooterAtRest } from "./wire/file-at-rest.ts";

export async function* readSource(
	source: ByteSource,
	options: ReadOptions,
): AsyncGenerator<SourceEvent> {
	const context = { ...options, sourceBytes: source.atRest?.size ?? null };
	const cursor = new ByteCursor(source.stream(options.signal), options.onChunk);
	try {
		requireArrow(await cursor.peek(sniffBytes), source.name);
		const footer =
			source.atRest !== null && (await fileIsNext(cursor))
				? await readFooterAtRest(source.atRest, context)
				: null;
		if (footer === null) yield* readSequence(cursor, source.name, context);
		else yield* readFileAtRest(cursor, source.atRest!, footer, context);
		while ((await cursor.takeChunk()) !== null);
	} finally {
		await cursor.close();
	}
}

/** Streams and files one after the other, and what may follow them. */
async function* readSequence(
	cursor: ByteCursor,
	name: string,
	context: SourceContext,
): AsyncGenerator<SourceEvent> {
	do {
		if (await fileIsNext(cursor)) yield* readFileComingBy(cursor, context);
		else yield* readStream(cursor, name, context);
		await passRepeatedEnds(cursor, name, context);
	} while (beginsArrow(await cursor.peek(sniffBytes)));
	await passTrailingBytes(cursor, name, context);
}

/** A stream that was closed twice ends twice. */
async function passRepeatedEnds(
	cursor: ByteCursor,
	name: string,
	{ warn }: SourceContext,
): Promise<void> {
	const start = cursor.offset;
	const isEnd = (head: Uint8Array) =>
		head.byteLength === 8 && head.every((byte, i) => byte === (i < 4 ? 0xff : 0));
	while (isEnd(await cursor.peek(8))) await cursor.skip(8);
	if (cursor.offset > start) warn(ignored(name, start, cursor.offset));
}

function ignored(name: string, from: number, to: number): Warning {
	return {
		code: "trailing_bytes_ignored",
		detail: `${name}: ${to - from} bytes after the end of the Arrow data, from byte ${from}, hold no rows and were ignored`,
	};
}

async function fileIsNext(cursor: ByteCursor): Promise<boolean> {
	const head = await cursor.peek(fileMagic.length);
	return head.byteLength > 0 && head.every((byte, i) => byte === fileMagic.charCodeAt(i));
}

async function* readStream(
	cursor: ByteCursor,
	name: string,
	context: SourceContext,
): AsyncGenerator<SourceEvent> {
	let decoder: StreamDecoder | null = null;
	for (;;) {
		const message = await readMessage(cursor, context);
		if (message === "end_of_stream") {
			if (decoder !== null) return passLegacyPadding(cursor);
			throw new IngestError("invalid_arrow", `${name}: the stream ends before its schema`);
		}
		if (message === "end") return missingMarker(name, cursor.offset, context);
		const schema = schemaOf(message, context.limits);
		if (schema !== null) {
			// The next stream, without an end of the one before.
			if (decoder !== null) missingMarker(name, message.offset, context);
			decoder = new StreamDecoder(schema, context);
			yield { kind: "schema", schema };
			continue;
		}
		if (decoder === null) throw refuseBeforeSchema(message);
		const batch = decoder.decode(message);
		if (batch === null) continue;
		yield { kind: "batch", batch };
		for (let more = decoder.gather(cursor); more !== null; more = decoder.gather(cursor)) {
			yield { kind: "batches", batches: more };
		}
	}
}

function missingMarker(name: string, at: number, { requireEos, warn }: SourceContext): void {
	const detail = `${name}: the stream that ends at byte ${at} has no end-of-stream marker`;
	if (requireEos) throw new IngestError("truncated_stream", detail);
	warn({ code: "no_end_of_stream", detail });
}

/** Before Arrow 0.15 the end was 4 zero bytes, and some writers padded them to 8. */
async function passLegacyPadding(cursor: ByteCursor): Promise<void> {
	const head = await cursor.peek(5);
	if (head.byteLength === 4 && head.every((byte) => byte === 0)) await cursor.skip(4);
}

async function passTrailingBytes(
	cursor: ByteCursor,
	name: string,
	{ warn }: SourceContext,
): Promise<void> {
	const start = cursor.offset;
	const format = knownFormat(await cursor.peek(sniffBytes));
	if (format !== null) {
		throw new IngestError(
			"invalid_arrow",
			`${name}: after the end of the Arrow data, from byte ${start}, comes what looks like ${format}`,
		);
	}
	let marks = 0;
	for (;;) {
		const chunk = await cursor.takeChunk();
		if (chunk === null) break;
		for (const byte of chunk) {
			marks = byte === 0xff ? marks + 1 : 0;
			if (marks < 4) continue;
			throw new IngestError(
				"invalid_arrow",
				`${name}: after the end of the Arrow data, from byte ${start}, come bytes that hold another message but do not begin with one`,
			);
		}
	}
	if (cursor.offset > start) warn(ignored(name, start, cursor.offset));
}
