/**
 * Where the buffers of messages in one chunk lie: in their bodies, or, of compressed bodies, one after
 * the other in memory that they are unpacked into, and that serves the next messages again.
 *
 * In: messages, one by one, of one layout. Out: for each buffer its place and size, inside its body; or false for
 * a message that has one which isn't, can't be unpacked, or takes more than is unpacked at a time.
 */

import { IngestError } from "../../errors.ts";
import { type BodyCodec, uncompressedLength, unpackBuffer } from "../body-compression.ts";
import type { Codecs } from "../codecs.ts";
import { structBytes } from "../wire/batch-template.ts";

/** Of all messages of a run: what a chunk's worth of small batches may unpack to. */
const maxUnpackedBytes = 4 * 1024 * 1024;

export class RunBuffers {
	/** What places are in. */
	values: Uint8Array = new Uint8Array(0);
	view: DataView = new DataView(this.values.buffer);
	/** Of buffer b of message m, at m * count + b. */
	places = new Int32Array(256);
	sizes = new Int32Array(256);
	#unpacked: Uint8Array = new Uint8Array(0);
	#used = 0;
	#bytes: Uint8Array = new Uint8Array(0);
	#codec: BodyCodec | null = null;

	/** Of all messages since `begin`; 0 where they are not packed. */
	get unpackedBytes(): number {
		return this.#used;
	}

	/** For messages that lie in `bytes`. */
	begin(bytes: Uint8Array, view: DataView, codec: BodyCodec | null): void {
		this.#bytes = bytes;
		this.#codec = codec;
		this.#used = 0;
		this.values = codec === null ? bytes : this.#unpacked;
		this.view = codec === null ? view : new DataView(this.#unpacked.buffer);
	}

	/** The `count` buffers of message `m`, whose structs begin at `entries` of `message` and whose body at `body`. */
	add(
		m: number,
		count: number,
		message: DataView,
		entries: number,
		body: number,
		bodyBytes: number,
		codecs: Codecs,
	): boolean {
		const first = m * count;
		if (first + count > this.places.length) this.#grow(first + count);
		let total = 0;
		for (let b = 0; b < count; b++) {
			const entry = entries + structBytes * b;
			const size = sizeAt(message, entry + 8);
			if (size < 0) return false;
			this.sizes[first + b] = size;
			this.places[first + b] = body;
			// The place of one without bytes means nothing.
			if (size === 0) continue;
			const offset = sizeAt(message, entry);
			if (offset < 0 || offset + size > bodyBytes) return false;
			this.places[first + b] = body + offset;
			total += size;
		}
		// Buffers that lie over each other would be copied as often as they are named.
		if (total > bodyBytes) return false;
		return this.#codec === null || this.#unpack(first, count, this.#codec, codecs);
	}

	#unpack(first: number, count: number, codec: BodyCodec, codecs: Codecs): boolean {
		try {
			let total = 0;
			for (let i = first; i < first + count; i++) total += uncompressedLength(this.#packed(i), i);
			if (this.#used + total > maxUnpackedBytes) return false;
			this.#reserve(this.#used + total);
			const allocate = (size: number) => this.#unpacked.subarray(this.#used, this.#used + size);
			const intoPlace = { ...codecs, allocate };
			for (let i = first; i < first + count; i++) {
				if (this.sizes[i] === 0) continue;
				const bytes = unpackBuffer(this.#packed(i), codec, intoPlace, "");
				// Some codecs bring memory of their own, and what was not packed lies where it came.
				if (bytes.buffer !== this.#unpacked.buffer) this.#unpacked.set(bytes, this.#used);
				this.places[i] = this.#used;
				this.sizes[i] = bytes.byteLength;
				this.#used += bytes.byteLength;
			}
			return true;
		} catch (error) {
			if (error instanceof IngestError) return false;
			throw error;
		}
	}

	#packed(i: number): Uint8Array {
		return this.#bytes.subarray(this.places[i]!, this.places[i]! + this.sizes[i]!);
	}

	#reserve(size: number): void {
		if (size <= this.#unpacked.byteLength) return;
		const larger = new Uint8Array(Math.max(size, 2 * this.#unpacked.byteLength));
		larger.set(this.#unpacked);
		this.#unpacked = larger;
		this.values = larger;
		this.view = new DataView(larger.buffer);
	}

	#grow(entries: number): void {
		const [places, sizes] = [new Int32Array(2 * entries), new Int32Array(2 * entries)];
		places.set(this.places);
		sizes.set(this.sizes);
		this.places = places;
		this.sizes = sizes;
	}
}

/** An int64 of a chunk: what is over 2^31 - 1 is no size in it, and comes out negative. */
export function sizeAt(view: DataView, at: number): number {
	const low = view.getInt32(at, true);
	return view.getInt32(at + 4, true) === 0 ? low : -1;
}
