/** Staged bytes to checked batches in Node: the content coding undone, then `openArrow`. */

import type { BatchReader } from "../arrow/batch-reader.ts";
import type { ByteSource } from "../arrow/byte-source.ts";
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
				codecs: nodeCodecs,
				limits,
				requireEos: upload.require_eos,
				signal,
			}),

		async digestOf(source, manifest, signal) {
			const hash = nodeCodecs.createSha256();
			for await (const chunk of undoCoding(source, manifest, maxBytes).stream(signal)) {
				hash.update(chunk);
			}
			await source.verifyRest(signal);
			return `sha-256=:${Buffer.from(hash.digestHex(), "hex").toString("base64")}:`;
		},
	};
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
