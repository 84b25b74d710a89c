/** What the app is made of; whoever serves it (`functions/*`) constructs and hands it in. */
import type { ReceiptBook } from "../receipt/receipt-book.ts";
import type { CompleteDeps } from "../stage/complete-upload.ts";
import type { KeyStore } from "../tenant/key-store.ts";
import type { Quotas } from "../tenant/quotas.ts";
import type { RequestRate } from "../tenant/request-rate.ts";
import type { Metrics } from "./metrics.ts";
import type { RunningAppends } from "./running-appends.ts";

export interface AppDeps extends CompleteDeps {
	keyStore: KeyStore;
	receipts: CompleteDeps["receipts"] & Pick<ReceiptBook, "history" | "waitFor">;
	/** Whether a request may wait for its load without an end. */
	canWait: boolean;
	/** Where it can't: how long one waits that didn't say. */
	defaultWaitMs: number;
	/** What the platform before us takes in one request; null: all that the limits allow. */
	maxRequestBytes?: number | null;
	/** The runtime's own way to read a body, where it has a better one than `request.body`. */
	bodyOf?(request: Request, env: unknown): ReadableStream<Uint8Array> | null;
	/** Looks at the first bytes of what is sent and throws what the load would end with; `complete`: there are no more. */
	refuseEarly?: { bytes: number; look(head: Uint8Array, complete: boolean): Promise<void> };
	/** Sends an informational answer ahead of the one to come, where the runtime can. */
	inform?(env: unknown, status: number, headers: Record<string, string>): void;
	/** The appends that run, where one request may end another one's: in one process, on a runtime that lets them meet. */
	runningAppends?: RunningAppends;
	/** Keeps the runtime from ending `work` with the request that began it. */
	inBackground?(work: Promise<unknown>): void;
	/** Whether parts go straight to the store, where it can hand out URLs. */
	directParts?: boolean;
	/** Null: no limit. */
	rate?: RequestRate | null;
	quotas?: Quotas | null;
	/** Null: the runtime keeps no counts, and `/metrics` isn't there. */
	metrics?: Metrics | null;
	/**
	 * Whether the other end of the connection is this machine. Behind a proxy
	 * every peer is the proxy: then it must say false.
	 */
	isLoopbackPeer?(request: Request, env: unknown): boolean;
	/** Names and values in turn as they were sent, where the runtime drops repeated ones unseen. */
	rawHeaders?(env: unknown): readonly string[];
	/** Origins that may call from a browser; `*` is any. */
	corsOrigins?: readonly string[];
	/** Beyond the store: what else must be there before a load can be taken. Throws what is wrong. */
	checkReady?(): Promise<void>;
	/** Static pages by path (`/docs`, `/console`); null: there is none. */
	pages?(path: string): Response | null | Promise<Response | null>;
	/** Aborted when the service is told to stop: who waits gets a 202, `/readyz` says no. */
	stopping?: AbortSignal;
}
