/** Codecs whose memory is counted, so that a few bytes can't unfold to any size. */

import { IngestError } from "../../errors.ts";
import type { Codecs } from "../codecs.ts";

export interface MeteredCodecs {
	codecs: Codecs;
	/** Starts to count anew. */
	reset(): void;
}

/** `allocate` throws `too_large` once more than `maxBytes` were asked for since the last reset. */
export function meteredCodecs(codecs: Codecs, maxBytes: number): MeteredCodecs {
	let left = maxBytes;
	return {
		codecs: {
			lz4Frame: (source, size, allocate) => codecs.lz4Frame(source, size, allocate),
			zstd: (source, size) => codecs.zstd(source, size),
			createSha256: () => codecs.createSha256(),
			allocate(size) {
				if (size > left) {
					throw new IngestError(
						"too_large",
						`a batch that unfolds to more than the limit of ${maxBytes} bytes`,
						{ extra: { limit: maxBytes } },
					);
				}
				left -= size;
				return codecs.allocate(size);
			},
		},
		reset() {
			left = maxBytes;
		},
	};
}
