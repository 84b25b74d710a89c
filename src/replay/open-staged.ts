/**
 * A manifest's parts as one `ByteSource`, as they were staged.
 *
 * The loader reads just the objects that the manifest names, each with If-Match.
 * What was read is held against the manifest: sizes always, SHA-256 where a
 * handler saw the bytes. `digest_mismatch`: the bytes are not those any more;
 * `upload_expired`: they are gone. A file of `drop/` is its owner's to change: when it
 * is another one by now, its load is `superseded`.
 */

import type { ByteSource } from "../arrow/byte-source.ts";
import type { Sha256 } from "../arrow/codecs.ts";
import { IngestError } from "../errors.ts";
import type { Manifest, ManifestPart } from "../flow.ts";
import { type PartStores, partsStore } from "../stage/parts-store.ts";
import { mismatch, verifyPart } from "./part-reader.ts";
import { openParts, sequenceOf } from "./read-parts.ts";

export interface StagedSource extends ByteSource {
	/** SHA-256 (hex) of all bytes, where the manifest says it: by COMMIT they were held against it. */
	readonly sha256: string | null;
	/** Reads and checks what no reader has read to its end. Before COMMIT. */
	verifyRest(signal: AbortSignal): Promise<void>;
	/** Lets go of what was opened and not read to its end: a load may end before its bytes do. */
	close(): Promise<void>;
}

export interface OpenStagedOptions extends PartStores {
	createSha256(): Sha256;
}

export function openStaged(options: OpenStagedOptions, manifest: Manifest): StagedSource {
	const { createSha256 } = options;
	const store = partsStore(options, manifest);
	const parts = [...manifest.parts].sort((a, b) => a.n - b.n);
	const starts: number[] = [];
	let size = 0;
	for (const part of parts) {
		starts.push(size);
		size += part.size;
	}
	const verified = new Set<number>();

	async function open(part: ManifestPart, range?: { offset: number; length: number }) {
		const object = await store.get(part.key, {
			ifMatch: part.etag,
			...(range === undefined ? {} : { range }),
		});
		if (object !== null) return object;
		if (manifest.source.kind === "drop") {
			throw new IngestError(
				"superseded",
				`${part.key} is no longer the object with ETag ${part.etag}`,
			);
		}
		if ((await store.head(part.key)) === null) {
			throw new IngestError("upload_expired", `part ${part.n} of ${manifest.upload_id} is gone`);
		}
		throw mismatch(part, `its ETag is no longer ${part.etag}`);
	}

	return {
		// Not its id: the same bytes have the same warnings, however they came.
		name: "the upload",
		sha256: parts.length === 1 ? parts[0]!.sha256 : null,

		...openParts({
			parts: sequenceOf(parts),
			open,
			createSha256,
			onVerified: ({ n }) => verified.add(n),
		}),

		atRest: {
			size,
			async read(offset, length, signal) {
				const bytes = new Uint8Array(length);
				let filled = 0;
				for (const [at, part] of parts.entries()) {
					const from = Math.max(0, offset + filled - starts[at]!);
					if (filled === length || from >= part.size) continue;
					signal.throwIfAborted();
					const want = Math.min(part.size - from, length - filled);
					const { body } = await open(part, { offset: from, length: want });
					const end = filled + want;
					for await (const chunk of body as unknown as AsyncIterable<Uint8Array>) {
						if (filled + chunk.length > end) throw mismatch(part, "a range of it is longer");
						bytes.set(chunk, filled);
						filled += chunk.length;
					}
					if (filled !== end) throw mismatch(part, `it ends before byte ${from + want}`);
				}
				if (filled === length) return bytes;
				throw new IngestError(
					"truncated_stream",
					`bytes ${offset} to ${offset + length} are wanted of ${size}`,
				);
			},
		},

		async verifyRest(signal) {
			for (const part of parts) {
				if (verified.has(part.n) || part.sha256 === null) continue;
				await verifyPart(part, await open(part), createSha256, signal);
				verified.add(part.n);
			}
		},
	};
}
