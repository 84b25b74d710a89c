/**
 * Arrow columns over typed arrays: no cell becomes a JavaScript value on the way.
 */

import { createWriteStream } from "node:fs";
import { rename } from "node:fs/promises";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import {
	type Data,
	type DataType,
	DateDay,
	Decimal,
	Field,
	Float64,
	Int32,
	Int64,
	makeData,
	RecordBatch,
	RecordBatchStreamWriter,
	Schema,
	Struct,
	Utf8,
} from "apache-arrow";
import type { Random } from "./random.ts";

export type Column = Data<DataType>;

export function int64Column(rows: number, value: (row: number) => number): Column {
	const data = new BigInt64Array(rows);
	const halves = new Int32Array(data.buffer);
	for (let row = 0; row < rows; row++) {
		const whole = value(row);
		halves[2 * row] = whole | 0;
		halves[2 * row + 1] = Math.floor(whole / 0x1_0000_0000);
	}
	return makeData({ type: new Int64(), length: rows, nullCount: 0, data });
}

export function int32Column(rows: number, value: (row: number) => number): Column {
	return makeData({
		type: new Int32(),
		length: rows,
		nullCount: 0,
		data: Int32Array.from({ length: rows }, (_, row) => value(row)),
	});
}

export function float64Column(rows: number, value: (row: number) => number): Column {
	return makeData({
		type: new Float64(),
		length: rows,
		nullCount: 0,
		data: Float64Array.from({ length: rows }, (_, row) => value(row)),
	});
}

/** Days since 1970. */
export function dateColumn(rows: number, value: (row: number) => number): Column {
	return makeData({
		type: new DateDay(),
		length: rows,
		nullCount: 0,
		data: Int32Array.from({ length: rows }, (_, row) => value(row)),
	});
}

/** decimal(15,2) in 128 bits, as TPC-H's writers make it; values in hundredths, none negative. */
export function moneyColumn(rows: number, value: (row: number) => number): Column {
	const data = new Uint32Array(4 * rows);
	for (let row = 0; row < rows; row++) {
		const hundredths = value(row);
		data[4 * row] = hundredths >>> 0;
		data[4 * row + 1] = Math.floor(hundredths / 0x1_0000_0000);
	}
	return makeData({ type: new Decimal(2, 15, 128), length: rows, nullCount: 0, data });
}

const encoder = new TextEncoder();

/** One of a few words. */
export function wordColumn(rows: number, random: Random, words: readonly string[]): Column {
	const encoded = words.map((word) => encoder.encode(word));
	return textColumn(
		rows,
		Math.max(...encoded.map((word) => word.length)),
		() => encoded[random.below(words.length)]!,
	);
}

/** `text(row)` gives UTF-8 of at most `maxBytes`. */
export function textColumn(
	rows: number,
	maxBytes: number,
	text: (row: number) => Uint8Array,
): Column {
	const valueOffsets = new Int32Array(rows + 1);
	const data = new Uint8Array(rows * maxBytes);
	let end = 0;
	for (let row = 0; row < rows; row++) {
		const bytes = text(row);
		data.set(bytes, end);
		end += bytes.length;
		valueOffsets[row + 1] = end;
	}
	return makeData({
		type: new Utf8(),
		length: rows,
		nullCount: 0,
		valueOffsets,
		data: data.subarray(0, end),
	});
}

/** Slices of a pool of words: English-looking comments without making a string each. */
export function commentColumn(
	rows: number,
	random: Random,
	minBytes: number,
	maxBytes: number,
): Column {
	const words =
		"furiously special pending accounts sleep quickly above the even deposits carefully ironic requests nag blithely final ";
	const pool = encoder.encode(words.repeat(64));
	return textColumn(rows, maxBytes, () => {
		const length = minBytes + random.below(maxBytes - minBytes + 1);
		const start = random.below(pool.length - length);
		return pool.subarray(start, start + length);
	});
}

/** Writes a stream batch by batch and renames it when it is whole. */
export async function writeStream(
	path: string,
	batches: Iterable<{ rows: number; columns: Record<string, Column> }>,
): Promise<void> {
	const writer = new RecordBatchStreamWriter();
	const output = pipeline(Readable.from(writer), createWriteStream(`${path}.part`));
	for (const { rows, columns } of batches) {
		const fields = Object.entries(columns).map(
			([name, column]) => new Field(name, column.type, true),
		);
		const children = Object.values(columns);
		const data = makeData({ type: new Struct(fields), length: rows, nullCount: 0, children });
		writer.write(new RecordBatch(new Schema(fields), data));
		await new Promise((resolve) => setImmediate(resolve));
	}
	writer.close();
	await output;
	await rename(`${path}.part`, path);
}
