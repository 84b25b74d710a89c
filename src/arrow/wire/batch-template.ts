/**
 * The layout of a record batch's metadata, so that messages which repeat it need no walk through tables.
 *
 * In: metadata that was verified and decoded. Out: where its numbers lie (body length, rows, nodes,
 * buffers), and whether other bytes of the same length are equal in all the rest. Such bytes are the same
 * tables at the same places: verified as the first were, of the same version, codec and counts.
 *
 * That holds only where no number is read as structure too, for flatbuffers may share bytes:
 * metadata that overlaps so has no template, nor has any with metadata of its own in the message.
 *
 * https://flatbuffers.dev/internals, and Message.fbs in https://github.com/apache/arrow/tree/main/format
 */

/** Message.fbs: slots of the tables' vtables. */
const messageSlots = { version: 0, headerType: 1, header: 2, bodyLength: 3, metadata: 4 };
const batchSlots = { length: 0, nodes: 1, buffers: 2, compression: 3, variadicCounts: 4 };
const compressionSlots = { codec: 0, method: 1 };
const recordBatchHeader = 3;
/** FieldNode { length, null_count } and Buffer { offset, length }: two int64 each. */
export const structBytes = 16;

interface Span {
	start: number;
	bytes: number;
}

export class BatchTemplate {
	readonly metadataBytes: number;
	/** Positions in the metadata, multiples of 4. */
	readonly bodyLengthAt: number;
	readonly rowsAt: number;
	readonly nodesAt: number;
	readonly buffersAt: number;
	readonly nodeCount: number;
	readonly bufferCount: number;
	/** Data buffers of each view array. No numbers here: other messages of the layout have the same. */
	readonly variadicCounts: readonly number[];
	/** Where words lie that are no numbers, and what they are. */
	readonly #places: Int32Array;
	readonly #words: Int32Array;

	private constructor(
		view: DataView,
		numbers: readonly [Span, Span, Span, Span],
		variadicCounts: readonly number[],
	) {
		const [bodyLength, rows, nodes, buffers] = numbers;
		this.metadataBytes = view.byteLength;
		this.bodyLengthAt = bodyLength.start;
		this.rowsAt = rows.start;
		this.nodesAt = nodes.start;
		this.buffersAt = buffers.start;
		this.nodeCount = nodes.bytes / structBytes;
		this.bufferCount = buffers.bytes / structBytes;
		this.variadicCounts = variadicCounts;
		const places: number[] = [];
		for (let at = 0; at < view.byteLength; at += 4) {
			if (!numbers.some((span) => overlap(span, { start: at, bytes: 4 }))) places.push(at);
		}
		this.#places = Int32Array.from(places);
		this.#words = Int32Array.from(places, (at) => view.getInt32(at, true));
	}

	/** Of metadata that `verifyMessage` took and a record batch was read from; null: it has none. */
	static of(metadata: Uint8Array): BatchTemplate | null {
		if (metadata.byteLength % 4 !== 0) return null;
		const view = new DataView(metadata.buffer, metadata.byteOffset, metadata.byteLength);
		const structure: Span[] = [{ start: 0, bytes: 4 }];
		const message = tableAt(view, view.getUint32(0, true), structure);
		const bodyLengthAt = message(messageSlots.bodyLength, 0);
		const headerType = message(messageSlots.headerType, 1);
		const header = message(messageSlots.header, 4);
		message(messageSlots.version, 2);
		if (bodyLengthAt === 0 || header === 0 || message(messageSlots.metadata, 4) !== 0) return null;
		if (headerType === 0 || view.getUint8(headerType) !== recordBatchHeader) return null;
		const batch = tableAt(view, follow(view, header), structure);
		const rowsAt = batch(batchSlots.length, 0);
		const nodes = vectorAt(view, batch(batchSlots.nodes, 4), structBytes, structure);
		const buffers = vectorAt(view, batch(batchSlots.buffers, 4), structBytes, structure);
		const compression = batch(batchSlots.compression, 4);
		if (rowsAt === 0 || nodes === null || buffers === null) return null;
		if (compression !== 0) {
			const table = tableAt(view, follow(view, compression), structure);
			table(compressionSlots.codec, 1);
			table(compressionSlots.method, 1);
		}
		const variadic = vectorAt(view, batch(batchSlots.variadicCounts, 4), 8, structure);
		const variadicCounts: number[] = [];
		if (variadic !== null) {
			structure.push(variadic);
			const { start, bytes } = variadic;
			// They were read, and are within the number of buffers.
			for (let at = start; at < start + bytes; at += 8)
				variadicCounts.push(view.getInt32(at, true));
		}
		const bodyLength = { start: bodyLengthAt, bytes: 8 };
		const rows = { start: rowsAt, bytes: 8 };
		const numbers = [bodyLength, rows, nodes, buffers] as const;
		const areApart = numbers.every(
			(span, i) =>
				span.start % 4 === 0 &&
				!structure.some((other) => overlap(span, other)) &&
				!numbers.some((other, k) => k !== i && overlap(span, other)),
		);
		return areApart ? new BatchTemplate(view, [...numbers], variadicCounts) : null;
	}

	/** Are the `metadataBytes` from `at` on equal in all but numbers. The view holds that many. */
	matches(view: DataView, at: number): boolean {
		const places = this.#places;
		const words = this.#words;
		for (let i = 0; i < places.length; i++) {
			if (view.getInt32(at + places[i]!, true) !== words[i]) return false;
		}
		return true;
	}
}

/** Reads a verified table: where slot `i` lies, or 0. Of a slot with `bytes` of structure these are noted. */
function tableAt(
	view: DataView,
	at: number,
	structure: Span[],
): (slot: number, bytes: number) => number {
	const vtable = at - view.getInt32(at, true);
	const vtableBytes = view.getUint16(vtable, true);
	structure.push({ start: at, bytes: 4 }, { start: vtable, bytes: vtableBytes });
	return (slot, bytes) => {
		const entry = 4 + 2 * slot;
		const offset = entry < vtableBytes ? view.getUint16(vtable + entry, true) : 0;
		if (offset === 0) return 0;
		structure.push({ start: at + offset, bytes });
		return at + offset;
	};
}

function follow(view: DataView, at: number): number {
	return at + view.getUint32(at, true);
}

/** The elements of a vector; its length is structure. Null: there is none. */
function vectorAt(
	view: DataView,
	reference: number,
	elementBytes: number,
	structure: Span[],
): Span | null {
	if (reference === 0) return null;
	const at = follow(view, reference);
	structure.push({ start: at, bytes: 4 });
	return { start: at + 4, bytes: view.getUint32(at, true) * elementBytes };
}

function overlap(a: Span, b: Span): boolean {
	return a.start < b.start + b.bytes && b.start < a.start + a.bytes;
}
