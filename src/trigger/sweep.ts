/**
 * What nobody else finishes: a walk over `uploads/`.
 *
 *   no manifest, time over        the upload expires: tombstone, bytes go
 *   tombstone                     bytes go at once, the rest after the upload's time
 *   manifest, no final receipt    its notice was lost: the job is sent again
 *   manifest, committed           bytes go `keepCommittedMs` after the commit, the rest after the upload's time
 *   manifest, dry run             bytes go at once, the rest after the upload's time
 *   manifest, failed              all goes 30 days later: until then it can be replayed
 *
 * Nothing is removed but what this table says; receipts, keys and ledgers never are.
 */

import type { Clock } from "../clock.ts";
import type { Receipt, ReplayJob, UploadRequest } from "../flow.ts";
import type { Limits } from "../limits.ts";
import type { Log } from "../log.ts";
import { isFinal, type ReceiptBook } from "../receipt/receipt-book.ts";
import { getJson } from "../stage/json-object.ts";
import { parseUploadKey, uploadKey, uploadsPrefix } from "../stage/object-keys.ts";
import type { ObjectInfo, ObjectStore } from "../stage/object-store.ts";
import { closeUpload, isTombstone, readManifest } from "../stage/stage-upload.ts";

export interface SweepDeps {
	store: ObjectStore;
	receipts: Pick<ReceiptBook, "read">;
	clock: Clock;
	log: Log;
	limits: Pick<Limits, "uploadTtlMs">;
	/** Where lost jobs go; null: none are sent (the `gc` command). */
	send: ((job: ReplayJob) => Promise<void>) | null;
	/** A manifest younger than this has its notice still on the way. */
	noticeMs?: number;
	keepCommittedMs?: number;
	keepFailedMs?: number;
}

export interface SweepResult {
	/** Keys, in the order of their removal. */
	removed: string[];
	sent: number;
	uploads: number;
}

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;
export const defaultKeepCommittedMs = 1 * hourMs;
export const defaultKeepFailedMs = 30 * dayMs;
const defaultNoticeMs = 60_000;
/** A request that runs longer than its upload's time still gets to end. */
const graceMs = 1 * hourMs;

export async function sweep(deps: SweepDeps, signal: AbortSignal): Promise<SweepResult> {
	const result: SweepResult = { removed: [], sent: 0, uploads: 0 };
	let name = "";
	let objects: ObjectInfo[] = [];
	const settle = async () => {
		if (objects.length === 0) return;
		result.uploads++;
		const upload = parseUploadKey(objects[0]!.key)!;
		try {
			await sweepUpload(deps, upload.tenant, upload.id, objects, result);
		} catch (error) {
			deps.log.warn("an upload could not be swept", {
				tenant: upload.tenant,
				load_id: upload.id,
				error: error instanceof Error ? error.message : String(error),
			});
		}
	};
	for await (const info of deps.store.list(uploadsPrefix)) {
		if (signal.aborted) return result;
		const upload = parseUploadKey(info.key);
		if (upload === null) continue;
		const next = `${upload.tenant}/${upload.id}`;
		if (next !== name) {
			await settle();
			name = next;
			objects = [];
		}
		objects.push(info);
	}
	await settle();
	return result;
}

async function sweepUpload(
	deps: SweepDeps,
	tenant: string,
	id: string,
	objects: ObjectInfo[],
	result: SweepResult,
): Promise<void> {
	const { store, clock, limits } = deps;
	const now = clock.now();
	const decision = await readManifest(store, tenant, id);

	if (decision === null) {
		const request = await getJson<UploadRequest>(store, uploadKey(tenant, id));
		// Without a request (its writing failed, or all else was removed) the bytes' own age counts.
		const newest = Math.max(...objects.map((info) => info.lastModified));
		const over = request ? Date.parse(request.value.expires_at) : newest + limits.uploadTtlMs;
		if (now < over + graceMs) return;
		const other = await closeUpload(deps, tenant, id, "expired");
		if (other !== null && !isTombstone(other)) return;
		await remove(deps, objects, isBytes, result);
		return;
	}

	if (isTombstone(decision)) {
		const over = now >= Date.parse(decision.closed_at) + limits.uploadTtlMs + graceMs;
		await remove(deps, objects, over ? () => true : isBytes, result);
		return;
	}

	const receipt = await deps.receipts.read(tenant, id);
	if (receipt === null || !isFinal(receipt.status)) {
		const age = now - Date.parse(decision.completed_at);
		if (deps.send === null || age < (deps.noticeMs ?? defaultNoticeMs)) return;
		await deps.send({ tenant, upload_id: id });
		result.sent++;
		return;
	}
	const ended = endOf(receipt);
	if (now < ended + keepMs(deps, receipt)) return;
	// What was asked for can be asked again for a while: the answer is the same.
	const all = receipt.status === "failed" || now >= ended + limits.uploadTtlMs;
	await remove(deps, objects, all ? () => true : isBytes, result);
}

/** The decision goes last but for the request: what a crash leaves is swept again. */
async function remove(
	deps: SweepDeps,
	objects: ObjectInfo[],
	which: (key: string) => boolean,
	result: SweepResult,
): Promise<void> {
	const rank = (key: string) => {
		if (key.endsWith("/upload.json")) return 2;
		return key.endsWith("/manifest.json") ? 1 : 0;
	};
	const keys = objects.map(({ key }) => key).filter(which);
	for (const key of keys.sort((a, b) => rank(a) - rank(b))) {
		await deps.store.delete(key);
		result.removed.push(key);
	}
}

const isBytes = (key: string) => /^uploads\/[^/]+\/[^/]+\/(parts|sums|lease)\//.test(key);

function keepMs(deps: SweepDeps, { status }: Receipt): number {
	if (status === "committed") return deps.keepCommittedMs ?? defaultKeepCommittedMs;
	return status === "failed" ? (deps.keepFailedMs ?? defaultKeepFailedMs) : 0;
}

/** Milliseconds since 1970. */
function endOf(receipt: Receipt): number {
	if (receipt.committed_at !== null) return Date.parse(receipt.committed_at);
	return Date.parse(receipt.started_at) + receipt.duration_ms;
}
