/**
 * LZ4 frames, unpacked into exactly as many bytes as were declared.
 *
 * Frame format: https://github.com/lz4/lz4/blob/dev/doc/lz4_Frame_format.md
 * Block format: https://github.com/lz4/lz4/blob/dev/doc/lz4_Block_format.md
 *
 * In: one or more frames, linked or independent blocks, skippable frames between them. Out: a
 * buffer of `size` bytes. Anything else throws: cut or trailing bytes, more or fewer
 * bytes than declared, matches that reach before the frame, a frame that needs a
 * dictionary, wrong checksums of header or content. Checksums of blocks are passed
 * over: the content's tells the same.
 */

import { xxHash32 } from "./xxhash32.ts";

const frameMagic = 0x184d2204;
/** Sixteen magics of frames that are to be passed over. */
const skippableMagic = 0x184d2a50;
const minMatch = 4;
/** Shorter runs are copied byte by byte: a call costs more. */
const shortRun = 32;
/** Longer matches are left to `copyWithin`. */
const longMatch = 128;
const wideBytes = 8;

/** The codec of `codecs.ts`; `allocate` gives the output. */
export function decodeLz4Frames(
	source: Uint8Array,
	size: number,
	allocate: (size: number) => Uint8Array,
): Uint8Array {
	const target = allocate(size);
	const view = new DataView(source.buffer, source.byteOffset, source.byteLength);
	let from = 0;
	let to = 0;
	while (from < source.byteLength) {
		const magic = uint32(view, from);
		from += 4;
		if ((magic & 0xfffffff0) >>> 0 === skippableMagic) {
			from += 4 + uint32(view, from);
			if (from > source.byteLength) throw new Error("a skippable frame is cut off");
			continue;
		}
		if (magic !== frameMagic) {
			throw new Error(`no LZ4 frame at byte ${from - 4}: 0x${magic.toString(16)}`);
		}
		({ from, to } = decodeFrame(source, view, from, target, to));
	}
	if (to !== size) throw new Error(`${to} bytes came out`);
	return target;
}

interface Positions {
	/** Next byte to read. */
	from: number;
	/** Next byte to write. */
	to: number;
}

/** `from` is after the magic, and in the result after the frame. */
function decodeFrame(
	source: Uint8Array,
	view: DataView,
	from: number,
	target: Uint8Array,
	to: number,
): Positions {
	const header = readHeader(source, view, from);
	const frameStart = to;
	let at = header.end;
	for (;;) {
		const word = uint32(view, at);
		at += 4;
		// "A block size of 0 is the EndMark."
		if (word === 0) break;
		const length = word & 0x7fffffff;
		const end = at + length;
		if (length > header.maxBlockBytes) throw new Error(`a block of ${length} bytes`);
		if (end > source.byteLength) throw new Error(`a block of ${length} bytes is cut off`);
		const limit = Math.min(target.byteLength, to + header.maxBlockBytes);
		// "If the highest bit is set, the block is uncompressed."
		if (word >>> 31 === 1) {
			if (to + length > limit) throw new Error("more bytes come out than declared");
			target.set(source.subarray(at, end), to);
			to += length;
		} else {
			const floor = header.independent ? to : frameStart;
			to = decodeBlock(source, at, end, target, to, limit, floor);
		}
		at = header.blockChecksums ? end + 4 : end;
	}
	if (header.contentSize !== null && header.contentSize !== to - frameStart) {
		throw new Error(`a frame of ${header.contentSize} bytes gave ${to - frameStart}`);
	}
	if (header.contentChecksum) {
		if (uint32(view, at) !== xxHash32(target.subarray(frameStart, to))) {
			throw new Error("the checksum of the content is wrong");
		}
		at += 4;
	}
	return { from: at, to };
}

interface FrameHeader {
	independent: boolean;
	blockChecksums: boolean;
	contentChecksum: boolean;
	contentSize: number | null;
	maxBlockBytes: number;
	end: number;
}

/**
 * FLG: version (bits 7-6, must be 01), independent blocks (5), block checksums (4), content size
 * (3), content checksum (2), reserved (1), dictionary id (0). BD: reserved (7), block
 * size (6-4), reserved (3-0). Then 8 bytes of content size and the header's checksum.
 */
