/** Staged bytes to checked batches in Node: the content coding undone, then `openArrow`. */

import type { BatchReader } from "../arrow/batch-reader.ts";
import type { ByteSource } from "../arrow/byte-source.ts";
import type { Sha256 } from "../arrow/codecs.ts";
import { openArrow } from "../arrow/open-arrow.ts";
import type { UploadRequest } from "../flow.ts";
import type { Limits } from "../limits.ts";
import { decodeContent } from "./content-coding.ts";
import { nodeCodecs } from "./node-codecs.ts";
import type { StagedSource } from "./open-staged.ts";
import type { ReplayDeps } from "./replay-one.ts";

export function createStagedReader(limits: Limits): Pick<ReplayDeps, "openReader" | "digestOf"> {
	const maxBytes = limits.maxUploadBytes;
	return {
		openReader: (source, upload, signal): Promise<BatchReader> =>
			openArrow([undoCoding(source, upload, maxBytes)], {
				codecs: { ...nodeCodecs, createSha256: () => digestOfAll(source, upload) },
				limits,
				requireEos: upload.require_eos,
				signal,
			}),

		async digestOf(source, manifest, signal) {
			const hash = digestOfAll(source, manifest);
			for await (const chunk of undoCoding(source, manifest, maxBytes).stream(signal)) {
				hash.update(chunk);
			}
			await source.verifyRest(signal);
			return `sha-256=:${Buffer.from(hash.digestHex(), "hex").toString("base64")}:`;
		},
	};
}

/** Bytes of one part as it was sent are digested once: the part's digest is theirs, and is held against them. */
function digestOfAll(
	{ sha256 }: StagedSource,
	{ content_encoding: coding }: UploadRequest,
): Sha256 {
	if (sha256 === null || coding !== "identity") return nodeCodecs.createSha256();
	return { update() {}, digestHex: () => sha256 };
}

function undoCoding(
	source: StagedSource,
	{ content_encoding: coding }: UploadRequest,
	maxBytes: number,
): ByteSource {
	if (coding === "identity") return source;
	return {
		name: source.name,
		stream: (signal) => decodeContent(coding, source.stream(signal), { maxBytes, signal }),
		atRest: null,
	};
}
