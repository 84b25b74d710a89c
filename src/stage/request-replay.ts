/**
 * `POST /v1/loads/{id}/replay` and `duckdock replay`: a failed load runs again
 * from what is staged.
 *
 * Order: the receipt says failed > the bytes are there > the receipt says staged
 * again > the job is sent. A crash between the last two is the sweep's to find.
 */

import type { Clock } from "../clock.ts";
import { IngestError } from "../errors.ts";
import type { Manifest, Receipt, ReplayJob } from "../flow.ts";
import type { Log } from "../log.ts";
import { type PartStores, partsStore } from "./parts-store.ts";
import { isTombstone, readManifest } from "./stage-upload.ts";

/** What completing and replaying need of their neighbours; `ReplayQueue` and `ReceiptBook` fit. */
export interface LoadDeps extends PartStores {
	clock: Clock;
	log: Log;
	queue: {
		/** Resolves once the job is taken. `again`: no event of the store tells of it. */
		send(job: ReplayJob, options?: { again?: boolean }): Promise<void>;
		/** How full it is, where it knows. */
		room?(): { free: number; retryAfterSeconds: number };
	};
	receipts: {
		read(tenant: string, loadId: string): Promise<Receipt | null>;
		/** Puts a failed load back to `staged`; false when its receipt isn't `failed` any more. */
		reopen(tenant: string, loadId: string): Promise<boolean>;
	};
}

/**
 * The receipt where the load was committed; null: it runs again. `load_not_found`,
 * `load_in_progress`, `upload_expired` (the bytes are gone).
 */
export async function requestReplay(
	deps: LoadDeps,
	tenant: string,
	id: string,
): Promise<Receipt | null> {
	const receipt = await deps.receipts.read(tenant, id);
	if (receipt === null) throw new IngestError("load_not_found", "there is no such load");
	if (receipt.status === "committed") return receipt;
	if (receipt.status === "staged" || receipt.status === "loading") throw inProgress(id);
	const manifest = await readManifest(deps.store, tenant, id);
	if (manifest === null || isTombstone(manifest) || !(await partsAreThere(deps, manifest))) {
		throw new IngestError("upload_expired", `the staged bytes of load ${id} are gone`, {
			extra: { load_id: id },
		});
	}
	if (!(await deps.receipts.reopen(tenant, id))) throw inProgress(id);
	await sendJob(deps, { tenant, upload_id: id }, { again: true });
	return null;
}

/** A job that the queue doesn't take now is not lost: its manifest is there and the sweep finds it. */
export async function sendJob(
	{ queue, log }: Pick<LoadDeps, "queue" | "log">,
	job: ReplayJob,
	options: { again?: boolean } = {},
): Promise<void> {
	try {
		await queue.send(job, options);
	} catch (error) {
		log.warn("the queue did not take a job; the sweep will", {
			tenant: job.tenant,
			load_id: job.upload_id,
			error: error instanceof Error ? error.message : String(error),
		});
	}
}

export const inProgress = (id: string) =>
	new IngestError("load_in_progress", `the load ${id} is running`, {
		retryAfterSeconds: 2,
		extra: { load_id: id },
	});

async function partsAreThere(stores: PartStores, manifest: Manifest): Promise<boolean> {
	const store = partsStore(stores, manifest);
	for (const { key } of manifest.parts) if ((await store.head(key)) === null) return false;
	return true;
}
