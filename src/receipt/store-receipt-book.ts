/**
 * `ReceiptBook` on an object store.
 *
 * Order of a write: the index entry, then the receipt, so that what has a receipt
 * is in the history. A receipt is created, or swapped by its ETag: of two loaders
 * that end the same load, a committed one stands whoever comes last.
 */

import { type Clock, noLongerNeeded } from "../clock.ts";
import { IngestError } from "../errors.ts";
import type { Receipt } from "../flow.ts";
import { getJson, putJson, type StoredJson } from "../stage/json-object.ts";
import { leaseIsHeld, readLeases } from "../stage/lease-object.ts";
import {
	idOfIndexKey,
	indexKey,
	indexPrefix,
	isUploadId,
	receiptKey,
} from "../stage/object-keys.ts";
import type { ObjectStore } from "../stage/object-store.ts";
import { isTombstone, readManifest } from "../stage/stage-upload.ts";
import { foldName } from "../table-name.ts";
import { pendingReceipt } from "./pending-receipt.ts";
import { isFinal, type ReceiptBook } from "./receipt-book.ts";

export interface StoreReceiptBookOptions {
	store: ObjectStore;
	clock: Clock;
	/** Pauses between looks of who waits: the first, growing to the last. Wakes come in between. */
	pollMs?: { first: number; last: number };
}

/** Wakes who waits in this process. */
export interface WakingReceiptBook extends ReceiptBook {
	wake(tenant: string, loadId: string): void;
}

/** Receipts read at once for a page of history. */
const pageReads = 16;
/** A page that finds little after so many receipts ends, with a cursor. */
const maxScanned = 2_000;
const maxSwaps = 20;

export function createStoreReceiptBook(options: StoreReceiptBookOptions): WakingReceiptBook {
	const { store, clock } = options;
	const pollMs = options.pollMs ?? { first: 100, last: 2_000 };
	const waiting = new Map<string, Set<() => void>>();

	const stored = (tenant: string, id: string) => getJson<Receipt>(store, receiptKey(tenant, id));

	async function read(tenant: string, id: string): Promise<Receipt | null> {
		if (!isUploadId(id)) return null;
		const found = await stored(tenant, id);
		if (found !== null && found.value.tenant !== tenant) return null;
		if (found !== null && found.value.status !== "staged") return found.value;
		const manifest = await readManifest(store, tenant, id);
		if (manifest === null || isTombstone(manifest)) return found?.value ?? null;
		const held = leaseIsHeld(await readLeases(store, tenant, id), clock.now());
		return pendingReceipt(manifest, held ? "loading" : "staged");
	}

	async function final(tenant: string, id: string): Promise<Receipt | null> {
		if (!isUploadId(id)) return null;
		const found = await stored(tenant, id);
		if (found === null || found.value.tenant !== tenant) return null;
		return isFinal(found.value.status) ? found.value : null;
	}

	/** Creates or swaps; false: `mayReplace` says no to what is there. */
	async function swap(
		tenant: string,
		id: string,
		receipt: Receipt,
		mayReplace: (before: Receipt | null) => boolean,
	): Promise<boolean> {
		const key = receiptKey(tenant, id);
		for (let round = 0; round < maxSwaps; round++) {
			const before: StoredJson<Receipt> | null = await stored(tenant, id);
			if (!mayReplace(before?.value ?? null)) return false;
			const condition = before === null ? { ifAbsent: true } : { ifMatch: before.info.etag };
			if ((await putJson(store, key, receipt, condition)) !== null) return true;
		}
		throw new IngestError("store_unavailable", `${key} changed ${maxSwaps} times meanwhile`);
	}

	function wake(tenant: string, id: string): void {
		for (const callback of waiting.get(`${tenant}/${id}`) ?? []) callback();
	}

	return {
		read,
		final,
		wake,

		async write(receipt, as = receipt.load_id) {
			const { tenant } = receipt;
			if (as === receipt.load_id) {
				// Of committed loads the ledger makes it again.
				const volatile = receipt.status === "committed";
				await store.put(indexKey(tenant, as), new Uint8Array(0), { ifAbsent: true, volatile });
			}
			// Most often nothing is there yet: one put and no read.
			const key = receiptKey(tenant, as);
			if ((await putJson(store, key, receipt, { ifAbsent: true })) === null) {
				await swap(
					tenant,
					as,
					receipt,
					(before) => before?.status !== "committed" || receipt.status === "committed",
				);
			}
			wake(tenant, as);
		},

		async reopen(tenant, id) {
			const before = await stored(tenant, id);
			if (before === null || before.value.status !== "failed") return false;
			const { error: _, ...rest } = before.value;
			const receipt: Receipt = { ...rest, status: "staged" };
			return swap(tenant, id, receipt, (now) => now?.status === "failed");
		},

		async history(tenant, { table, status, cursor, limit }) {
			const receipts: Receipt[] = [];
			const prefix = indexPrefix(tenant);
			const startAfter =
				cursor !== undefined && isUploadId(cursor) ? { startAfter: indexKey(tenant, cursor) } : {};
			const fits = (receipt: Receipt | null): receipt is Receipt =>
				receipt !== null &&
				(table === undefined || foldName(receipt.table) === foldName(table)) &&
				(status === undefined || receipt.status === status);
			let last: string | null = null;
			let scanned = 0;
			let page: string[] = [];
			const readPage = async () => {
				const read_ = await Promise.all(page.map((id) => read(tenant, id)));
				for (const [at, receipt] of read_.entries()) {
					last = page[at]!;
					scanned++;
					if (fits(receipt)) receipts.push(receipt);
					if (receipts.length === limit) return true;
				}
				page = [];
				return scanned >= maxScanned;
			};
			if (limit <= 0) return { receipts, cursor: cursor ?? null };
			for await (const { key } of store.list(prefix, startAfter)) {
				const id = idOfIndexKey(key);
				if (id === null) continue;
				page.push(id);
				if (page.length === pageReads && (await readPage())) return { receipts, cursor: last };
			}
			const full = await readPage();
			return { receipts, cursor: full && page.at(-1) !== last ? last : null };
		},

		async waitFor(tenant, id, signal) {
			if (signal.aborted) return null;
			const name = `${tenant}/${id}`;
			let woken = false;
			let callback = () => {};
			const onWake = () => {
				woken = true;
				callback();
			};
			const callbacks = waiting.get(name) ?? new Set();
			waiting.set(name, callbacks.add(onWake));
			try {
				for (let pause = pollMs.first; ; pause = Math.min(pause * 1.5, pollMs.last)) {
					woken = false;
					// The receipt alone: who waits doesn't care how far the load is.
					const found = await final(tenant, id);
					if (found !== null) return found;
					if (signal.aborted) return null;
					if (woken) continue;
					const slept = new AbortController();
					callback = () => slept.abort(noLongerNeeded);
					await clock.sleep(pause, AbortSignal.any([signal, slept.signal])).catch(() => {});
					callback = () => {};
					slept.abort(noLongerNeeded);
				}
			} finally {
				callbacks.delete(onWake);
				if (callbacks.size === 0) waiting.delete(name);
			}
		},
	};
}
