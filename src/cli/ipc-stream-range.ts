/**
 * The stream inside an Arrow IPC file.
 *
 * https://arrow.apache.org/docs/format/Columnar.html#ipc-file-format:
 *   0        magic "ARROW1", padded to 8 bytes
 *   8        the stream: schema, dictionaries, batches, end of stream
 *   end-10-n footer of n bytes
 *   end-10   n as int32, little-endian
 *   end-6    magic "ARROW1"
 */
const magic = "ARROW1";
const headBytes = 8;
const tailBytes = 10;

/** Null: not in the file format, so the bytes are taken as they are. */
export async function ipcStreamRange(
	size: number,
	read: (offset: number, length: number) => Promise<Uint8Array>,
): Promise<{ start: number; end: number } | null> {
	if (size < headBytes + tailBytes) return null;
	const head = await read(0, headBytes);
	const tail = await read(size - tailBytes, tailBytes);
	const text = (bytes: Uint8Array) => String.fromCharCode(...bytes);
	if (text(head.subarray(0, 6)) !== magic || text(tail.subarray(4)) !== magic) return null;
	const view = new DataView(tail.buffer, tail.byteOffset, tail.byteLength);
	const footerBytes = view.getInt32(0, true);
	const end = size - tailBytes - footerBytes;
	return footerBytes > 0 && end >= headBytes ? { start: headBytes, end } : null;
}
