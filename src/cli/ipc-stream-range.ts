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

/**
 * Null: not in the file format, so the bytes are taken as they are. `"no schema"`:
 * a file whose schema stands in its footer alone (apache-arrow for JavaScript writes
 * such), which is no stream inside.
 */
export async function ipcStreamRange(
	size: number,
	read: (offset: number, length: number) => Promise<Uint8Array>,
): Promise<{ start: number; end: number } | "no schema" | null> {
	if (size < headBytes + tailBytes) return null;
	const head = await read(0, headBytes);
	const tail = await read(size - tailBytes, tailBytes);
	const text = (bytes: Uint8Array) => String.fromCharCode(...bytes);
	if (text(head.subarray(0, 6)) !== magic || text(tail.subarray(4)) !== magic) return null;
	const footerBytes = viewOf(tail).getInt32(0, true);
	const end = size - tailBytes - footerBytes;
	if (footerBytes <= 0 || end < headBytes) return null;
	const first = await read(headBytes, Math.min(end - headBytes, firstMessageBytes));
	return isSchemaMessage(first) ? { start: headBytes, end } : "no schema";
}

/** Enough of the first message to see its kind: flatbuffers place a table behind its vtable, near the start. */
const firstMessageBytes = 4096;
const schemaHeader = 1;

/**
 * https://github.com/apache/arrow/blob/main/format/Message.fbs, table Message: field 1,
 * at 6 of the vtable, is the union's type, 1 for Schema. The message's length, and
 * before it the continuation marker where the file is of 0.15 or later, come first.
 */
function isSchemaMessage(bytes: Uint8Array): boolean {
	const view = viewOf(bytes);
	try {
		const start = view.getUint32(0, true) === 0xffff_ffff ? 8 : 4;
		const table = start + view.getUint32(start, true);
		const vtable = table - view.getInt32(table, true);
		const field = view.getUint16(vtable, true) > 6 ? view.getUint16(vtable + 6, true) : 0;
		return field !== 0 && view.getUint8(table + field) === schemaHeader;
	} catch {
		return false;
	}
}

const viewOf = (bytes: Uint8Array) =>
	new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
