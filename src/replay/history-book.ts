/**
 * Receipts and history are made again from the ledger where the store has lost
 * them (it was exchanged, or a power cut came at the wrong moment).
 *
 * Once a tenant and process: the newest page of the ledger is held against the
 * store; as long as a page lacks something, the one before it is looked at too.
 */

import type { BatchSink } from "../insert/batch-sink.ts";
import type { Log } from "../log.ts";
import type { ReceiptBook } from "../receipt/receipt-book.ts";
import { indexKey, isUploadId, receiptKey } from "../stage/object-keys.ts";
import type { ObjectStore } from "../stage/object-store.ts";
import { parseTableName } from "../table-name.ts";
import type { TableBook } from "./table-book.ts";

export interface HistoryBook {
	/** In the background, the first time that it is asked for this tenant. */
	look(tenant: string): void;
	/** Resolves once nothing is looked at any more. */
	flush(): Promise<void>;
}

const pageLoads = 200;
const looksAtOnce = 16;

export function createHistoryBook(deps: {
	sink: BatchSink;
	store: ObjectStore;
	receipts: ReceiptBook;
	log: Log;
	tables: TableBook;
	/** Aborted when the loader is told to stop. */
	stop: AbortSignal;
}): HistoryBook {
	const { store, receipts, tables, stop } = deps;
	const looked = new Set<string>();
	const looking = new Set<Promise<void>>();

	async function lookAt(tenant: string): Promise<void> {
		const database = await deps.sink.open(tenant, stop);
		let made = 0;
		try {
			let before: string | undefined;
			for (;;) {
				const page = await database.listLoads({
					limit: pageLoads,
					...(before === undefined ? {} : { before }),
				});
				before = page.at(-1)?.load_id;
				const lacking = [];
				for (let at = 0; at < page.length && !stop.aborted; at += looksAtOnce) {
					const some = page.slice(at, at + looksAtOnce);
					const there = await Promise.all(some.map((receipt) => isThere(tenant, receipt.load_id)));
					lacking.push(...some.filter((_, n) => !there[n]));
				}
				for (const receipt of lacking) {
					if (stop.aborted) return;
					await receipts.write({ ...receipt, tenant });
					void tables.touch(tenant, parseTableName(receipt.table));
					made++;
				}
				if (lacking.length === 0 || page.length < pageLoads || stop.aborted) break;
			}
		} finally {
			await database.close();
			if (made > 0) deps.log.warn("receipts were made again from the ledger", { tenant, made });
		}
	}

	/** Loads of files without a server have ids that are no upload's, or stay in the ledger alone. */
	async function isThere(tenant: string, id: string): Promise<boolean> {
		if (!isUploadId(id)) return true;
		const [receipt, entry] = await Promise.all([
			store.head(receiptKey(tenant, id)),
			store.head(indexKey(tenant, id)),
		]);
		return receipt !== null && entry !== null;
	}

	return {
		look(tenant) {
			if (looked.has(tenant) || stop.aborted) return;
			looked.add(tenant);
			const task = lookAt(tenant)
				.catch((error) => {
					looked.delete(tenant);
					deps.log.warn("the ledger could not be held against the history", {
						tenant,
						error: error instanceof Error ? error.message : String(error),
					});
				})
				.finally(() => looking.delete(task));
			looking.add(task);
		},
		async flush() {
			while (looking.size > 0) await Promise.all(looking);
		},
	};
}
