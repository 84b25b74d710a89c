/**
 * From staged parts to a load, once.
 *
 * Order: all parts are there > the key is claimed (which upload is the load) >
 * the manifest, put-if-absent > the job is sent. What is answered before the
 * manifest leaves nothing behind; after it, the sweep finishes what we don't.
 */

import { IngestError } from "../errors.ts";
import type { Manifest, ManifestPart, Receipt, UploadRequest } from "../flow.ts";
import { type Claim, claimKey, claimOf } from "./claim-key.ts";
import { putJson } from "./json-object.ts";
import { manifestKey } from "./object-keys.ts";
import { inProgress, type LoadDeps, requestReplay, sendJob } from "./request-replay.ts";
import { discardUpload, type StagedBody } from "./stage-body.ts";
import {
	isTombstone,
	readManifest,
	readUpload,
	type StageDeps,
	type Tombstone,
} from "./stage-upload.ts";
import { uploadTooLarge } from "./upload-sizes.ts";

export type CompleteDeps = StageDeps & LoadDeps;

export type Completion =
	/** The load of this id is staged, running or done: wait for its receipt, or say 202. `bytes`: staged for it by this request. */
	| { kind: "started"; loadId: string; bytes: number }
	/** The key's load ended before: its receipt, or its problem, with `Idempotency-Replayed: true`. */
	| { kind: "repeat"; receipt: Receipt };

export interface CompleteRequest {
	/** Overrides the upload's own. */
	rows?: number | null;
	/** `sha-256=:…:` of the Arrow bytes, as the caller says. */
	repr_digest?: string | null;
}

/** `busy` with a time to wait, where no more loads are taken now. Ask before a body is read. */
export function assertRoom({ queue }: Pick<LoadDeps, "queue">): void {
	const room = queue.room?.();
	if (room !== undefined && room.free <= 0) {
		throw new IngestError("busy", "too many loads wait already", {
			retryAfterSeconds: room.retryAfterSeconds,
		});
	}
}

/**
 * `POST /v1/uploads/{id}/complete`. `bad_request` (N = 0, parts beyond N) and
 * `missing_parts` list the parts and leave the upload open, as do `too_large`, `busy`,
 * `load_in_progress` and `idempotency_key_reused`. Again with the same N: the same
 * answer; another N: `upload_completed`.
 */
export async function completeUpload(
	deps: CompleteDeps,
	tenant: string,
	id: string,
	request: CompleteRequest & { parts: number },
): Promise<Completion> {
	const upload = await readUpload(deps, tenant, id);
	if (upload.manifest !== null) return completedBefore(deps, upload.manifest, request.parts);
	if (upload.state !== "open") throw closed(id, upload.state);
	// Zero bytes in sequence are an upload, if no Arrow; zero parts are a mistake.
	const empty = upload.request.appends !== undefined && upload.parts.length === 0;
	if (!empty || request.parts > 0) assertParts(upload.parts, request.parts);
	const bytes = upload.parts.reduce((sum, { size }) => sum + size, 0);
	const { maxUploadBytes } = deps.limits;
	if (bytes > maxUploadBytes) throw uploadTooLarge(bytes, maxUploadBytes);
	assertRoom(deps);
	const settled = await settle(deps, upload.request, upload.parts, null, request);
	return "closed" in settled ? again(deps, tenant, id, request.parts) : settled;
}

/** `POST /v1/ingest`: what `stageBody` staged becomes a load, or goes. */
export async function completeStaged(
	deps: CompleteDeps,
	{ upload, parts, sha256 }: StagedBody,
	request: CompleteRequest = {},
): Promise<Completion> {
	const { tenant, upload_id: id } = upload;
	try {
		const settled = await settle(deps, upload, parts, sha256, request);
		if ("closed" in settled) throw inProgress(id);
		if (settled.kind === "repeat" || settled.loadId !== id) await discardUpload(deps, tenant, id);
		return settled;
	} catch (error) {
		// A manifest that is there stands: this closes only what never became a load.
		await discardUpload(deps, tenant, id);
		throw error;
	}
}

async function settle(
	deps: CompleteDeps,
	upload: UploadRequest,
	parts: ManifestPart[],
	sha256: string | null,
	request: CompleteRequest,
): Promise<Completion | Tombstone> {
	const { tenant, upload_id: id, idempotency_key: key } = upload;
	const manifest: Manifest = {
		...upload,
		rows: request.rows ?? upload.rows,
		parts,
		repr_digest: request.repr_digest ?? null,
		completed_at: new Date(deps.clock.now()).toISOString(),
	};
	// A dry run uses up no key.
	if (key !== null && !upload.dry_run) {
		const mine = claimOf(manifest, sha256 ?? (parts.length === 1 ? parts[0]!.sha256 : null));
		const claim = await claimKey(deps, { ...upload, idempotency_key: key }, mine);
		if (claim.upload_id !== id) {
			const earlier = await answerRepeat(deps, manifest, mine, claim);
			if (earlier !== null) {
				deps.notices?.gone(tenant, id);
				return earlier;
			}
			manifest.same_content_as = claim.upload_id;
		}
	}
	if ((await putJson(deps.store, manifestKey(tenant, id), manifest, { ifAbsent: true })) === null) {
		const decision = await readManifest(deps.store, tenant, id);
		if (decision !== null && isTombstone(decision)) return decision;
		return completedBefore(deps, decision ?? manifest, parts.length);
	}
	await sendJob(deps, { tenant, upload_id: id });
	return { kind: "started", loadId: id, bytes: parts.reduce((sum, { size }) => sum + size, 0) };
}

