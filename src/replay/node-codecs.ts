/** `Codecs` of Node: ZSTD and SHA-256 from its own libraries, LZ4 from `src/arrow`. */

import { createHash } from "node:crypto";
import { constants, zstdDecompressSync } from "node:zlib";
import type { Codecs } from "../arrow/codecs.ts";
import { decodeLz4Frames } from "../arrow/wire/lz4-frame.ts";

export const nodeCodecs: Codecs = {
	lz4Frame: decodeLz4Frames,
	zstd(source, size) {
		// One chunk holds all of the output and one byte more, so that it is never joined or allocated twice.
		const { buffer, engine } = zstdDecompressSync(source, {
			chunkSize: Math.max(size + 1, constants.Z_MIN_CHUNK),
			maxOutputLength: Math.max(size, 1),
			info: true,
		}) as unknown as { buffer: Uint8Array; engine: { bytesWritten: number } };
		if (buffer.byteLength !== size) throw new Error(`${buffer.byteLength} bytes came out`);
		if (engine.bytesWritten !== source.byteLength) {
			throw new Error(`${source.byteLength - engine.bytesWritten} bytes follow the frame`);
		}
		return buffer;
	},
	allocate,
	pool: { fromBytes: 64 * 1024 },
	createSha256() {
		const hash = createHash("sha256");
		return {
			update: (bytes) => void hash.update(bytes),
			digestHex: () => hash.digest("hex"),
		};
	},
};

/** Not from the pool that small Buffers share: the engine holds on to whole ArrayBuffers. */
function allocate(size: number): Uint8Array {
	const { buffer, byteOffset } = Buffer.allocUnsafeSlow(size);
	return new Uint8Array(buffer, byteOffset, size);
}
