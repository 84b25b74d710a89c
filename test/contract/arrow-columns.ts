/** Small columns in the C data layout, for tests that need a batch and no bytes of a stream. */
import type { BatchReader } from "../../src/arrow/batch-reader.ts";
import type { ArrayData, ArrowType, CheckedBatch, Field } from "../../src/arrow/types.ts";
import type { Warning } from "../../src/flow.ts";

export interface Column {
	field: Field;
	data: ArrayData;
}

export function field(name: string, type: ArrowType, more: Partial<Field> = {}): Field {
	return {
		name,
		nullable: true,
		type,
		children: [],
		dictionary: null,
		metadata: new Map(),
		...more,
	};
}

function validity(values: readonly unknown[]): { bitmap: Uint8Array | null; nullCount: number } {
	const bitmap = new Uint8Array(Math.ceil(values.length / 8));
	let nullCount = 0;
	for (const [at, value] of values.entries()) {
		if (value === null) nullCount++;
		else bitmap[at >> 3]! |= 1 << (at & 7);
	}
	return { bitmap: nullCount > 0 ? bitmap : null, nullCount };
}

function array(
	values: readonly unknown[],
	buffers: (Uint8Array | null)[],
	children: ArrayData[] = [],
): ArrayData {
	const { bitmap, nullCount } = validity(values);
	return {
		length: values.length,
		nullCount,
		buffers: [bitmap, ...buffers],
		children,
		dictionary: null,
	};
}

const bytesOf = (typed: ArrayBufferView) =>
	new Uint8Array(typed.buffer as ArrayBuffer, typed.byteOffset, typed.byteLength);

export function int32(name: string, values: (number | null)[], more?: Partial<Field>): Column {
	const data = Int32Array.from(values, (value) => value ?? 0);
	return {
		field: field(name, { kind: "int", bits: 32, signed: true }, more),
		data: array(values, [bytesOf(data)]),
	};
}

export function int64(name: string, values: (bigint | null)[], more?: Partial<Field>): Column {
	const data = BigInt64Array.from(values, (value) => value ?? 0n);
	return {
		field: field(name, { kind: "int", bits: 64, signed: true }, more),
		data: array(values, [bytesOf(data)]),
	};
}

export function float64(name: string, values: (number | null)[], more?: Partial<Field>): Column {
	const data = Float64Array.from(values, (value) => value ?? 0);
	return {
		field: field(name, { kind: "float", bits: 64 }, more),
		data: array(values, [bytesOf(data)]),
	};
}

/** Microseconds since 1970. */
export function timestamp(name: string, zone: string | null, values: (bigint | null)[]): Column {
	const { data } = int64(name, values);
	return { field: field(name, { kind: "timestamp", unit: "us", zone }), data };
}

function strings(values: readonly (string | null)[]): ArrayData {
	const encoded = values.map((value) => new TextEncoder().encode(value ?? ""));
	const offsets = new Int32Array(values.length + 1);
	for (const [at, bytes] of encoded.entries()) offsets[at + 1] = offsets[at]! + bytes.length;
	const data = new Uint8Array(offsets[values.length]!);
	for (const [at, bytes] of encoded.entries()) data.set(bytes, offsets[at]);
	return array(values, [bytesOf(offsets), data]);
}

export function utf8(name: string, values: (string | null)[], more?: Partial<Field>): Column {
	return { field: field(name, { kind: "utf8" }, more), data: strings(values) };
}

export function binary(name: string, values: (string | null)[], more?: Partial<Field>): Column {
	return { field: field(name, { kind: "binary" }, more), data: strings(values) };
}

/** Every value null; `childType` as of a list's items. */
export function nulls(name: string, length: number): Column {
	return {
		field: field(name, { kind: "null" }),
		data: { length, nullCount: length, buffers: [], children: [], dictionary: null },
	};
}

export function struct(name: string, columns: Column[], more?: Partial<Field>): Column {
	const length = columns[0]!.data.length;
	return {
		field: field(name, { kind: "struct" }, { children: columns.map((c) => c.field), ...more }),
		data: {
			length,
			nullCount: 0,
			buffers: [null],
			children: columns.map((c) => c.data),
			dictionary: null,
		},
	};
}

/** What a test says is checked is taken as checked. */
export function batchOf(columns: Column[]): CheckedBatch {
	return {
		length: columns[0]?.data.length ?? 0,
		columns: columns.map((column) => column.data),
	} as unknown as CheckedBatch;
}

export interface ReaderOptions {
	warnings?: Warning[];
	/** Thrown after all batches. */
	fails?: unknown;
	/** Awaited before each batch. */
	before?: (at: number) => Promise<void>;
	/** What is counted, if not the truth. */
	rows?: number;
}

/** A reader over batches that all have the columns of the first. */
export function readerOf(batches: Column[][], options: ReaderOptions = {}): BatchReader {
	const fields = batches[0]!.map((column) => column.field);
	let rowsRead = 0;
	return {
		sentFields: fields,
		engineFields: fields,
		async *batches(signal) {
			for (const [at, columns] of batches.entries()) {
				signal.throwIfAborted();
				await options.before?.(at);
				const batch = batchOf(columns);
				rowsRead += batch.length;
				yield batch;
			}
			if (options.fails !== undefined) throw options.fails;
		},
		counts: () => ({
			rows_streamed: options.rows ?? rowsRead,
			batches: batches.length,
			bytes: 1000,
			repr_digest: "sha-256=:AAAA:",
		}),
		warnings: () => options.warnings ?? [],
	};
}
