/** A small stream as one run of bytes: of one chunk that chunk, else a copy. */

/** `onSize` is told how many bytes there are so far, before they are kept, and may throw. */
export async function collectBytes(
	stream: ReadableStream<Uint8Array>,
	onSize: (size: number) => void = () => {},
): Promise<Uint8Array> {
	const chunks: Uint8Array[] = [];
	let size = 0;
	for await (const chunk of stream as unknown as AsyncIterable<Uint8Array>) {
		size += chunk.length;
		onSize(size);
		chunks.push(chunk);
	}
	if (chunks.length === 1) return chunks[0]!;
	const bytes = new Uint8Array(size);
	let at = 0;
	for (const chunk of chunks) {
		bytes.set(chunk, at);
		at += chunk.length;
	}
	return bytes;
}
