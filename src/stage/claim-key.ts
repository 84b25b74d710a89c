/**
 * Which upload is the load of an `Idempotency-Key`.
 *
 * `idempotency/{tenant}/{sha256 of key}.json`, put-if-absent just before the
 * manifest. A claim whose upload never got a manifest (its request died between
 * the two) is taken over: the old upload is closed first, by the same
 * put-if-absent that its manifest would need, so never are both the load.
 */

import { IngestError } from "../errors.ts";
import type { Manifest, UploadRequest } from "../flow.ts";
import { getJson, putJson } from "./json-object.ts";
import { idempotencyKey } from "./object-keys.ts";
import { inProgress, type LoadDeps } from "./request-replay.ts";
import { closeUpload, isTombstone, readManifest } from "./stage-upload.ts";

/** What the key stands for. */
export interface Claim {
	upload_id: string;
	schema: string;
	table: string;
	mode: string;
	on_extra_columns: string;
	/** Of the bytes as staged, lower-case hex, where a handler saw them all. */
	sha256: string | null;
	content_encoding: string;
	/** Sum of the parts' sizes. */
	size: number;
	claimed_at: string;
}

/** A request that claimed a key writes its manifest at once; so long is it left alone. */
const claimGraceMs = 10_000;

export function claimOf(manifest: Manifest, sha256: string | null): Claim {
	return {
		upload_id: manifest.upload_id,
		...manifest.table,
		mode: manifest.mode,
		on_extra_columns: manifest.on_extra_columns,
		sha256,
		content_encoding: manifest.content_encoding,
		size: manifest.parts.reduce((sum, part) => sum + part.size, 0),
		claimed_at: manifest.completed_at,
	};
}

/** The claim that holds from now on: `mine`, or the one of the upload that was first. */
export async function claimKey(
	deps: LoadDeps,
	upload: UploadRequest & { idempotency_key: string },
	mine: Claim,
): Promise<Claim> {
	const key = await idempotencyKey(upload.tenant, upload.idempotency_key);
	for (let round = 0; round < 10; round++) {
		if ((await putJson(deps.store, key, mine, { ifAbsent: true })) !== null) return mine;
		const stored = await getJson<Claim>(deps.store, key);
		if (stored === null) continue;
		const held = stored.value;
		if (held.upload_id === mine.upload_id) return held;
		if (await isLoad(deps, upload.tenant, held)) return held;
		if (deps.clock.now() - Date.parse(held.claimed_at) < claimGraceMs) {
			throw inProgress(held.upload_id);
		}
		const decision = await closeUpload(deps, upload.tenant, held.upload_id, "aborted");
		if (decision !== null && !isTombstone(decision)) return held;
		const etag = stored.info.etag;
		if ((await putJson(deps.store, key, mine, { ifMatch: etag })) !== null) return mine;
	}
	throw new IngestError(
		"load_in_progress",
		"too many requests claim this Idempotency-Key at one moment",
		{ retryAfterSeconds: 2 },
	);
}

/**
 * Whether the claim's upload became a load: its manifest is there, or its receipt
 * outlived it. A failed one whose bytes are gone can't run again: its key is free.
 */
async function isLoad(deps: LoadDeps, tenant: string, claim: Claim): Promise<boolean> {
	const decision = await readManifest(deps.store, tenant, claim.upload_id);
	if (decision !== null) return !isTombstone(decision);
	const receipt = await deps.receipts.read(tenant, claim.upload_id);
	return receipt !== null && receipt.status !== "failed";
}
