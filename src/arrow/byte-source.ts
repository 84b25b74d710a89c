/**
 * Where Arrow bytes come from. A load reads one or more sources, one after the
 * other, as if they were one byte sequence of complete streams or files.
 */
export interface ByteSource {
	/** For messages: a file name, an upload id. */
	readonly name: string;
	/** All bytes from the start, content coding undone, in chunks of any size; one call a reader. */
	stream(signal: AbortSignal): ByteChunks;
	/** Bytes at rest can be read anywhere: the file format's footer is at their end. Null: they only come by. */
	readonly atRest: {
		readonly size: number;
		/** Exactly `length` bytes. */
		read(offset: number, length: number, signal: AbortSignal): Promise<Uint8Array>;
	} | null;
}

/** Each chunk is valid until the next is asked for: its memory may be used again. */
export interface ByteChunks {
	[Symbol.asyncIterator](): ByteIterator;
}

export interface ByteIterator extends AsyncIterator<Uint8Array> {
	/**
	 * In place of `next`, where the bytes can be put where they are wanted: one or more of those that
	 * come next, at the beginning of `target`. How many; 0 at the end. `target` is the caller's again
	 * when this resolves or rejects.
	 */
	readInto?(target: Uint8Array): Promise<number>;
}
