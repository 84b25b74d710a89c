/**
 * Where in an IPC stream or file the parts are that a mutation can aim at. In: the
 * bytes of a file that is right; out: its messages, with the positions of field
 * nodes and buffer structs in their metadata and of the buffers in their bodies.
 * What isn't understood ends the map.
 */

import { DictionaryBatch } from "apache-arrow/fb/dictionary-batch";
import { Message } from "apache-arrow/fb/message";
import { MessageHeader } from "apache-arrow/fb/message-header";
import { RecordBatch } from "apache-arrow/fb/record-batch";
import { ByteBuffer } from "flatbuffers";

export interface MappedMessage {
	/** Of its prefix. */
	start: number;
	metadata: { start: number; length: number };
	body: { start: number; length: number };
	end: number;
	isDictionary: boolean;
	/** Positions of int64 in the metadata: body length, rows, node lengths and null counts, buffer offsets and lengths. */
	counts: number[];
	/** Positions of the buffers' structs { offset, length } in the metadata. */
	entries: number[];
	/** Ranges of the body's buffers, in absolute positions. */
	buffers: { start: number; length: number }[];
}

export function mapMessages(bytes: Uint8Array): MappedMessage[] {
	const messages: MappedMessage[] = [];
	const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
	const isFile = new TextDecoder().decode(bytes.subarray(0, 6)) === "ARROW1";
	let at = isFile ? 8 : 0;
	try {
		while (at + 8 <= bytes.length) {
			const start = at;
			let length = view.getInt32(at, true);
			at += 4;
			if (length === -1) {
				length = view.getInt32(at, true);
				at += 4;
			}
			if (length <= 0 || at + length > bytes.length) break;
			const message = mapMessage(bytes, start, at, length);
			if (message.end > bytes.length) break;
			messages.push(message);
			at = message.end;
		}
	} catch {
		// The rest is no message.
	}
	return messages;
}

function mapMessage(
	bytes: Uint8Array,
	start: number,
	metadataStart: number,
	length: number,
): MappedMessage {
	const metadata = bytes.subarray(metadataStart, metadataStart + length);
	const message = Message.getRootAsMessage(new ByteBuffer(metadata));
	const body = { start: metadataStart + length, length: Number(message.bodyLength()) };
	const mapped: MappedMessage = {
		start,
		metadata: { start: metadataStart, length },
		body,
		end: body.start + body.length,
		isDictionary: message.headerType() === MessageHeader.DictionaryBatch,
		counts: [],
		entries: [],
		buffers: [],
	};
	const batch =
		message.headerType() === MessageHeader.RecordBatch
			? (message.header(new RecordBatch()) as RecordBatch | null)
			: message.headerType() === MessageHeader.DictionaryBatch
				? (message.header(new DictionaryBatch()) as DictionaryBatch | null)?.data()
				: null;
	if (!batch) return mapped;
	// Slots of Message.bodyLength and RecordBatch.length.
	const bodyLengthAt = message.bb!.__offset(message.bb_pos, 10);
	const rowsAt = batch.bb!.__offset(batch.bb_pos, 4);
	if (bodyLengthAt !== 0) mapped.counts.push(metadataStart + message.bb_pos + bodyLengthAt);
	if (rowsAt !== 0) mapped.counts.push(metadataStart + batch.bb_pos + rowsAt);
	for (let i = 0; i < Math.min(batch.nodesLength(), 1_000); i++) {
		const at = metadataStart + batch.nodes(i)!.bb_pos;
		mapped.counts.push(at, at + 8);
	}
	for (let i = 0; i < Math.min(batch.buffersLength(), 1_000); i++) {
		const buffer = batch.buffers(i)!;
		const at = metadataStart + buffer.bb_pos;
		mapped.counts.push(at, at + 8);
		mapped.entries.push(at);
		const range = { start: body.start + Number(buffer.offset()), length: Number(buffer.length()) };
		const isInside = range.start >= 0 && range.start + range.length <= bytes.length;
		if (range.length > 0 && isInside) mapped.buffers.push(range);
	}
	return mapped;
}
