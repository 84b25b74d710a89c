/** One field of a schema, in the words of the Arrow C data interface. */
export interface FieldDescription {
	/** No NUL character: the C struct would end there. */
	name: string;
	/** https://arrow.apache.org/docs/format/CDataInterface.html#data-type-description-format-strings; of a dictionary-encoded field: the indices'. */
	format: string;
	/** 1: dictionary is ordered, 2: nullable, 4: map keys are sorted; added up. */
	flags: number;
	/** Encoded as the C data interface says (native-endian counts and lengths), or null. Copied. */
	metadata: Uint8Array | null;
	children: FieldDescription[];
	/** The dictionary's values, where the field is dictionary-encoded. */
	dictionary: FieldDescription | null;
}

/** One array in the C data layout with offset 0. View types end with their data buffers: their sizes are added here. */
export interface ArrayDescription {
	/** Rows. */
	readonly length: number;
	/** Exact. */
	readonly nullCount: number;
	/** In the C data interface's order. Null stands for a missing validity buffer, or for no bytes. */
	readonly buffers: readonly (Uint8Array | null)[];
	readonly children: readonly ArrayDescription[];
	readonly dictionary: ArrayDescription | null;
}

export interface BatchDescription {
	/** Rows; each column has as many. */
	readonly length: number;
	readonly columns: readonly ArrayDescription[];
}

export interface StreamOptions {
	/** Batches that may wait for DuckDB before `push` asks to wait. Default 8. */
	capacityBatches?: number;
	/** Bytes that may wait for DuckDB; one batch is always taken. Default 256 MiB. */
	capacityBytes?: number;
	/** Copy a batch's bytes in `push` rather than pin its ArrayBuffers. Default false. */
	copy?: boolean;
}

export interface StreamCounts {
	/** What DuckDB has fetched, released or not. */
	rowsHandedOver: number;
	batchesHandedOver: number;
	/** Sum of the batches' buffers. */
	bytesHandedOver: number;
	batchesQueued: number;
	/** Fetched by DuckDB and not released yet. */
	batchesHeld: number;
	/** Of batches queued and held: pinned or, with `copy`, in native memory. */
	bytesAlive: number;
}

/**
 * A bounded queue of record batches that a DuckDB view reads, once.
 *
 * Batches are trusted: shapes and buffer lengths are checked, contents (offsets, indices, UTF-8) are not, and
 * DuckDB follows them. An ArrayBuffer that was pushed without `copy` must not be written, transferred or
 * detached (nor its WebAssembly.Memory grow) until DuckDB has released it.
 *
 * Keep the stream, and don't close it, until the statement that reads it is over; then drop the view, close it.
 */
export declare class RecordBatchStream {
	/** Throws TypeError for a schema that can't be described to DuckDB. */
	constructor(fields: readonly FieldDescription[], options?: StreamOptions);

	/**
	 * Creates or replaces the view `viewName` in the connection's default database; it reads this stream.
	 * `connection` is a DuckDBConnection of @duckdb/node-api, or the External of @duckdb/node-bindings inside
	 * it; another object is a TypeError. Runs a statement, on this thread: the connection must be idle. Throws with the column and
	 * DuckDB's reason when it refuses the schema. The view can be read once; a second read has no rows.
	 */
	scan(connection: unknown, viewName: string): void;

	/** Why DuckDB would refuse the schema, with the column's name; null: it would not. */
	refusal(connection: unknown): string | null;

	/**
	 * Takes the batch, then resolves: true once another one may follow, false when nobody will read more
	 * (closed, failed; the batch may not have been taken). Throws RangeError or TypeError for a batch that doesn't fit
	 * the schema, with nothing retained, and Error after `end`.
	 *
	 * Unless it throws, `onReleased` is called once, on this thread, when nobody reads the batch's buffers any
	 * more: DuckDB has released it, or it was dropped or copied. Later ones may come first. It must not throw.
	 */
	push(batch: BatchDescription, onReleased?: () => void): Promise<boolean>;

	/** As the promise of `push`, without a batch. */
	ready(): Promise<boolean>;

	/** No more batches: DuckDB sees the end after those that wait. */
	end(): void;

	/** The statement that reads fails with `arrow_scan: get_next failed(): ${message}`; batches that wait are dropped. */
	fail(message: string): void;

	/** Lets go of batches that wait; a statement that still reads fails. Any number of times, in any order. */
	close(): void;

	[Symbol.dispose](): void;

	/** False after end, fail or close. */
	readonly isOpen: boolean;

	readonly counts: StreamCounts;
}

/** The path of the libduckdb that this process has loaded. Throws when there is none. */
export declare function libraryPath(): string;
