/** Receipts in the object store: `loads/{tenant}/{id}.json`, with the index that history reads. */
import type { Receipt } from "../flow.ts";

export interface ReceiptBook {
	read(tenant: string, loadId: string): Promise<Receipt | null>;
	/** Durable once resolved. A committed receipt is never replaced by another status. */
	write(receipt: Receipt): Promise<void>;
	/** Newest first; `cursor` is what the page before returned. */
	history(
		tenant: string,
		options: { table?: string; status?: string; cursor?: string; limit: number },
	): Promise<{ receipts: Receipt[]; cursor: string | null }>;
	/** Resolves with the first final receipt, or null when the signal aborts. */
	waitFor(tenant: string, loadId: string, signal: AbortSignal): Promise<Receipt | null>;
}
