/**
 * Proves that a flatbuffer can be read: every table, vtable, vector and string
 * that apache-arrow's accessor classes could follow lies inside the bytes.
 *
 * The classes themselves check nothing: a wrong offset there is a RangeError, a
 * wrong value or an endless loop. So this runs first, over the whole tree, driven
 * by the tables below, which mirror Message.fbs, Schema.fbs and File.fbs
 * (https://github.com/apache/arrow/tree/main/format).
 *
 * Flatbuffers may share tables, so a small buffer can describe an exponentially
 * large tree. A tree that isn't shared has at most one table per four bytes:
 * that many visits are allowed and no more.
 *
 * In: untrusted bytes. Out: nothing, or `invalid_arrow`.
 */

import { IngestError } from "../../errors.ts";

/** How many bytes an inline scalar takes. */
type ScalarSize = 1 | 2 | 4 | 8;

/** What one vtable slot holds; null slots are the type bytes that belong to a union. */
type Slot =
	| ScalarSize
	| "string"
	| { table: TableShape }
	| { tables: TableShape }
	/** A vector of inline elements of so many bytes. */
	| { elements: number }
	/** The slot before this one says which member it is. Members not listed are never read by us. */
	| { union: ReadonlyMap<number, TableShape> };

interface TableShape {
	name: string;
	slots: Slot[];
}

const table = (name: string, ...slots: Slot[]): TableShape => ({ name, slots });

const keyValue = table("KeyValue", "string", "string");
const int = table("Int", 4, 1);
const types = new Map<number, TableShape>([
	[1, table("Null")],
	[2, int],
	[3, table("FloatingPoint", 2)],
	[4, table("Binary")],
	[5, table("Utf8")],
	[6, table("Bool")],
	[7, table("Decimal", 4, 4, 4)],
	[8, table("Date", 2)],
	[9, table("Time", 2, 4)],
	[10, table("Timestamp", 2, "string")],
	[11, table("Interval", 2)],
	[12, table("List")],
	[13, table("Struct")],
	[14, table("Union", 2, { elements: 4 })],
	[15, table("FixedSizeBinary", 4)],
	[16, table("FixedSizeList", 4)],
	[17, table("Map", 1)],
	[18, table("Duration", 2)],
	[19, table("LargeBinary")],
	[20, table("LargeUtf8")],
	[21, table("LargeList")],
	[22, table("RunEndEncoded")],
	[23, table("BinaryView")],
	[24, table("Utf8View")],
	[25, table("ListView")],
	[26, table("LargeListView")],
]);
const dictionaryEncoding = table("DictionaryEncoding", 8, { table: int }, 1, 2);
const field = table("Field", "string", 1, 1, { union: types }, { table: dictionaryEncoding });
field.slots.push({ tables: field }, { tables: keyValue });
const schema = table("Schema", 2, { tables: field }, { tables: keyValue }, { elements: 8 });
const bodyCompression = table("BodyCompression", 1, 1);
const recordBatch = table(
	"RecordBatch",
	8,
	{ elements: 16 },
	{ elements: 16 },
	{ table: bodyCompression },
	{ elements: 8 },
);
const dictionaryBatch = table("DictionaryBatch", 8, { table: recordBatch }, 1);
const headers = new Map([
	[1, schema],
	[2, dictionaryBatch],
	[3, recordBatch],
]);
const message = table("Message", 2, 1, { union: headers }, 8, { tables: keyValue });
const footer = table(
	"Footer",
	2,
	{ table: schema },
	{ elements: 24 },
	{ elements: 24 },
	{ tables: keyValue },
);

/** Deeper than any schema we take, so that those are refused by their nesting and not here. */
const maxDepth = 512;

/** Throws `invalid_arrow` unless `bytes` are a Message whose every part can be read. */
export function verifyMessage(bytes: Uint8Array): void {
	verifyRoot(bytes, message);
}

/** Throws `invalid_arrow` unless `bytes` are a Footer whose every part can be read. */
export function verifyFooter(bytes: Uint8Array): void {
	verifyRoot(bytes, footer);
}

