/**
 * The parts of an upload that still takes them as one `ByteSource`: read as they become durable,
 * each held against what its handler saw. It ends when the manifest is there and all it names was read.
 */

import { fileMagic } from "../arrow/sniff.ts";
import type { ManifestPart, ReplayJob } from "../flow.ts";
import type { OpenStagedOptions, StagedSource } from "./open-staged.ts";
import type { PartFeed } from "./part-feed.ts";
import { mismatch, verifyPart } from "./part-reader.ts";
import { openParts } from "./read-parts.ts";

export interface FollowedSource extends StagedSource {
	/** An IPC file: its footer is at its end, and only then can it be read as one. */
	isFile(): Promise<boolean>;
}

export function followStaged(
	{ store, createSha256 }: Pick<OpenStagedOptions, "store" | "createSha256">,
	feed: PartFeed,
	{ upload_id: id }: ReplayJob,
): FollowedSource {
	const verified = new Set<number>();

	async function open(part: ManifestPart, range?: { offset: number; length: number }) {
		const object = await store.get(part.key, {
			ifMatch: part.etag,
			...(range === undefined ? {} : { range }),
		});
		if (object === null) throw mismatch(part, `it is gone from ${id}`);
		return object;
	}

	return {
		name: "the upload",
		sha256: null,
		atRest: null,

		...openParts({
			parts: feed,
			open,
			createSha256,
			onVerified: ({ n }) => verified.add(n),
		}),

		async isFile() {
			const first = feed.known(0);
			if (!first) return false;
			const { body } = await open(first, { offset: 0, length: fileMagic.length });
			return (
				(await new Response(body as ReadableStream<Uint8Array<ArrayBuffer>>).text()) === fileMagic
			);
		},

		async verifyRest(signal) {
			for (let at = 0; ; at++) {
				const part = await feed.wait(at, signal);
				if (part === null) return;
				if (verified.has(part.n) || part.sha256 === null) continue;
				await verifyPart(part, await open(part), createSha256, signal);
			}
		},
	};
}
