/**
 * What a load that was staged is answered with: its receipt, its problem, or the
 * promise of them.
 *
 * 200 only for a receipt that is final; 202 says staged and no more.
 */
import { noLongerNeeded } from "../clock.ts";
import type { Receipt } from "../flow.ts";
import type { Completion } from "../stage/complete-upload.ts";
import { jsonAnswer, problemAnswer } from "./answers.ts";
import type { Preferences } from "./read-headers.ts";
import type { Call } from "./route.ts";

/** Seconds after which asking for the receipt makes sense. */
const pollAfterSeconds = 1;
/** No caller waits longer than this in one request; RFC 7240 leaves the bound to us. */
const maxWaitSeconds = 3_600;

/** Milliseconds; infinite: until the load is final. `always`: who says nothing waits too. */
export function waitMsOf(call: Call, preferences: Preferences, always: boolean): number {
	const { canWait, defaultWaitMs } = call.deps;
	if (preferences.wait !== null) return Math.min(preferences.wait, maxWaitSeconds) * 1000;
	if (preferences.respondAsync || !always) return 0;
	return canWait ? Number.POSITIVE_INFINITY : defaultWaitMs;
}

/** `Preference-Applied`, of what was said and done. */
export function appliedPreferences(preferences: Preferences): Record<string, string> {
	const applied: string[] = [];
	if (preferences.respondAsync) applied.push("respond-async");
	if (preferences.wait !== null) applied.push(`wait=${Math.min(preferences.wait, maxWaitSeconds)}`);
	return applied.length === 0 ? {} : { "Preference-Applied": applied.join(", "), Vary: "Prefer" };
}

/** `ownId`: the id that this request staged under. */
export async function answerLoad(
	call: Call,
	completion: Completion,
	waitMs: number,
	ownId: string,
	headers: Record<string, string>,
): Promise<Response> {
	if (completion.kind === "repeat") {
		return finalAnswer(call, completion.receipt, true, headers);
	}
	const { loadId, bytes } = completion;
	call.note({ load_id: loadId });
	const receipt = await waitForReceipt(call, loadId, waitMs);
	if (receipt === null) return acceptedAnswer(loadId, headers);
	// Asked for again, it was counted before.
	if (bytes > 0) call.deps.quotas?.addRows(receipt.tenant, receipt);
	return finalAnswer(call, receipt, receipt.load_id !== ownId, headers);
}

/** A final receipt: 200, or the problem it ended with. */
export function finalAnswer(
	call: Call,
	receipt: Receipt,
	replayed: boolean,
	headers: Record<string, string> = {},
): Response {
	call.note({ load_id: receipt.load_id });
	const all: Record<string, string> = {
		...headers,
		"Content-Location": `/v1/loads/${receipt.load_id}`,
		...(replayed ? { "Idempotency-Replayed": "true" } : {}),
	};
	if (receipt.status !== "failed" || receipt.error === undefined) {
		return jsonAnswer(receipt, 200, all);
	}
	const problem = {
		...receipt.error,
		instance: `/v1/loads/${receipt.load_id}`,
		load_id: receipt.load_id,
		request_id: call.requestId,
	};
	return problemAnswer(problem, call.deps.limits, {
		...(receipt.error.retryable ? { "Retry-After": "5" } : {}),
		...all,
	});
}

/** 202: the bytes are durable, and the load will be tried. */
export function acceptedAnswer(loadId: string, headers: Record<string, string> = {}): Response {
	return jsonAnswer({ load_id: loadId, status: "staged" }, 202, {
		...headers,
		Location: `/v1/loads/${loadId}`,
		"Retry-After": String(pollAfterSeconds),
	});
}

async function waitForReceipt(call: Call, loadId: string, waitMs: number): Promise<Receipt | null> {
	if (waitMs === 0) return null;
	const { deps, request, principal } = call;
	const over = new AbortController();
	const signals = [request.signal, over.signal, ...(deps.stopping ? [deps.stopping] : [])];
	if (Number.isFinite(waitMs)) {
		deps.clock.sleep(waitMs, over.signal).then(
			() => over.abort(),
			() => {},
		);
	}
	try {
		return await deps.receipts.waitFor(principal!.tenant, loadId, AbortSignal.any(signals));
	} finally {
		over.abort(noLongerNeeded);
	}
}
