/**
 * An upload from its creation to its decision.
 *
 *   createUpload  upload.json                       the request, durable
 *   putPart       parts/, sums/                     (put-part.ts)
 *   stageBody     upload.json, parts/               one request of any length (stage-body.ts)
 *   complete      manifest.json, put-if-absent      the load (complete-upload.ts)
 *   abort, expire manifest.json, put-if-absent      the tombstone
 *
 * `manifest.json` is the one decision: it is created once, either as the list of
 * parts or as the tombstone, so an upload never is both loaded and aborted.
 * Part objects are never overwritten, so what a manifest names stays as it was.
 */

import type { Clock } from "../clock.ts";
import { IngestError } from "../errors.ts";
import type { Manifest, ManifestPart, UploadRequest } from "../flow.ts";
import type { Limits } from "../limits.ts";
import { getJson, putJson } from "./json-object.ts";
import { manifestKey, parsePartName, partsPrefix, sumsPrefix, uploadKey } from "./object-keys.ts";
import type { ObjectStore } from "./object-store.ts";
import type { UploadSizes } from "./upload-sizes.ts";

/** SHA-256 in whatever way the runtime computes it; `Codecs.createSha256` fits. */
export interface StreamingSha256 {
	update(bytes: Uint8Array): void | Promise<void>;
	/** Lower-case hex; the object is used up. */
	digestHex(): string | Promise<string>;
}

export interface StageDeps {
	store: ObjectStore;
	clock: Clock;
	limits: Limits;
	/** `createIdMaker(clock)`: ascending ULIDs. */
	newId(): string;
	createSha256(): StreamingSha256;
	/** Absent: too many bytes are found when the upload is completed. */
	uploadSizes?: UploadSizes;
	/** Who wants to know what is staged before it is complete. */
	notices?: StagedNotices;
}

/** Told as it happens, in this process alone; nothing may rest on it. */
export interface StagedNotices {
	/** A part is durable. Not told of bodies that are one small part. */
	part(tenant: string, id: string, part: ManifestPart): void;
	/** No load comes of the upload. */
	gone(tenant: string, id: string): void;
}

/** What a handler says of a new upload; the rest is ours. */
export type NewUpload = Omit<UploadRequest, "upload_id" | "created_at" | "expires_at">;

/** Instead of a manifest: no load will come of this upload. */
export interface Tombstone {
	closed: "aborted" | "expired";
	tenant: string;
	upload_id: string;
	closed_at: string;
}

export interface UploadState {
	state: "open" | "completed" | "aborted" | "expired";
	request: UploadRequest;
	/** As a complete would take them now, ascending by n; of a completed upload those of its manifest. */
	parts: ManifestPart[];
	/** `completed` only; load_id is upload_id. */
	manifest: Manifest | null;
}

export function newUpload(deps: StageDeps, fields: NewUpload): UploadRequest {
	const now = deps.clock.now();
	return {
		...fields,
		upload_id: deps.newId(),
		created_at: new Date(now).toISOString(),
		expires_at: new Date(now + deps.limits.uploadTtlMs).toISOString(),
	};
}

/** Durable once resolved. */
export async function createUpload(deps: StageDeps, fields: NewUpload): Promise<UploadRequest> {
	const upload = newUpload(deps, fields);
	await putJson(deps.store, uploadKey(upload.tenant, upload.upload_id), upload);
	return upload;
}

/** `upload_not_found` for what isn't there or has no id's form. */
export async function readUpload(
	deps: StageDeps,
	tenant: string,
	id: string,
): Promise<UploadState> {
	const { request, decision } = await readDecision(deps, tenant, id);
	if (decision !== null && !isTombstone(decision)) {
		return { state: "completed", request, parts: decision.parts, manifest: decision };
	}
	if (decision !== null) return { state: decision.closed, request, parts: [], manifest: null };
	const state = isOver(deps, request) ? "expired" : "open";
	return { state, request, parts: await listParts(deps.store, tenant, id), manifest: null };
}

