/** Reads bytes through `readSource`, as much as is needed to look at what came out. */

import type { ByteSource } from "../../../../src/arrow/byte-source.ts";
import { readSource } from "../../../../src/arrow/read-source.ts";
import type { SentSchema } from "../../../../src/arrow/schema.ts";
import type { ReadOptions } from "../../../../src/arrow/source-events.ts";
import type { DecodedBatch } from "../../../../src/arrow/stream-decoder.ts";
import type { ArrayData, Field } from "../../../../src/arrow/types.ts";
import { IngestError } from "../../../../src/errors.ts";
import type { Warning } from "../../../../src/flow.ts";
import { defaultLimits, type Limits } from "../../../../src/limits.ts";
import { nodeCodecs } from "../../../../src/replay/node-codecs.ts";
import { valuesOf } from "./arrays.ts";

/** Chunks of one size; their memory is used again, as a source may. */
export function sourceOf(
	bytes: Uint8Array,
	{ chunkBytes = 1000, atRest = false, name = "test" } = {},
): ByteSource {
	return {
		name,
		async *stream() {
			for (let at = 0; at < bytes.byteLength; at += chunkBytes) {
				// A copy: `slice` of a Buffer is a view.
				const chunk = Uint8Array.from(bytes.subarray(at, at + chunkBytes));
				yield chunk;
				chunk.fill(0xdd);
			}
		},
		atRest: atRest
			? {
					size: bytes.byteLength,
					async read(offset, length) {
						if (offset < 0 || length < 0 || offset + length > bytes.byteLength) {
							throw new Error(`read of ${length} at ${offset} of ${bytes.byteLength}`);
						}
						return bytes.slice(offset, offset + length);
					},
				}
			: null,
	};
}

export interface ReadBack {
	schemas: SentSchema[];
	/** With the number of the schema they belong to. */
	batches: (DecodedBatch & { stream: number })[];
	warnings: Warning[];
	bytes: number;
	/** Of all batches, row by row. */
	rows: unknown[][];
}

export async function readBack(
	source: Uint8Array | ByteSource,
	{
		limits = {},
		values = true,
		...options
	}: Partial<Omit<ReadOptions, "limits">> & {
		limits?: Partial<Limits>;
		/** False: batches are read and their values not looked at, as nobody checked them. */
		values?: boolean;
	} = {},
): Promise<ReadBack> {
	const result: ReadBack = { schemas: [], batches: [], warnings: [], bytes: 0, rows: [] };
	const events = readSource(source instanceof Uint8Array ? sourceOf(source) : source, {
		codecs: nodeCodecs,
		requireEos: false,
		signal: new AbortController().signal,
		onChunk: (chunk) => {
			result.bytes += chunk.byteLength;
		},
		warn: (warning) => result.warnings.push(warning),
		...options,
		limits: { ...defaultLimits, ...limits },
	});
	const keep = (batch: DecodedBatch) => {
		result.batches.push({ ...batch, stream: result.schemas.length - 1 });
		if (!values) return;
		const { fields } = result.schemas.at(-1)!;
		const columns = batch.columns.map((column, i) => rawValues(fields[i]!, column));
		for (let row = 0; row < batch.length; row++) {
			result.rows.push(columns.map((column) => column[row]));
		}
	};
	for await (const event of events) {
		if (event.kind === "schema") result.schemas.push(event.schema);
		else if (event.kind === "batch") keep(event.batch);
		else for (const batch of event.batches.apart()) keep(batch);
	}
	return result;
}

/** The IngestError that `run` ends with, as `code: detail`. */
export async function errorOf(run: Promise<unknown>): Promise<IngestError> {
	try {
		await run;
	} catch (error) {
		if (error instanceof IngestError) return error;
		throw error;
	}
	throw new Error("no error");
}

/** Values of arrays of any form, also those that `valuesOf` doesn't know. */
export function rawValues(field: Field, array: ArrayData): unknown[] {
	const validity = array.buffers[0] ?? null;
	const isNull = (i: number) => validity !== null && ((validity[i >> 3]! >> (i & 7)) & 1) === 0;
	const withNulls = (values: unknown[]) => values.map((value, i) => (isNull(i) ? null : value));
	if (field.dictionary !== null) {
		const indices = valuesOf(
			{ ...field, type: field.dictionary.indexType, children: [], dictionary: null },
			{ ...array, nullCount: 0 },
		);
		const values = rawValues({ ...field, dictionary: null }, array.dictionary!);
		return withNulls(indices.map((index) => values[Number(index)]));
	}
	const children = field.children.map((child, i) => rawValues(child, array.children[i]!));
	const ints = (buffer: Uint8Array, width: number) =>
		Array.from({ length: buffer.byteLength / width }, (_, i) => {
			const view = new DataView(buffer.buffer, buffer.byteOffset, buffer.byteLength);
			return width === 4 ? view.getInt32(i * 4, true) : Number(view.getBigInt64(i * 8, true));
		});
	const indexes = Array.from({ length: array.length }, (_, i) => i);
	const { type } = field;
	switch (type.kind) {
		case "list":
		case "large_list":
		case "map": {
			const offsets = ints(array.buffers[1]!, type.kind === "large_list" ? 8 : 4);
			return withNulls(indexes.map((i) => children[0]!.slice(offsets[i], offsets[i + 1])));
		}
		case "list_view":
		case "large_list_view": {
			const width = type.kind === "list_view" ? 4 : 8;
			const offsets = ints(array.buffers[1]!, width);
			const sizes = ints(array.buffers[2]!, width);
			return withNulls(indexes.map((i) => children[0]!.slice(offsets[i], offsets[i]! + sizes[i]!)));
		}
		case "fixed_size_list":
			return withNulls(indexes.map((i) => children[0]!.slice(i * type.size, (i + 1) * type.size)));
		case "struct":
			return withNulls(
				indexes.map((i) =>
					Object.fromEntries(field.children.map(({ name }, k) => [name, children[k]![i]])),
				),
			);
		case "union": {
			const offsets = type.mode === "dense" ? ints(array.buffers[1]!, 4) : indexes;
			return indexes.map((i) => {
				const member = type.typeIds.indexOf(array.buffers[0]![i]!);
				return { member, value: children[member]![offsets[i]!] };
			});
		}
		case "run_end_encoded": {
			const ends = children[0]!.map(Number);
			return indexes.map((i) => children[1]![ends.findIndex((end) => end > i)]);
		}
		default:
			return valuesOf(field, validity === null ? { ...array, nullCount: 0 } : array);
	}
}
