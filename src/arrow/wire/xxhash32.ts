/** xxHash of 32 bits with seed 0, as LZ4 frames have it: https://github.com/Cyan4973/xxHash/blob/dev/doc/xxhash_spec.md */

const prime1 = 0x9e3779b1;
const prime2 = 0x85ebca77;
const prime3 = 0xc2b2ae3d;
const prime4 = 0x27d4eb2f;
const prime5 = 0x165667b1;
const stripeBytes = 16;

/** An unsigned 32-bit integer. */
export function xxHash32(bytes: Uint8Array): number {
	const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
	const length = bytes.byteLength;
	let at = 0;
	let hash: number;
	if (length >= stripeBytes) {
		let a = (prime1 + prime2) | 0;
		let b = prime2 | 0;
		let c = 0;
		let d = -prime1 | 0;
		for (; at + stripeBytes <= length; at += stripeBytes) {
			a = round(a, view.getInt32(at, true));
			b = round(b, view.getInt32(at + 4, true));
			c = round(c, view.getInt32(at + 8, true));
			d = round(d, view.getInt32(at + 12, true));
		}
		hash = (rotate(a, 1) + rotate(b, 7) + rotate(c, 12) + rotate(d, 18)) | 0;
	} else hash = prime5;
	hash = (hash + length) | 0;
	for (; at + 4 <= length; at += 4) {
		hash = (hash + Math.imul(view.getInt32(at, true), prime3)) | 0;
		hash = Math.imul(rotate(hash, 17), prime4);
	}
	for (; at < length; at++) {
		hash = (hash + Math.imul(view.getUint8(at), prime5)) | 0;
		hash = Math.imul(rotate(hash, 11), prime1);
	}
	hash = Math.imul(hash ^ (hash >>> 15), prime2);
	hash = Math.imul(hash ^ (hash >>> 13), prime3);
	return (hash ^ (hash >>> 16)) >>> 0;
}

function round(lane: number, input: number): number {
	return Math.imul(rotate((lane + Math.imul(input, prime2)) | 0, 13), prime1);
}

function rotate(value: number, bits: number): number {
	return (value << bits) | (value >>> (32 - bits));
}
