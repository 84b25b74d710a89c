/**
 * The bytes of one staged part, once, in order: in chunks or put where they are wanted. At their
 * end, size and SHA-256 are held against the manifest; what differs is `digest_mismatch`, thrown
 * by the read that would have said that nothing is left.
 */

import type { ByteIterator } from "../arrow/byte-source.ts";
import type { Sha256 } from "../arrow/codecs.ts";
import { ReadChunks } from "../arrow/read-chunks.ts";
import { IngestError } from "../errors.ts";
import type { ManifestPart } from "../flow.ts";
import type { StoredObject } from "../stage/object-store.ts";

export interface PartReader extends ByteIterator {
	readInto(target: Uint8Array): Promise<number>;
	/** Lets the object go, read to its end or not. */
	close(): Promise<void>;
}

export function readPart(
	part: ManifestPart,
	object: StoredObject,
	createSha256: () => Sha256,
): PartReader {
	const hash = part.sha256 === null ? null : createSha256();
	const chunks = chunksOf(object);
	let received = 0;

	function arrived(bytes: Uint8Array): void {
		received += bytes.length;
		if (received > part.size) throw mismatch(part, `it has ${received} bytes or more`);
		hash?.update(bytes);
	}
	let checked = false;
	function ended(): void {
		if (checked) return;
		checked = true;
		if (received !== part.size) throw mismatch(part, `it has ${received} bytes`);
		const sha256 = hash?.digestHex() ?? null;
		if (sha256 !== part.sha256) throw mismatch(part, `its SHA-256 is ${sha256}`);
	}

	return {
		async next() {
			const next = await chunks.next();
			if (next.done) ended();
			else arrived(next.value);
			return next;
		},
		async readInto(target) {
			const count = await chunks.readInto(target);
			if (count === 0) ended();
			else arrived(target.subarray(0, count));
			return count;
		},
		close: async () => void (await chunks.return()),
	};
}

export const mismatch = (part: ManifestPart, what: string) =>
	new IngestError(
		"digest_mismatch",
		`part ${part.n} is not the one that the manifest names, of ${part.size} bytes with SHA-256 ${part.sha256 ?? "unknown"}: ${what}`,
		{ extra: { part: part.n } },
	);

function chunksOf(object: StoredObject) {
	if (object.bytes !== undefined) return whole(object.bytes);
	return object.readInto === undefined ? streamed(object.body) : inPlace(object);
}

/** In memory already. */
function whole(bytes: Uint8Array) {
	let at = 0;
	const take = (most: number) => {
		const chunk = bytes.subarray(at, at + most);
		at += chunk.length;
		return chunk;
	};
	return {
		async next(): Promise<IteratorResult<Uint8Array>> {
			const value = take(bytes.length);
			return value.length === 0 ? { done: true, value: undefined } : { done: false, value };
		},
		async readInto(target: Uint8Array): Promise<number> {
			const chunk = take(target.length);
			target.set(chunk);
			return chunk.length;
		},
		async return(): Promise<void> {
			at = bytes.length;
		},
	};
}

const inPlace = (object: StoredObject) =>
	new ReadChunks(
		(target) => object.readInto!(target),
		() => object.body.cancel().catch(() => {}),
	);

/** The next chunk is on its way while this one is worked on. */
function streamed(body: ReadableStream<Uint8Array>) {
	const reader = body.getReader();
	let coming: ReturnType<typeof reader.read> | null = null;
	let rest: Uint8Array | null = null;
	let ended = false;
	const next = async (): Promise<Uint8Array | null> => {
		if (rest !== null) {
			const chunk = rest;
			rest = null;
			return chunk;
		}
		while (!ended) {
			const { value, done } = await (coming ?? reader.read());
			coming = null;
			if (done) {
				ended = true;
				break;
			}
			coming = reader.read();
			coming.catch(() => {});
			if (value.length > 0) return value;
		}
		return null;
	};
	return {
		async next(): Promise<IteratorResult<Uint8Array>> {
			const value = await next();
			return value === null ? { done: true, value: undefined } : { done: false, value };
		},
		async readInto(target: Uint8Array): Promise<number> {
			const chunk = await next();
			if (chunk === null) return 0;
			const count = Math.min(chunk.length, target.length);
			target.set(chunk.subarray(0, count));
			if (count < chunk.length) rest = chunk.subarray(count);
			return count;
		},
		async return(): Promise<void> {
			if (!ended) await reader.cancel().catch(() => {});
			ended = true;
		},
	};
}

/** Reads a part to its end for nothing but its size and digest: `digest_mismatch` where they aren't the manifest's. */
export async function verifyPart(
	part: ManifestPart,
	object: StoredObject,
	createSha256: () => Sha256,
	signal: AbortSignal,
): Promise<void> {
	const bytes = readPart(part, object, createSha256);
	try {
		while (!(await bytes.next()).done) signal.throwIfAborted();
	} finally {
		await bytes.close();
	}
}
