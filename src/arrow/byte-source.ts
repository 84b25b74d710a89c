/**
 * Where Arrow bytes come from. A load reads one or more sources, one after the
 * other, as if they were one byte sequence of complete streams or files.
 */
export interface ByteSource {
	/** For messages: a file name, an upload id. */
	readonly name: string;
	/** All bytes from the start, content coding undone, in chunks of any size; one call a reader. */
	stream(signal: AbortSignal): AsyncIterable<Uint8Array>;
	/** Bytes at rest can be read anywhere: the file format's footer is at their end. Null: they only come by. */
	readonly atRest: {
		readonly size: number;
		/** Exactly `length` bytes. */
		read(offset: number, length: number, signal: AbortSignal): Promise<Uint8Array>;
	} | null;
}
