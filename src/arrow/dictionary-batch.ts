/**
 * The dictionaries of one stream: added, replaced and extended as their batches
 * come, looked up by id for each record batch.
 *
 * https://arrow.apache.org/docs/format/Columnar.html#dictionary-messages
 * - One dictionary may serve several columns; they must agree on its values' type.
 * - Values may hold dictionary-encoded fields themselves. Those are linked when a
 *   record batch asks, with what their ids mean then, so the order in which
 *   dictionaries come doesn't matter.
 * - Until a dictionary, or one inside it, changes, each look-up gives the same
 *   `ArrayData`: what was checked once isn't checked again.
 * - A dictionary that never came is empty where all that use it are nulls.
 *
 * Deltas are joined when they are first needed. A stream of many small deltas to a large
 * dictionary costs its square, as every state is joined and checked anew; that work
 * is bounded by `maxRejoinedPerByte`.
 */

import { IngestError } from "../errors.ts";
import type { Limits } from "../limits.ts";
import { concatArrays, concatSlices } from "./array/concat-arrays.ts";
import type { Codecs } from "./codecs.ts";
import { sameShape } from "./same-fields.ts";
import type { ArrayData, Field } from "./types.ts";

/** Bytes of dictionaries that may be joined or linked again, for each byte of the stream … */
const maxRejoinedPerByte = 64;
/** … and beyond those. */
const freelyRejoinedBytes = 1024 ** 3;

interface Entry {
	id: bigint;
	/** Of the values. */
	field: Field;
	/** As they came, not linked; the first one and its deltas. Empty: nothing came yet. */
	pieces: ArrayData[];
	bytes: number;
	/** What look-ups get, and the inner dictionaries it was linked with. */
	linked: ArrayData | null;
	linkedWith: ArrayData[];
}

export class DictionaryBook {
	readonly #entries = new Map<bigint, Entry>();
	readonly #limits: Limits;
	readonly #codecs: Codecs;
	#heldBytes = 0;
	#rejoinableBytes = freelyRejoinedBytes;

	/** `fields` are those of the stream's schema. */
	constructor(fields: readonly Field[], limits: Limits, codecs: Codecs) {
		this.#limits = limits;
		this.#codecs = codecs;
		for (const field of fields) this.#register(field, field.name);
	}

	/** The field that the values of dictionary `id` fill. */
	valueField(id: bigint): Field {
		return this.#entry(id).field;
	}

	/** `bytes` came by in the stream. */
	received(bytes: number): void {
		this.#rejoinableBytes += bytes * maxRejoinedPerByte;
	}

	/** True when a batch of dictionary `id` came before. */
	has(id: bigint): boolean {
		return this.#entry(id).pieces.length > 0;
	}

	/** Takes a dictionary batch; without `isDelta` it replaces what was there. */
	add(id: bigint, values: ArrayData, isDelta: boolean): void {
		const entry = this.#entry(id);
		if (!isDelta) {
			this.#heldBytes -= entry.bytes;
			entry.bytes = 0;
			entry.pieces = [];
		}
		const bytes = arrayBytes(values);
		entry.pieces.push(values);
		entry.bytes += bytes;
		entry.linked = null;
		this.#heldBytes += bytes;
		if (this.#heldBytes > this.#limits.maxBatchBytes) {
			throw new IngestError(
				"too_large",
				`the dictionaries of a stream take ${this.#heldBytes} bytes, the limit is ${this.#limits.maxBatchBytes}`,
				{ extra: { limit: this.#limits.maxBatchBytes } },
			);
		}
	}

	/** The dictionary of `field` for an array that is, or is not, all nulls. */
	lookUp(field: Field, allNulls: boolean, path: string): ArrayData {
		const entry = this.#entry(field.dictionary!.id);
		if (entry.pieces.length === 0) {
			if (!allNulls) {
				throw new IngestError(
					"invalid_arrow",
					`column ${path}: dictionary ${entry.id} has not come before the batch that uses it`,
					{ column: path },
				);
			}
			entry.linked ??= concatSlices(entry.field, [], this.#codecs);
			return entry.linked;
		}
		return this.#link(entry, path);
	}

	#link(entry: Entry, path: string): ArrayData {
		const inner: ArrayData[] = [];
		const pieces = entry.pieces.map((piece) => this.#linkInner(entry.field, piece, path, inner));
		const unchanged =
			inner.length === entry.linkedWith.length && inner.every((d, i) => d === entry.linkedWith[i]);
		if (entry.linked !== null && unchanged) return entry.linked;
		if (entry.linked !== null || pieces.length > 1) this.#spend(entry.bytes);
		const linked = concatArrays(entry.field, pieces, this.#codecs);
		// All pieces were linked with the same inner dictionaries: their indices are as before.
		if (pieces.length > 1) {
			entry.pieces = [linked];
			inner.length = 0;
			entry.linked = this.#linkInner(entry.field, linked, path, inner);
		} else entry.linked = linked;
		entry.linkedWith = inner;
		return entry.linked;
	}

	/** The array with dictionaries set in all that is below it; the same array where there are none. `found` collects them. */
	#linkInner(field: Field, array: ArrayData, path: string, found: ArrayData[]): ArrayData {
		if (field.dictionary !== null) {
			const dictionary = this.lookUp(field, array.nullCount === array.length, path);
			found.push(dictionary);
			return { ...array, dictionary };
		}
		if (field.children.length === 0) return array;
		const before = found.length;
		const children = array.children.map((child, i) =>
			this.#linkInner(field.children[i]!, child, path, found),
		);
		return found.length === before ? array : { ...array, children };
	}

	#spend(bytes: number): void {
		if (bytes <= this.#rejoinableBytes) {
			this.#rejoinableBytes -= bytes;
			return;
		}
		throw new IngestError(
			"too_large",
			`the stream changes large dictionaries too often: more than ${maxRejoinedPerByte} bytes are to be joined again for each one sent; send larger deltas, or larger batches`,
		);
	}

	#entry(id: bigint): Entry {
		const entry = this.#entries.get(id);
		if (entry !== undefined) return entry;
		throw new IngestError("invalid_arrow", `no column has a dictionary ${id}`);
	}

	#register(field: Field, path: string): void {
		if (field.dictionary !== null) {
			const { id } = field.dictionary;
			const before = this.#entries.get(id);
			if (before !== undefined && !sameShape(before.field, field)) {
				throw new IngestError(
					"invalid_arrow",
					`column ${path}: dictionary ${id} is shared with values of another type`,
					{ column: path },
				);
			}
			if (before === undefined) {
				this.#entries.set(id, {
					id,
					field: { ...field, dictionary: null },
					pieces: [],
					bytes: 0,
					linked: null,
					linkedWith: [],
				});
			}
		}
		for (const child of field.children) this.#register(child, path);
	}
}

function arrayBytes(array: ArrayData): number {
	let bytes = 0;
	for (const buffer of array.buffers) bytes += buffer?.byteLength ?? 0;
	for (const child of array.children) bytes += arrayBytes(child);
	return bytes;
}
