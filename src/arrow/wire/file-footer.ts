/**
 * The footer of an IPC file: its schema and where its messages lie.
 *
 *   "ARROW1" 2 bytes of padding | a stream | <Footer flatbuffer> <int32: its bytes> "ARROW1"
 *
 * https://arrow.apache.org/docs/format/Columnar.html#ipc-file-format
 */

import type { Block } from "apache-arrow/fb/block";
import { Footer } from "apache-arrow/fb/footer";
import { ByteBuffer } from "flatbuffers";
import { IngestError } from "../../errors.ts";
import type { Limits } from "../../limits.ts";
import { readSchema, type SentSchema } from "../schema.ts";
import { fileMagic } from "../sniff.ts";
import { verifyFooter } from "./flatbuffer-verify.ts";
import { readSize } from "./int64.ts";

/** Magic and padding before the first message. */
export const fileHeadBytes = 8;
/** The footer's length and the magic after it. */
export const fileTailBytes = 4 + fileMagic.length;

/** Padding at most: after the magic, and with the end-of-stream marker between the last message and the footer. */
export const maxGapBytes = 64;

/** One message of a file, by its place from the file's first byte. */
export interface FileBlock {
	offset: number;
	/** Of its prefix and metadata. */
	metadataLength: number;
	bodyLength: number;
}

export interface FileFooter {
	schema: SentSchema;
	dictionaries: FileBlock[];
	batches: FileBlock[];
}

/** Of the last bytes of a file: how long the footer before them is, or null where they are no end of a file. */
export function footerLength(tail: Uint8Array): number | null {
	if (tail.byteLength < fileTailBytes) return null;
	const at = tail.byteLength - fileTailBytes;
	for (let i = 0; i < fileMagic.length; i++) {
		if (tail[at + 4 + i] !== fileMagic.charCodeAt(i)) return null;
	}
	const length = new DataView(tail.buffer, tail.byteOffset + at, 4).getInt32(0, true);
	return length > 0 ? length : null;
}

/** `bytes` are the footer's flatbuffer, `footerAt` its offset in the file: every block ends before it. */
export function parseFooter(bytes: Uint8Array, footerAt: number, limits: Limits): FileFooter {
	verifyFooter(bytes);
	const footer = Footer.getRootAsFooter(new ByteBuffer(bytes));
	const schema = footer.schema();
	if (schema === null) throw new IngestError("invalid_arrow", "the file's footer has no schema");
	const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
	const dictionaries: FileBlock[] = [];
	for (let i = 0; i < footer.dictionariesLength(); i++) {
		dictionaries.push(readBlock(view, footer.dictionaries(i)!, `dictionary ${i}`));
	}
	const batches: FileBlock[] = [];
	for (let i = 0; i < footer.recordBatchesLength(); i++) {
		batches.push(readBlock(view, footer.recordBatches(i)!, `record batch ${i}`));
	}
	refuseOverlaps([...dictionaries, ...batches], footerAt);
	// Some writers leave the footer's version at its default: messages say theirs.
	return {
		schema: readSchema(schema, Math.max(footer.version(), 3), limits),
		dictionaries,
		batches,
	};
}

/** File.fbs, struct Block: int64 offset, int32 metaDataLength and 4 bytes of padding, int64 bodyLength. */
function readBlock(view: DataView, block: Block, what: string): FileBlock {
	const at = block.bb_pos;
	const metadataLength = view.getInt32(at + 8, true);
	if (metadataLength < 0) {
		throw new IngestError(
			"invalid_arrow",
			`the footer gives ${what} ${metadataLength} bytes of metadata`,
		);
	}
	return {
		offset: readSize(view, at, `the footer's offset of ${what}`),
		metadataLength,
		bodyLength: readSize(view, at + 16, `the footer's body length of ${what}`),
	};
}

/** Two blocks that share bytes would make rows out of one batch twice. */
function refuseOverlaps(blocks: FileBlock[], footerAt: number): void {
	let end = fileHeadBytes;
	for (const block of blocks.toSorted((a, b) => a.offset - b.offset)) {
		const next = blockEnd(block);
		if (block.offset < end || next > footerAt) {
			throw new IngestError(
				"invalid_arrow",
				`the footer has a block at bytes ${block.offset} to ${next}, where ${end} to ${footerAt} are free`,
			);
		}
		end = next;
	}
}

export function blockEnd(block: FileBlock): number {
	return block.offset + block.metadataLength + block.bodyLength;
}
