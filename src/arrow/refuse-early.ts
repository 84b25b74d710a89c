/**
 * The first bytes of Arrow in; nothing out, or the refusal that all the bytes would
 * meet: what isn't Arrow, a schema that breaks its format, a type that no column
 * holds. Metadata alone is read, no value. What these bytes are too few to tell
 * passes: the loader reads everything again.
 */
import { noLongerNeeded } from "../clock.ts";
import { IngestError } from "../errors.ts";
import type { Limits } from "../limits.ts";
import type { Codecs } from "./codecs.ts";
import { openArrow } from "./open-arrow.ts";
import { sniffBytes } from "./sniff.ts";

/** As many are worth waiting for: most schemas are smaller. */
export const earlyBytes = 64 * 1024;

/** `complete`: there are no more bytes than these. */
export async function refuseEarly(
	head: Uint8Array,
	complete: boolean,
	limits: Limits,
): Promise<void> {
	if (head.length < sniffBytes && !complete) return;
	const stop = new AbortController();
	try {
		await openArrow([{ name: "the upload", atRest: null, stream: () => once(head) }], {
			codecs: metadataOnly,
			limits,
			requireEos: false,
			signal: stop.signal,
		});
	} catch (error) {
		if (error instanceof IngestError && (error.code !== "truncated_stream" || complete))
			throw error;
		if (!(error instanceof IngestError)) throw error;
	} finally {
		stop.abort(noLongerNeeded);
	}
}

async function* once(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
	yield bytes;
}

/** A schema has no body: nothing is ever unpacked. */
const metadataOnly: Codecs = {
	lz4Frame: unused,
	zstd: unused,
	allocate: (size) => new Uint8Array(size),
	createSha256: () => ({ update() {}, digestHex: () => "" }),
};

function unused(): never {
	throw new IngestError("internal", "a schema was read and a body was met");
}
