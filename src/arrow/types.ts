/**
 * The Arrow columnar format as plain data: types, fields and arrays.
 *
 * Spec: https://arrow.apache.org/docs/format/Columnar.html and, for the order of
 * buffers, https://arrow.apache.org/docs/format/CDataInterface.html.
 * Nothing here holds a decoded value; buffers are views into message bodies.
 */

import type { BatchMemory } from "./batch-memory.ts";

export const timeUnits = ["s", "ms", "us", "ns"] as const;
export type TimeUnit = (typeof timeUnits)[number];

export type ArrowType =
	| { kind: "null" | "bool" }
	| { kind: "int"; bits: 8 | 16 | 32 | 64; signed: boolean }
	| { kind: "float"; bits: 16 | 32 | 64 }
	| { kind: "decimal"; bits: 32 | 64 | 128 | 256; precision: number; scale: number }
	| { kind: "date"; unit: "day" | "ms" }
	| { kind: "time"; bits: 32 | 64; unit: TimeUnit }
	| { kind: "timestamp"; unit: TimeUnit; zone: string | null }
	| { kind: "duration"; unit: TimeUnit }
	| { kind: "interval"; unit: "month" | "day_time" | "month_day_nano" }
	| { kind: "utf8" | "large_utf8" | "utf8_view" | "binary" | "large_binary" | "binary_view" }
	| { kind: "fixed_size_binary"; byteWidth: number }
	| { kind: "list" | "large_list" | "list_view" | "large_list_view" }
	| { kind: "fixed_size_list"; size: number }
	| { kind: "struct" }
	| { kind: "map"; keysSorted: boolean }
	| { kind: "union"; mode: "sparse" | "dense"; typeIds: number[] }
	| { kind: "run_end_encoded" };

export type IndexType = Extract<ArrowType, { kind: "int" }>;

/** Key to value; values are bytes, not always UTF-8 or JSON. Keys are text. */
export type Metadata = ReadonlyMap<string, Uint8Array>;

export interface Field {
	name: string;
	nullable: boolean;
	/** Of a dictionary-encoded field: the type of the dictionary's values. */
	type: ArrowType;
	/** Of a dictionary-encoded field: the children of the dictionary's values. */
	children: Field[];
	dictionary: { id: bigint; indexType: IndexType; ordered: boolean } | null;
	metadata: Metadata;
}

export interface Schema {
	fields: Field[];
	metadata: Metadata;
}

/**
 * One array in the C data layout, as `struct ArrowArray`, always with offset 0:
 * a slice is a narrower view of each buffer.
 *
 * `buffers` in the order of the C data interface: validity first for every type
 * that has one (null: no nulls); views end with their variadic data buffers and
 * without the C interface's trailing buffer of sizes, which native adds.
 * A dictionary-encoded array has the indices in `buffers`, values in `dictionary`.
 */
export interface ArrayData {
	length: number;
	/** Exact, never -1. */
	nullCount: number;
	buffers: (Uint8Array | null)[];
	children: ArrayData[];
	dictionary: ArrayData | null;
}

/** A record batch as it was sent: not yet checked, never to reach native memory. */
export interface RawBatch {
	length: number;
	columns: ArrayData[];
	/** Position in the load, from 0. */
	index: number;
	/** As of a checked batch. */
	memory?: BatchMemory | undefined;
}

declare const checked: unique symbol;
/**
 * A record batch that native memory may follow: every buffer range, offset,
 * index and value was checked and every column has the form that DuckDB scans
 * rightly. Only `check-batch.ts` and what keeps its promise (engine-form, rebatch) makes one.
 */
export interface CheckedBatch {
	readonly [checked]: true;
	readonly length: number;
	readonly columns: readonly ArrayData[];
	/** Whoever drains batches may let go of this, once, when nobody reads the columns any more. Absent: the collector's. */
	readonly memory?: BatchMemory | undefined;
}
