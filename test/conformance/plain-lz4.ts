/**
 * LZ4 frames unpacked in the plainest way, for the independent reader: sizes are
 * not known before, checksums not looked at.
 */
export function unpackLz4(source: Uint8Array): Uint8Array {
	const out: number[] = [];
	const view = new DataView(source.buffer, source.byteOffset, source.byteLength);
	let at = 0;
	while (at < source.length) {
		if (view.getUint32(at, true) !== 0x184d2204) throw new Error("no LZ4 frame");
		const flags = source[at + 4]!;
		at += 7 + (flags & 8 ? 8 : 0) + (flags & 1 ? 4 : 0);
		for (;;) {
			const header = view.getUint32(at, true);
			at += 4;
			if (header === 0) break;
			const size = header & 0x7fff_ffff;
			const block = source.subarray(at, at + size);
			if (header >>> 31) out.push(...block);
			else unpackBlock(block, out);
			at += size + (flags & 16 ? 4 : 0);
		}
		if (flags & 4) at += 4;
	}
	return Uint8Array.from(out);
}

function unpackBlock(block: Uint8Array, out: number[]): void {
	let at = 0;
	const length = (nibble: number) => {
		let total = nibble;
		if (nibble === 15) {
			let byte: number;
			do {
				byte = block[at++]!;
				total += byte;
			} while (byte === 255);
		}
		return total;
	};
	while (at < block.length) {
		const token = block[at++]!;
		const literals = length(token >> 4);
		for (let i = 0; i < literals; i++) out.push(block[at++]!);
		if (at >= block.length) return;
		const distance = block[at]! | (block[at + 1]! << 8);
		at += 2;
		const match = length(token & 15) + 4;
		for (let i = 0; i < match; i++) out.push(out[out.length - distance]!);
	}
}
