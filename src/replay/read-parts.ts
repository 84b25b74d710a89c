/**
 * Parts as one run of bytes, once, in their order: the next one is asked for while one is read, and
 * each is held against what is said of it.
 */

import type { ByteChunks, ByteIterator } from "../arrow/byte-source.ts";
import type { Sha256 } from "../arrow/codecs.ts";
import type { ManifestPart } from "../flow.ts";
import type { StoredObject } from "../stage/object-store.ts";
import { type PartReader, readPart } from "./part-reader.ts";

export interface PartSequence {
	/** The part at a place, from 0. Null: there are no more. Undefined: nobody knows yet. */
	known(at: number): ManifestPart | null | undefined;
	/** The same, waited for. */
	wait(at: number, signal: AbortSignal): Promise<ManifestPart | null>;
}

export interface ReadPartsOptions {
	parts: PartSequence;
	open(part: ManifestPart): Promise<StoredObject>;
	createSha256(): Sha256;
	/** A part was read to its end and is what it should be. */
	onVerified(part: ManifestPart): void;
}

function readParts(options: ReadPartsOptions, signal: AbortSignal): ByteIterator {
	const { parts, open, createSha256, onVerified } = options;
	let at = 0;
	let ended = false;
	let reading: { part: ManifestPart; bytes: PartReader } | null = null;
	let coming: { part: ManifestPart; object: Promise<StoredObject> } | null = null;

	const ask = (part: ManifestPart | null | undefined) => {
		if (!part) return null;
		const object = open(part);
		object.catch(() => {});
		return { part, object };
	};

	async function release(): Promise<void> {
		const { bytes } = reading ?? {};
		coming?.object.then(
			({ body }) => body.cancel().catch(() => {}),
			() => {},
		);
		ended = true;
		reading = null;
		coming = null;
		await bytes?.close();
	}

	/** `work` on the part that is read, or on the next one that has bytes; null: `none` of them has. */
	async function read<T>(work: (bytes: PartReader) => Promise<T>, none: (got: T) => boolean) {
		try {
			while (!ended) {
				signal.throwIfAborted();
				if (reading === null) {
					coming ??= ask(parts.known(at) ?? (await parts.wait(at, signal)));
					if (coming === null) break;
					const { part, object } = coming;
					const bytes = readPart(part, await object, createSha256);
					reading = { part, bytes };
					at++;
					coming = ask(parts.known(at));
				}
				const got = await work(reading.bytes);
				if (!none(got)) return got;
				onVerified(reading.part);
				reading = null;
			}
			return null;
		} catch (error) {
			await release();
			throw error;
		}
	}

	return {
		async next() {
			const next = await read(
				(bytes) => bytes.next(),
				({ done }) => done === true,
			);
			return next ?? { done: true, value: undefined };
		},
		async readInto(target) {
			const count = await read(
				(bytes) => bytes.readInto(target),
				(got) => got === 0,
			);
			return count ?? 0;
		},
		async return() {
			await release();
			return { done: true, value: undefined };
		},
	};
}

/** Streams of one source, and the end of those that nobody read to theirs. */
export function openParts(options: ReadPartsOptions) {
	const open = new Set<ByteIterator>();
	return {
		stream: (signal: AbortSignal): ByteChunks => ({
			[Symbol.asyncIterator]() {
				const parts = readParts(options, signal);
				open.add(parts);
				return parts;
			},
		}),
		async close() {
			await Promise.all([...open].map((parts) => parts.return?.()));
			open.clear();
		},
	};
}

/** Parts that are all known. */
export const sequenceOf = (parts: readonly ManifestPart[]): PartSequence => ({
	known: (at) => parts[at] ?? null,
	wait: async (at) => parts[at] ?? null,
});
