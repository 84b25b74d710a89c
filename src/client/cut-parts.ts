/**
 * Bytes that come by in chunks of any size → parts of exactly `partSize`, the last
 * one shorter. The same bytes give the same parts, so that an upload can be
 * resumed by cutting again and comparing. Each part is memory of its own, or what
 * the caller gives back of earlier ones; no more than one is held here.
 */
import { SourceError } from "./client-errors.ts";

export type ArrowSource =
	| Uint8Array
	| Blob
	| ReadableStream<Uint8Array>
	| AsyncIterable<Uint8Array>
	| Iterable<Uint8Array>;

export interface Part {
	/** From 1. */
	n: number;
	bytes: Uint8Array<ArrayBuffer>;
}

/** Known without reading, or null. */
export function sizeOf(source: ArrowSource): number | null {
	if (source instanceof Uint8Array) return source.byteLength;
	return source instanceof Blob ? source.size : null;
}

/** At least one part, even of no bytes, so that what is empty gets the service's answer to it. */
export async function* cutParts(
	source: ArrowSource,
	partSize: number,
	/** Bytes of parts that are not needed any more: taken before new memory is. */
	spares: Uint8Array<ArrayBuffer>[] = [],
): AsyncGenerator<Part> {
	if (source instanceof Blob) {
		for (let start = 0, n = 1; n === 1 || start < source.size; start += partSize, n += 1) {
			const slice = source.slice(start, start + partSize);
			yield { n, bytes: new Uint8Array(await slice.arrayBuffer()) };
		}
		return;
	}
	let n = 1;
	let part = new Uint8Array(partSize);
	let filled = 0;
	for await (const chunk of chunksOf(source)) {
		if (!(chunk instanceof Uint8Array)) {
			throw new SourceError(`the source gave ${typeof chunk} where bytes (Uint8Array) belong`);
		}
		for (let at = 0; at < chunk.byteLength; ) {
			const take = Math.min(partSize - filled, chunk.byteLength - at);
			part.set(chunk.subarray(at, at + take), filled);
			filled += take;
			at += take;
			if (filled < partSize) continue;
			yield { n, bytes: part };
			n += 1;
			part = spares.pop() ?? new Uint8Array(partSize);
			filled = 0;
		}
	}
	if (filled > 0 || n === 1) yield { n, bytes: part.slice(0, filled) };
}

async function* chunksOf(source: Exclude<ArrowSource, Blob>): AsyncGenerator<Uint8Array> {
	if (source instanceof Uint8Array) {
		yield source;
	} else if (Symbol.asyncIterator in source || Symbol.iterator in source) {
		yield* source as AsyncIterable<Uint8Array>;
	} else {
		// Browsers whose ReadableStream can't be iterated yet.
		const reader = (source as ReadableStream<Uint8Array>).getReader();
		try {
			for (let next = await reader.read(); !next.done; next = await reader.read()) yield next.value;
		} finally {
			await reader.cancel().catch(() => {});
		}
	}
}
