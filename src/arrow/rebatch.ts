/**
 * In: checked batches of any size, in the engine's form. Out: the same rows in the
 * same order, in batches of exactly `rows` rows but for the last: row groups of DuckDB.
 *
 * A batch that is a row group is compressed and written by the thread that scans it. Rows of
 * smaller ones are kept in memory, put together again and compressed afterwards, by one thread while
 * another waits in a loop. Measured, processor time and peak memory of the same rows sent in
 * batches of 50,000 and handed on so, and in row groups (2 cores, DuckDB 1.5.5): 1 M rows of 50 int64
 * columns 6.6 s and 1147 MiB, 4.0 s and 614 MiB; 6 M rows of lineitem 15.4 s and 882 MiB, 12.1 s and 538 MiB.
 *
 * What lies across a border is joined by copying; what lies between two is not copied.
 * Batches without rows vanish.
 *
 * Memory: at most `maxBytes` wait, which a join then copies once. Where a row group would be
 * larger, a quarter of it goes out before it is one.
 */

import { bitmapBytes } from "./array/bitmap.ts";
import { concatSlices } from "./array/concat-arrays.ts";
import { type JoinMemory, joinMemory } from "./array/join-memory.ts";
import { sliceArray } from "./array/slice-array.ts";
import { type BatchMemory, joinMemories } from "./batch-memory.ts";
import type { Codecs } from "./codecs.ts";
import type { MemoryPool } from "./memory-pool.ts";
import type { ArrayData, CheckedBatch, Field } from "./types.ts";

export interface RebatchOptions {
	/** A multiple of 8, as slices ask for. */
	rows: number;
	/** Where joined batches lie; null: memory is not used again. */
	pool: MemoryPool | null;
	/** Bytes of batches that wait to be joined. */
	maxBytes?: number;
}

/**
 * A row group of rows of up to a kilobyte; below what 32-bit offsets of joined strings can hold. Of 100 int64
 * columns, 1.6 GB, DuckDB limited to 512 MB: 12.6 s of processor time and 971 MiB, with half of it, too little for a
 * row group, 17.4 s and 933 MiB.
 */
const defaultMaxBytes = 128 * 1024 * 1024;

/** Rows `from … from + length` of a batch, and a holder of its memory. */
interface BatchSlice {
	batch: CheckedBatch;
	from: number;
	length: number;
	memory: BatchMemory | undefined;
}

export async function* rebatch(
	fields: readonly Field[],
	batches: AsyncIterable<CheckedBatch>,
	codecs: Codecs,
	{ rows, pool, maxBytes = defaultMaxBytes }: RebatchOptions,
): AsyncGenerator<CheckedBatch> {
	let waiting: BatchSlice[] = [];
	let waitingRows = 0;
	let waitingBytes = 0;
	const shared = new Set<unknown>();
	const joined = () => {
		const batch = joinSlices(fields, waiting, (size) => joinMemory(pool, codecs, size));
		waiting = [];
		waitingRows = 0;
		waitingBytes = 0;
		shared.clear();
		return batch;
	};
	for await (const batch of batches) {
		if (batch.length === 0) batch.memory?.release();
		let bytes = batchBytes(fields, batch, shared);
		if (waitingRows > 0 && waitingBytes + bytes > maxBytes) {
			yield joined();
			bytes = batchBytes(fields, batch, shared);
		}
		for (let from = 0; from < batch.length; ) {
			const length = Math.min(batch.length - from, rows - waitingRows);
			const isLast = from + length === batch.length;
			const memory = isLast ? batch.memory : batch.memory?.retain();
			waiting.push({ batch, from, length, memory });
			waitingRows += length;
			waitingBytes += (bytes * length) / batch.length;
			from += length;
			const isTooLarge = waitingBytes * rows > maxBytes * waitingRows;
			const enough = isTooLarge ? maxBytes / 4 : maxBytes;
			if (waitingRows === rows || waitingBytes >= enough) yield joined();
		}
	}
	if (waitingRows > 0) yield joined();
}

function joinSlices(
	fields: readonly Field[],
	slices: readonly BatchSlice[],
	memoryFor: (size: number) => JoinMemory,
): CheckedBatch {
	if (slices.length === 1) {
		const { batch, from, length, memory } = slices[0]!;
		if (length === batch.length) return batch;
		if (from % 8 === 0) {
			const { codecs } = memoryFor(0);
			const columns = fields.map((field, i) =>
				sliceArray(field, batch.columns[i]!, from, length, codecs),
			);
			return { length, columns, memory } as unknown as CheckedBatch;
		}
	}
	let length = 0;
	let size = 0;
	for (const slice of slices) {
		length += slice.length;
		size += (copiedBytes(fields, slice.batch) * slice.length) / slice.batch.length;
	}
	const join = memoryFor(Math.ceil(size + spareBytes(fields, length)));
	const columns = fields.map((field, i) =>
		concatSlices(
			field,
			slices.map(({ batch, from, length }) => ({ array: batch.columns[i]!, from, length })),
			join.codecs,
		),
	);
	const sources = slices.map(({ memory }) => memory);
	// Data behind views lie where they lay; nothing else of what was joined is read any more.
	const keepsSources = !join.holdsAll(columns);
	if (!keepsSources) for (const memory of sources) memory?.release();
	const memory = joinMemories([join.memory, ...(keepsSources ? sources : [])]);
	return { length, columns, memory } as unknown as CheckedBatch;
}

/** For the gaps between buffers, one offset more each, and bitmaps that not all slices have. */
function spareBytes(fields: readonly Field[], length: number): number {
	let total = 0;
	for (const { children } of fields) {
		total += 256 + bitmapBytes(length) + spareBytes(children, length);
	}
	return total;
}

/** Of a batch, what a join of it copies: not the data behind views. */
function copiedBytes(fields: readonly Field[], batch: CheckedBatch): number {
	let total = 0;
	fields.forEach((field, i) => {
		total += arrayBytes(field, batch.columns[i]!, null);
	});
	return total;
}

/**
 * What the batch adds to those that wait. Data behind views is kept and not copied:
 * it counts once, as batches with one dictionary share it; where `shared` is null, not at all.
 */
function batchBytes(fields: readonly Field[], batch: CheckedBatch, shared: Set<unknown>): number {
	let total = 0;
	fields.forEach((field, i) => {
		total += arrayBytes(field, batch.columns[i]!, shared);
	});
	return total;
}

function arrayBytes(field: Field, array: ArrayData, shared: Set<unknown> | null): number {
	const { kind } = field.type;
	const own = kind === "utf8_view" || kind === "binary_view" ? 2 : array.buffers.length;
	let total = 0;
	array.buffers.forEach((buffer, i) => {
		if (buffer === null) return;
		if (i < own) total += buffer.length;
		else if (shared !== null && !shared.has(buffer.buffer)) {
			shared.add(buffer.buffer);
			total += buffer.length;
		}
	});
	field.children.forEach((child, i) => {
		total += arrayBytes(child, array.children[i]!, shared);
	});
	return total;
}