function readHeader(source: Uint8Array, view: DataView, from: number): FrameHeader {
	if (from + 3 > source.byteLength) throw new Error("the frame's header is cut off");
	const flags = source[from]!;
	const descriptor = source[from + 1]!;
	if (flags >>> 6 !== 1) throw new Error(`frame version ${flags >>> 6}`);
	if ((flags & 0b10) !== 0 || (descriptor & 0b1000_1111) !== 0) {
		throw new Error("reserved bits of the frame's header are set");
	}
	if ((flags & 1) !== 0) throw new Error("the frame needs a dictionary");
	const blockSize = (descriptor >>> 4) & 7;
	if (blockSize < 4) throw new Error(`block size ${blockSize}`);
	let end = from + 2;
	let contentSize: number | null = null;
	if ((flags & 0b1000) !== 0) {
		contentSize = uint32(view, end) + uint32(view, end + 4) * 0x1_0000_0000;
		end += 8;
	}
	// "One-byte checksum of combined descriptor fields, including optional ones: the second byte of xxh32()."
	const checksum = (xxHash32(source.subarray(from, end)) >>> 8) & 0xff;
	if (source[end] !== checksum) throw new Error("the checksum of the frame's header is wrong");
	return {
		independent: (flags & 0b10_0000) !== 0,
		blockChecksums: (flags & 0b1_0000) !== 0,
		contentChecksum: (flags & 0b100) !== 0,
		contentSize,
		maxBlockBytes: 1 << (8 + 2 * blockSize),
		end: end + 1,
	};
}

/**
 * Sequences of {token, literals, offset, match}. Writes from `to` and never to `limit`; matches
 * reach back to `floor` at most. Returns where writing ended.
 */
function decodeBlock(
	source: Uint8Array,
	from: number,
	end: number,
	target: Uint8Array,
	to: number,
	limit: number,
	floor: number,
): number {
	// Short runs are copied 8 bytes at a time, over their end: what is written there too is written
	// again later. BigInts that only pass through are registers to V8: three times as fast as bytes.
	const input = new DataView(source.buffer, source.byteOffset, source.byteLength);
	const output = new DataView(target.buffer, target.byteOffset, target.byteLength);
	const lastWideRead = end - 2 * wideBytes;
	const lastWideWrite = limit - 2 * wideBytes;
	let at = from;
	let out = to;
	while (at < end) {
		const token = source[at++]!;
		let literals = token >>> 4;
		if (literals === 15) {
			let more = 255;
			while (more === 255) {
				if (at >= end) throw new Error("a run of literals is cut off");
				more = source[at++]!;
				literals += more;
			}
		}
		if (literals <= 2 * wideBytes && at <= lastWideRead && out <= lastWideWrite) {
			output.setBigUint64(out, input.getBigUint64(at, true), true);
			if (literals > wideBytes)
				output.setBigUint64(out + wideBytes, input.getBigUint64(at + wideBytes, true), true);
			at += literals;
			out += literals;
		} else if (literals > 0) {
			if (at + literals > end) throw new Error("literals are cut off");
			if (out + literals > limit) throw new Error("more bytes come out than declared");
			if (literals < shortRun) {
				for (let i = 0; i < literals; i++) target[out + i] = source[at + i]!;
			} else target.set(source.subarray(at, at + literals), out);
			at += literals;
			out += literals;
		}
		// "The last sequence contains only literals."
		if (at === end) return out;
		if (at + 2 > end) throw new Error("a match is cut off");
		const distance = source[at]! | (source[at + 1]! << 8);
		at += 2;
		let length = (token & 15) + minMatch;
		if (length === 15 + minMatch) {
			let more = 255;
			while (more === 255) {
				if (at >= end) throw new Error("the length of a match is cut off");
				more = source[at++]!;
				length += more;
			}
		}
		let match = out - distance;
		if (distance === 0 || match < floor) throw new Error(`a match reaches back ${distance} bytes`);
		const stop = out + length;
		if (stop > limit) throw new Error("more bytes come out than declared");
		if (distance >= wideBytes && length <= longMatch && stop <= lastWideWrite) {
			do {
				output.setBigUint64(out, output.getBigUint64(match, true), true);
				out += wideBytes;
				match += wideBytes;
			} while (out < stop);
			out = stop;
		} else if (length < shortRun) while (out < stop) target[out++] = target[match++]!;
		else {
			copyMatch(target, match, out, length);
			out = stop;
		}
	}
	throw new Error("the block ends in a match");
}

/** Match and output may overlap: then what was just written repeats. */
function copyMatch(target: Uint8Array, match: number, out: number, length: number): void {
	const distance = out - match;
	if (distance === 1) {
		target.fill(target[match]!, out, out + length);
		return;
	}
	let done = 0;
	// What can be copied without overlap doubles each time.
	while (done < length) {
		const count = Math.min(distance + done, length - done);
		target.copyWithin(out + done, match, match + count);
		done += count;
	}
}

function uint32(view: DataView, at: number): number {
	if (at + 4 > view.byteLength) throw new Error("the frame is cut off");
	return view.getUint32(at, true);
}
