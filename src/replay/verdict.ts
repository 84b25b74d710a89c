/** What an error of a load means for the load: again, or never. Exhaustive over the codes. */
import type { ErrorCode } from "../errors.ts";

/**
 * `again`: the world was at fault and may be better soon. `later`: somebody else
 * works on it. `never`: the same bytes give the same error.
 */
export type Verdict = "again" | "later" | "never";

export const verdicts = {
	not_arrow: "never",
	truncated_stream: "never",
	bad_request: "never",
	digest_mismatch: "never",
	missing_parts: "never",
	unauthenticated: "never",
	key_expired: "never",
	forbidden_table: "never",
	forbidden_mode: "never",
	upload_not_found: "never",
	load_not_found: "never",
	table_not_found: "never",
	table_exists: "never",
	constraint_violation: "never",
	upload_completed: "never",
	offset_mismatch: "never",
	superseded: "never",
	load_in_progress: "later",
	upload_expired: "never",
	too_large: "never",
	unsupported_media_type: "never",
	unsupported_codec: "never",
	invalid_arrow: "never",
	unsupported_type: "never",
	duplicate_column: "never",
	schema_mismatch: "never",
	cast_failed: "never",
	idempotency_key_reused: "never",
	rate_limited: "again",
	quota_exceeded: "never",
	busy: "again",
	row_count_mismatch: "never",
	internal: "again",
	store_unavailable: "again",
	target_unavailable: "again",
	timeout: "again",
} as const satisfies Record<ErrorCode, Verdict>;

/** Attempts in all, the first one included; after the last one the load has failed. A store is waited for longer. */
export function maxAttemptsOf(code: ErrorCode): number {
	return code === "store_unavailable" ? 9 : 5;
}

const firstPauseMs = 200;
const longestPauseMs = 30_000;

/** Full jitter over a doubling span, so that what failed together does not come back together. */
export function pauseMs(attempt: number, random: () => number = Math.random): number {
	const span = Math.min(longestPauseMs, firstPauseMs * 2 ** Math.min(attempt, 20));
	return Math.round(span / 4 + random() * span * 0.75);
}
