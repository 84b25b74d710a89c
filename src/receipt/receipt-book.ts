/** Receipts in the object store: `loads/{tenant}/{id}.json`, with the index that history reads. */
import type { LoadStatus, Receipt } from "../flow.ts";

export interface ReceiptBook {
	/** In every state: of a load without a receipt yet, `staged` or `loading` with the counts at 0. */
	read(tenant: string, loadId: string): Promise<Receipt | null>;
	/** The receipt of a load that has ended, else null: one read, that says nothing of how far a load is. */
	final(tenant: string, loadId: string): Promise<Receipt | null>;
	/**
	 * Durable once resolved. A committed receipt is never replaced by another status.
	 * `as`: the load that this receipt answers, where it is another's (a repeat of a key).
	 */
	write(receipt: Receipt, as?: string): Promise<void>;
	/** Puts a failed load back to `staged`; false when its receipt isn't `failed` any more. */
	reopen(tenant: string, loadId: string): Promise<boolean>;
	/** Newest first; `cursor` is what the page before returned. */
	history(
		tenant: string,
		options: { table?: string; status?: string; cursor?: string; limit: number },
	): Promise<{ receipts: Receipt[]; cursor: string | null }>;
	/** Resolves with the first final receipt, or null when the signal aborts. */
	waitFor(tenant: string, loadId: string, signal: AbortSignal): Promise<Receipt | null>;
}

/** Nothing more comes, unless somebody asks for a replay. */
export function isFinal(status: LoadStatus): boolean {
	return status === "committed" || status === "failed" || status === "dry_run";
}
