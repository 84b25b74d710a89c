/** What `src/arrow` needs of its runtime; the functions that construct it hand it in. */
export interface Codecs {
	/** One or more LZ4 frames into exactly `size` bytes of `allocate`. Throws on anything else; never writes more. */
	lz4Frame(source: Uint8Array, size: number, allocate: Codecs["allocate"]): Uint8Array;
	/** ZSTD into exactly `size` bytes. Throws on anything else; never allocates more. */
	zstd(source: Uint8Array, size: number): Uint8Array;
	/** Uninitialised memory of its own ArrayBuffer, 8-byte aligned. */
	allocate(size: number): Uint8Array;
	createSha256(): Sha256;
	/** How large memory is used again within a load (memory-pool.ts); absent: not at all. */
	pool?: {
		/** Less is left to the collector. */
		fromBytes: number;
		/** For tests: sees memory that nobody may read any more, before it is used again. */
		reclaimed?(bytes: Uint8Array): void;
	};
}

export interface Sha256 {
	update(bytes: Uint8Array): void;
	/** Lower-case hex; the object is used up. */
	digestHex(): string;
}