/** What the key's first load answers; null: only the loader can tell whether the content is the same. */
async function answerRepeat(
	deps: CompleteDeps,
	manifest: Manifest,
	mine: Claim,
	claim: Claim,
): Promise<Completion | null> {
	const { tenant } = manifest;
	const receipt = await deps.receipts.read(tenant, claim.upload_id);
	const first = await readManifest(deps.store, tenant, claim.upload_id);
	const parts = first === null || isTombstone(first) ? null : first.parts;
	const same = sameContent(mine, manifest.parts, claim, parts, receipt);
	if (same === false) {
		throw new IngestError(
			"idempotency_key_reused",
			`this Idempotency-Key stands for load ${claim.upload_id}, whose content is another`,
			{ extra: { load_id: claim.upload_id } },
		);
	}
	if (receipt === null || receipt.status === "staged" || receipt.status === "loading") {
		throw inProgress(claim.upload_id);
	}
	if (same === null) return null;
	if (receipt.status === "failed" && receipt.error?.retryable === true) {
		const done = await requestReplay(deps, tenant, claim.upload_id);
		return done === null
			? { kind: "started", loadId: claim.upload_id, bytes: 0 }
			: { kind: "repeat", receipt: done };
	}
	return { kind: "repeat", receipt };
}

/** Content is the Arrow bytes, table, mode and on_extra_columns. Null: can't be told without reading. */
function sameContent(
	mine: Claim,
	myParts: ManifestPart[],
	first: Claim,
	firstParts: ManifestPart[] | null,
	receipt: Receipt | null,
): boolean | null {
	const fold = (name: string) => name.replace(/[A-Z]/g, (letter) => letter.toLowerCase());
	if (
		fold(mine.schema) !== fold(first.schema) ||
		fold(mine.table) !== fold(first.table) ||
		mine.mode !== first.mode ||
		mine.on_extra_columns !== first.on_extra_columns
	) {
		return false;
	}
	const plain = mine.content_encoding === "identity" && first.content_encoding === "identity";
	const coded = mine.content_encoding === first.content_encoding;
	if (plain && mine.size !== first.size) return false;
	if (mine.sha256 !== null && mine.sha256 === first.sha256 && coded) return true;
	if (plain && mine.sha256 !== null && first.sha256 !== null) return false;
	if (mine.content_encoding === "identity" && mine.sha256 !== null && receipt?.repr_digest) {
		return receipt.repr_digest === reprDigestOf(mine.sha256);
	}
	if (firstParts === null || !coded || myParts.length !== firstParts.length) return null;
	if (!myParts.every((part, at) => part.size === firstParts[at]!.size)) return null;
	if (![...myParts, ...firstParts].every((part) => part.sha256 !== null)) return null;
	const equal = myParts.every((part, at) => part.sha256 === firstParts[at]!.sha256);
	return equal || plain ? equal : null;
}

/** Hex to the form of RFC 9530. */
function reprDigestOf(hex: string): string {
	const bytes = hex.match(/../g) ?? [];
	return `sha-256=:${btoa(String.fromCharCode(...bytes.map((byte) => Number.parseInt(byte, 16))))}:`;
}

async function again(
	deps: CompleteDeps,
	tenant: string,
	id: string,
	parts: number,
): Promise<Completion> {
	const decision = await readManifest(deps.store, tenant, id);
	if (decision === null) throw inProgress(id);
	if (isTombstone(decision)) throw closed(id, decision.closed);
	return completedBefore(deps, decision, parts);
}

/** The same answer again; but whoever has a key may repeat what failed by the world's fault, and it runs again. */
async function completedBefore(
	deps: CompleteDeps,
	manifest: Manifest,
	parts: number,
): Promise<Completion> {
	const { upload_id: id, tenant, parts: stored } = manifest;
	if (stored.length !== parts) {
		throw new IngestError(
			"upload_completed",
			`the upload ${id} was completed with ${stored.length} parts, not ${parts}`,
			{ extra: { load_id: id } },
		);
	}
	if (manifest.idempotency_key !== null) {
		const receipt = await deps.receipts.read(tenant, id);
		if (receipt?.status === "failed" && receipt.error?.retryable === true) {
			await requestReplay(deps, tenant, id).catch(ifRunning);
		}
	}
	return { kind: "started", loadId: id, bytes: 0 };
}

/** Somebody else asked first: it runs for both. */
function ifRunning(error: unknown): void {
	if (!(error instanceof IngestError) || error.code !== "load_in_progress") throw error;
}

function assertParts(parts: ManifestPart[], wanted: number): void {
	const stored = new Set(parts.map((part) => part.n));
	const beyond = parts.filter((part) => part.n > wanted).map((part) => part.n);
	if (wanted < 1) {
		throw new IngestError("bad_request", "an upload has at least 1 part, not 0", {
			extra: { parts: beyond },
		});
	}
	const missing: number[] = [];
	for (let n = 1; n <= wanted && missing.length < 10_000; n++) {
		if (!stored.has(n)) missing.push(n);
	}
	if (missing.length > 0) {
		throw new IngestError(
			"missing_parts",
			`${wanted} parts make the upload and ${missing.length} of them are missing: ${shorten(missing)}`,
			{ extra: { parts: missing } },
		);
	}
	if (beyond.length > 0) {
		throw new IngestError(
			"bad_request",
			`${wanted} parts make the upload, but parts beyond were sent: ${shorten(beyond)}`,
			{ extra: { parts: beyond } },
		);
	}
}

const shorten = (numbers: number[]) =>
	`${numbers.slice(0, 20).join(", ")}${numbers.length > 20 ? " …" : ""}`;

const closed = (id: string, state: string) =>
	new IngestError("upload_expired", `the upload ${id} is ${state}; its bytes are gone`);