function verifyRoot(bytes: Uint8Array, shape: TableShape): void {
	new Verifier(bytes).root(shape);
}

class Verifier {
	readonly #view: DataView;
	readonly #size: number;
	#visitsLeft: number;

	constructor(bytes: Uint8Array) {
		this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
		this.#size = bytes.byteLength;
		this.#visitsLeft = Math.ceil(bytes.byteLength / 4);
	}

	/** https://flatbuffers.dev/internals: the first four bytes are the offset of the root table. */
	root(shape: TableShape): void {
		this.#inside(0, 4, shape, "root offset");
		this.#table(this.#view.getUint32(0, true), shape, 0);
	}

	/** A table begins with the signed distance back to its vtable: {bytes of vtable, bytes of table, offset of each slot…}. */
	#table(at: number, shape: TableShape, depth: number): void {
		if (depth > maxDepth) fail(shape, at, `more than ${maxDepth} tables deep`);
		if (this.#visitsLeft-- === 0) fail(shape, at, "more tables than its bytes can hold");
		this.#inside(at, 4, shape, "table");
		const vtable = at - this.#view.getInt32(at, true);
		this.#inside(vtable, 4, shape, "vtable");
		const vtableBytes = this.#view.getUint16(vtable, true);
		const tableBytes = this.#view.getUint16(vtable + 2, true);
		if (vtableBytes < 4 || vtableBytes % 2 !== 0) {
			fail(shape, vtable, `a vtable of ${vtableBytes} bytes`);
		}
		if (tableBytes < 4) fail(shape, at, `a table of ${tableBytes} bytes`);
		this.#inside(vtable, vtableBytes, shape, "vtable");
		this.#inside(at, tableBytes, shape, "table");
		const slotCount = Math.min(shape.slots.length, (vtableBytes - 4) / 2);
		let unionType = 0;
		for (let i = 0; i < slotCount; i++) {
			const slot = shape.slots[i]!;
			const offset = this.#view.getUint16(vtable + 4 + 2 * i, true);
			if (offset === 0) {
				unionType = 0;
				continue;
			}
			const bytes = typeof slot === "number" ? slot : 4;
			if (offset < 4 || offset + bytes > tableBytes) {
				fail(shape, at, `slot ${i} at ${offset} is outside its table of ${tableBytes} bytes`);
			}
			if (typeof slot === "number") {
				unionType = slot === 1 ? this.#view.getUint8(at + offset) : 0;
				continue;
			}
			this.#reference(at + offset, slot, unionType, shape, depth);
		}
	}

	#reference(
		at: number,
		slot: Exclude<Slot, number>,
		unionType: number,
		shape: TableShape,
		depth: number,
	): void {
		const target = at + this.#view.getUint32(at, true);
		if (slot === "string") this.#vector(target, 1, shape, "string");
		else if ("elements" in slot) this.#vector(target, slot.elements, shape, "vector");
		else if ("table" in slot) this.#table(target, slot.table, depth + 1);
		else if ("union" in slot) {
			const member = slot.union.get(unionType);
			if (member) this.#table(target, member, depth + 1);
		} else {
			const count = this.#vector(target, 4, shape, "vector of tables");
			for (let i = 0; i < count; i++) {
				const entry = target + 4 + 4 * i;
				this.#table(entry + this.#view.getUint32(entry, true), slot.tables, depth + 1);
			}
		}
	}

	/** Returns the number of elements. */
	#vector(at: number, elementBytes: number, shape: TableShape, what: string): number {
		this.#inside(at, 4, shape, what);
		const count = this.#view.getUint32(at, true);
		this.#inside(at + 4, count * elementBytes, shape, what);
		return count;
	}

	#inside(at: number, bytes: number, shape: TableShape, what: string): void {
		if (at < 0 || at + bytes > this.#size) {
			fail(shape, at, `${what} of ${bytes} bytes is outside the ${this.#size} bytes of metadata`);
		}
	}
}

function fail(shape: TableShape, at: number, what: string): never {
	throw new IngestError("invalid_arrow", `metadata: ${shape.name} at byte ${at}: ${what}`);
}
