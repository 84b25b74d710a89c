/** Little-endian bytes of a length not known before: grows by doubling, read once at the end. */
export interface ByteBuilder {
	readonly length: number;
	uint8(value: number): void;
	uint32(value: number): void;
	float64(value: number): void;
	/** Overwrites four bytes written before. */
	setUint32(position: number, value: number): void;
	/** A view of what was written; valid until the next write. */
	bytes(): Uint8Array;
}

export function createByteBuilder(initialBytes: number): ByteBuilder {
	let bytes = new Uint8Array(Math.max(initialBytes, 64));
	let view = new DataView(bytes.buffer);
	let length = 0;
	const reserve = (more: number) => {
		if (length + more <= bytes.length) return;
		const larger = new Uint8Array(bytes.length * 2);
		larger.set(bytes);
		bytes = larger;
		view = new DataView(bytes.buffer);
	};
	return {
		get length() {
			return length;
		},
		uint8(value) {
			reserve(1);
			view.setUint8(length, value);
			length += 1;
		},
		uint32(value) {
			reserve(4);
			view.setUint32(length, value, true);
			length += 4;
		},
		float64(value) {
			reserve(8);
			view.setFloat64(length, value, true);
			length += 8;
		},
		setUint32(position, value) {
			view.setUint32(position, value, true);
		},
		bytes: () => bytes.subarray(0, length),
	};
}
