/** The next bytes of a body as one part object: streamed where the store can, in memory where it can't. */
import { collectBytes } from "../collect-bytes.ts";
import type { ManifestPart, UploadRequest } from "../flow.ts";
import type { ChunkSource } from "./chunk-source.ts";
import { measureBody } from "./measure-body.ts";
import { partKey, partName } from "./object-keys.ts";
import type { StageDeps } from "./stage-upload.ts";

export interface CutPart {
	key: string;
	/** Null: somebody else had written that part before; nothing was stored. */
	part: ManifestPart | null;
}

/** Bodies up to this are one write of known length. */
const smallBodyBytes = 256 * 1024;

/** `read` settles when the source may be read on, `stored` when the part is durable. */
export function cutPart(
	deps: StageDeps,
	upload: UploadRequest,
	n: number,
	source: ChunkSource,
	/** Sees the bytes too, as they pass. */
	whole: { update(bytes: Uint8Array): void | Promise<void> } | null,
): { read: Promise<void>; stored: Promise<CutPart> } {
	const key = partKey(upload.tenant, upload.upload_id, partName(n));
	const read = Promise.withResolvers<void>();
	read.promise.catch(() => {});
	const stored = (async () => {
		try {
			const little = await source.endsWithin(smallBodyBytes);
			const direct = deps.store.needsKnownLength === true || little;
			const cut = source.cut(deps.limits.partBytes, whole, read.resolve);
			const measured = measureBody(cut, deps.createSha256());
			const bytes = direct ? await collectBytes(measured.stream) : measured.stream;
			const info = await deps.store.put(key, bytes, { ifAbsent: true });
			const { size, sha256 } = await measured.result();
			return { key, part: info === null ? null : { n, key, size, etag: info.etag, sha256 } };
		} catch (error) {
			read.reject(error);
			throw error;
		}
	})();
	return { read: read.promise, stored };
}
