/** A small LZ4 frame writer: greedy matches over a hash of four bytes, or stored blocks. */

import { xxHash32 } from "../../../../src/arrow/wire/xxhash32.ts";
import { concat } from "./write-ipc.ts";

export interface FrameOptions {
	/** Matches may reach into blocks before. */
	linked?: boolean;
	stored?: boolean;
	contentSize?: boolean;
	contentChecksum?: boolean;
	blockChecksums?: boolean;
	blockBytes?: number;
}

export function lz4Frame(bytes: Uint8Array, options: FrameOptions = {}): Uint8Array {
	const { linked = false, stored = false, blockBytes = 65536 } = options;
	const flags =
		0x40 |
		(linked ? 0 : 0x20) |
		(options.blockChecksums ? 0x10 : 0) |
		(options.contentSize ? 8 : 0) |
		(options.contentChecksum ? 4 : 0);
	const size = new Uint8Array(options.contentSize ? 8 : 0);
	if (options.contentSize) new DataView(size.buffer).setUint32(0, bytes.byteLength, true);
	const descriptor = concat(Uint8Array.of(flags, 0x40), size);
	const parts = [
		Uint8Array.of(0x04, 0x22, 0x4d, 0x18),
		descriptor,
		Uint8Array.of((xxHash32(descriptor) >>> 8) & 0xff),
	];
	for (let at = 0; at < bytes.byteLength; at += blockBytes) {
		const end = Math.min(at + blockBytes, bytes.byteLength);
		const block = stored ? bytes.subarray(at, end) : lz4Block(bytes, at, end, linked ? 0 : at);
		parts.push(uint32(block.byteLength | (stored ? 0x80000000 : 0)), block);
		if (options.blockChecksums) parts.push(uint32(xxHash32(block)));
	}
	parts.push(uint32(0));
	if (options.contentChecksum) parts.push(uint32(xxHash32(bytes)));
	return concat(...parts);
}

function lz4Block(bytes: Uint8Array, from: number, end: number, floor: number): Uint8Array {
	const out: number[] = [];
	const seen = new Map<number, number>();
	const key = (at: number) =>
		bytes[at]! + bytes[at + 1]! * 256 + bytes[at + 2]! * 65536 + bytes[at + 3]! * 16777216;
	for (let at = floor; at < from - 3; at++) seen.set(key(at), at);
	/** What is over 15 follows the token: bytes of 255 and one below it. */
	const run = (length: number) => {
		if (length < 15) return;
		let left = length - 15;
		for (; left >= 255; left -= 255) out.push(255);
		out.push(left);
	};
	let literalsFrom = from;
	let at = from;
	// "The last match must start at least 12 bytes before the end of block", and the last 5 bytes are literals.
	while (at < end - 12) {
		const match = seen.get(key(at));
		seen.set(key(at), at);
		if (match === undefined || at - match > 65535) {
			at++;
			continue;
		}
		let length = 4;
		while (at + length < end - 5 && bytes[match + length] === bytes[at + length]) length++;
		const literals = at - literalsFrom;
		out.push((Math.min(literals, 15) << 4) | Math.min(length - 4, 15));
		run(literals);
		for (let i = literalsFrom; i < at; i++) out.push(bytes[i]!);
		out.push((at - match) & 0xff, (at - match) >> 8);
		run(length - 4);
		at += length;
		literalsFrom = at;
	}
	const literals = end - literalsFrom;
	out.push(Math.min(literals, 15) << 4);
	run(literals);
	for (let i = literalsFrom; i < end; i++) out.push(bytes[i]!);
	return Uint8Array.from(out);
}

function uint32(value: number): Uint8Array {
	const bytes = new Uint8Array(4);
	new DataView(bytes.buffer).setUint32(0, value >>> 0, true);
	return bytes;
}
