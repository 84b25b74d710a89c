/**
 * One request's body of any length, cut into part objects in bounded memory.
 *
 * In: the request and its body. Out: `upload.json`, `parts/00001 …` and what the
 * bytes are. Order: the request and the parts are written side by side (no one
 * loads before the manifest); a body that fails leaves a tombstone and no bytes.
 */

import { asIngestError, IngestError } from "../errors.ts";
import type { ManifestPart, UploadRequest } from "../flow.ts";
import { ChunkSource } from "./chunk-source.ts";
import { type CutPart, cutPart } from "./cut-part.ts";
import { putJson } from "./json-object.ts";
import { uploadKey } from "./object-keys.ts";
import {
	closeUpload,
	type NewUpload,
	newUpload,
	removeParts,
	type StageDeps,
} from "./stage-upload.ts";

export interface StagedBody {
	upload: UploadRequest;
	parts: ManifestPart[];
	/** Staged bytes. */
	size: number;
	/** Lower-case hex of all of them; null where nobody asked and there are several parts. */
	sha256: string | null;
}

/** Parts whose put may still be settling while the next one is read. */
const maxSettling = 2;

/**
 * `truncated_stream` (the body was cut), `too_large` (over `maxUploadBytes` as
 * sent), `digest_mismatch` (`sha256`, lower-case hex of the whole body as sent).
 */
export async function stageBody(
	deps: StageDeps,
	fields: NewUpload,
	body: ReadableStream<Uint8Array>,
	options: { sha256?: string; signal?: AbortSignal } = {},
): Promise<StagedBody> {
	const upload = newUpload(deps, fields);
	const { tenant, upload_id: id } = upload;
	const request = putJson(deps.store, uploadKey(tenant, id), upload);
	request.catch(() => {});
	try {
		const staged = await cutBody(deps, upload, body, options);
		await request;
		return staged;
	} catch (error) {
		await request.catch(() => {});
		await discardUpload(deps, tenant, id);
		throw asIngestError(error);
	}
}

/** No load comes of it and its bytes go; what doesn't work now is the sweep's. */
export async function discardUpload(deps: StageDeps, tenant: string, id: string): Promise<void> {
	try {
		if ((await closeUpload(deps, tenant, id, "aborted")) === null) {
			deps.notices?.gone(tenant, id);
			await removeParts(deps.store, tenant, id);
		}
	} catch {
		// The store doesn't answer: the upload expires.
	}
}

async function cutBody(
	deps: StageDeps,
	upload: UploadRequest,
	body: ReadableStream<Uint8Array>,
	options: { sha256?: string; signal?: AbortSignal },
): Promise<StagedBody> {
	const { limits } = deps;
	const { tenant, upload_id: id } = upload;
	const source = new ChunkSource(body, (total) => {
		if (total > limits.maxUploadBytes) {
			throw new IngestError(
				"too_large",
				`the body has ${total} bytes or more, an upload takes ${limits.maxUploadBytes}`,
				{ extra: { limit_bytes: limits.maxUploadBytes } },
			);
		}
	});
	// Whether a repeat of a key has the same content, the parts' digests tell.
	const whole = options.sha256 === undefined ? null : deps.createSha256();
	const parts: Promise<ManifestPart>[] = [];
	try {
		while (await source.hasMore()) {
			options.signal?.throwIfAborted();
			const settled = parts[parts.length - maxSettling];
			if (settled !== undefined) await settled;
			if (parts.length === limits.maxParts) {
				throw new IngestError(
					"too_large",
					`the body needs more than ${limits.maxParts} parts of ${limits.partBytes} bytes`,
					{ extra: { limit_bytes: limits.maxParts * limits.partBytes } },
				);
			}
			const { read, stored } = cutPart(deps, upload, parts.length + 1, source, whole);
			const part = stored.then((cut) => {
				const made = assertNew(cut);
				if (made.n > 1 || made.size === limits.partBytes) deps.notices?.part(tenant, id, made);
				return made;
			});
			part.catch(() => {});
			parts.push(part);
			await read;
		}
		const all = await Promise.all(parts);
		let sha256 = whole === null ? null : await whole.digestHex();
		if (sha256 === null && all.length === 1) sha256 = all[0]!.sha256;
		if (options.sha256 !== undefined && sha256 !== options.sha256) {
			throw new IngestError(
				"digest_mismatch",
				`SHA-256 ${options.sha256} was announced, the ${source.total} bytes have ${sha256}`,
			);
		}
		return { upload, parts: all, size: source.total, sha256 };
	} catch (error) {
		source.cancel(error);
		await Promise.allSettled(parts);
		throw error;
	}
}

/** Nobody else writes under an id that nobody else knows. */
function assertNew({ part, key }: CutPart): ManifestPart {
	if (part !== null) return part;
	throw new IngestError("internal", `there is an object ${key} already`);
}