/** The upload, if it still takes parts; else `upload_not_found`, `upload_completed` or `upload_expired`. */
export async function readOpenUpload(
	deps: StageDeps,
	tenant: string,
	id: string,
): Promise<UploadRequest> {
	const { request, decision } = await readDecision(deps, tenant, id);
	if (decision === null) {
		if (isOver(deps, request)) throw expired(id, `expired at ${request.expires_at}`);
		return request;
	}
	if (isTombstone(decision)) throw expired(id, `was ${decision.closed} at ${decision.closed_at}`);
	throw new IngestError(
		"upload_completed",
		`the upload ${id} was completed at ${decision.completed_at} with ${decision.parts.length} parts and takes no more bytes`,
		{ extra: { load_id: id } },
	);
}

/** Again and again: fine. Of a completed upload: `upload_completed`. */
export async function abortUpload(deps: StageDeps, tenant: string, id: string): Promise<void> {
	await readDecision(deps, tenant, id);
	const decision = await closeUpload(deps, tenant, id, "aborted");
	if (decision !== null && !isTombstone(decision)) {
		throw new IngestError(
			"upload_completed",
			`the upload ${id} was completed at ${decision.completed_at} and can no longer be aborted`,
			{ extra: { load_id: id } },
		);
	}
	deps.notices?.gone(tenant, id);
	await removeParts(deps.store, tenant, id);
}

/** Decides that no load comes of the upload, unless it was decided before: then that decision, else null. */
export async function closeUpload(
	deps: Pick<StageDeps, "store" | "clock">,
	tenant: string,
	id: string,
	closed: Tombstone["closed"],
): Promise<Manifest | Tombstone | null> {
	const closed_at = new Date(deps.clock.now()).toISOString();
	const tombstone: Tombstone = { closed, tenant, upload_id: id, closed_at };
	const key = manifestKey(tenant, id);
	if ((await putJson(deps.store, key, tombstone, { ifAbsent: true })) !== null) return null;
	return readManifest(deps.store, tenant, id);
}

/** Bytes and sums; upload.json and the decision stay. */
export async function removeParts(store: ObjectStore, tenant: string, id: string): Promise<void> {
	for (const prefix of [sumsPrefix(tenant, id), partsPrefix(tenant, id)]) {
		for await (const { key } of store.list(prefix)) await store.delete(key);
	}
}

export function isTombstone(decision: Manifest | Tombstone): decision is Tombstone {
	return "closed" in decision;
}

/** Null: not decided. `internal` where the document is not that upload's. */
export async function readManifest(
	store: ObjectStore,
	tenant: string,
	id: string,
): Promise<Manifest | Tombstone | null> {
	const stored = await getJson<Manifest | Tombstone>(store, manifestKey(tenant, id));
	if (stored === null) return null;
	if (stored.value.tenant !== tenant || stored.value.upload_id !== id) {
		throw new IngestError(
			"internal",
			`${manifestKey(tenant, id)} speaks of upload ${stored.value.upload_id} of tenant ${stored.value.tenant}`,
		);
	}
	return stored.value;
}

/** For every n the bytes that came last. */
export async function listParts(
	store: ObjectStore,
	tenant: string,
	id: string,
): Promise<ManifestPart[]> {
	const sums = new Map<string, string>();
	for await (const { key } of store.list(sumsPrefix(tenant, id))) {
		const [name, sha256] = key.slice(key.lastIndexOf("/") + 1).split("~");
		if (name !== undefined && sha256 !== undefined) sums.set(name, sha256);
	}
	const parts = new Map<number, ManifestPart>();
	const prefix = partsPrefix(tenant, id);
	// A listing is ascending, so of the objects of one n the last one stands.
	for await (const { key, size, etag } of store.list(prefix)) {
		const name = key.slice(prefix.length);
		const parsed = parsePartName(name);
		if (parsed === null) continue;
		parts.set(parsed.n, { n: parsed.n, key, size, etag, sha256: sums.get(name) ?? null });
	}
	return [...parts.values()].sort((a, b) => a.n - b.n);
}

async function readDecision(deps: StageDeps, tenant: string, id: string) {
	const [stored, decision] = await Promise.all([
		getJson<UploadRequest>(deps.store, uploadKey(tenant, id)),
		readManifest(deps.store, tenant, id),
	]);
	if (stored === null) throw new IngestError("upload_not_found", "there is no such upload");
	return { request: stored.value, decision };
}

const isOver = (deps: StageDeps, request: UploadRequest) =>
	deps.clock.now() >= Date.parse(request.expires_at);

const expired = (id: string, what: string) =>
	new IngestError("upload_expired", `the upload ${id} ${what}; its bytes are gone`);
