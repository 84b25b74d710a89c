/**
 * A repeat of an `Idempotency-Key` whose content no handler could compare: are its
 * Arrow bytes those of the first load? Nothing is inserted here, whatever comes out.
 *
 * The same: the first load's receipt, or its problem. Another: `idempotency_key_reused`.
 */

import type { Sha256 } from "../arrow/codecs.ts";
import { IngestError } from "../errors.ts";
import type { Manifest, Receipt } from "../flow.ts";
import { isFinal, type ReceiptBook } from "../receipt/receipt-book.ts";
import type { PartStores } from "../stage/parts-store.ts";
import { isTombstone, readManifest } from "../stage/stage-upload.ts";
import { openStaged, type StagedSource } from "./open-staged.ts";

export interface CompareDeps extends PartStores {
	receipts: ReceiptBook;
	createSha256(): Sha256;
	/** `sha-256=:…:` of the Arrow bytes, content coding undone, each part verified. */
	digestOf(source: StagedSource, manifest: Manifest, signal: AbortSignal): Promise<string>;
}

export async function compareContent(
	deps: CompareDeps,
	manifest: Manifest,
	firstId: string,
	signal: AbortSignal,
): Promise<Receipt> {
	const { tenant } = manifest;
	const first = await deps.receipts.read(tenant, firstId);
	if (first === null || !isFinal(first.status)) {
		throw new IngestError("load_in_progress", `the key's first load ${firstId} is running`, {
			retryAfterSeconds: 1,
		});
	}
	const expected = first.repr_digest || (await digestOfStaged(deps, tenant, firstId, signal));
	const actual = await deps.digestOf(openStaged(deps, manifest), manifest, signal);
	if (expected !== actual) {
		throw new IngestError(
			"idempotency_key_reused",
			`this Idempotency-Key stands for load ${firstId}, whose Arrow bytes are ${expected ?? "gone"}; these are ${actual}`,
			{ extra: { first_load_id: firstId } },
		);
	}
	return first;
}

async function digestOfStaged(
	deps: CompareDeps,
	tenant: string,
	id: string,
	signal: AbortSignal,
): Promise<string | null> {
	const manifest = await readManifest(deps.store, tenant, id);
	if (manifest === null || isTombstone(manifest)) return null;
	return deps.digestOf(openStaged(deps, manifest), manifest, signal);
}
