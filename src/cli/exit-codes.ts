/**
 * What the process ends with, after sysexits.h: scripts can tell "mend the data"
 * from "try again" without reading the text.
 */
import type { ErrorCode } from "../errors.ts";
import type { Problem } from "../flow.ts";

export const exitCodes = {
	fine: 0,
	fault: 1,
	usage: 2,
	/** EX_DATAERR: the data is refused. */
	data: 65,
	/** EX_NOINPUT: a FILE, upload or load isn't there. */
	noInput: 66,
	/** EX_UNAVAILABLE */
	unavailable: 69,
	/** EX_CANTCREAT: the table says no. */
	cantCreate: 73,
	/** EX_TEMPFAIL: try again. */
	tryAgain: 75,
	/** EX_NOPERM */
	notAllowed: 77,
} as const;

export const exitCodeOfError = {
	not_arrow: 65,
	truncated_stream: 65,
	bad_request: 65,
	digest_mismatch: 65,
	missing_parts: 65,
	unauthenticated: 77,
	key_expired: 77,
	forbidden_table: 77,
	forbidden_mode: 77,
	upload_not_found: 66,
	load_not_found: 66,
	table_not_found: 73,
	table_exists: 73,
	constraint_violation: 73,
	upload_completed: 73,
	offset_mismatch: 73,
	superseded: 73,
	load_in_progress: 75,
	upload_expired: 65,
	too_large: 65,
	unsupported_media_type: 65,
	unsupported_codec: 65,
	invalid_arrow: 65,
	unsupported_type: 65,
	duplicate_column: 65,
	schema_mismatch: 65,
	cast_failed: 65,
	idempotency_key_reused: 65,
	rate_limited: 75,
	quota_exceeded: 75,
	busy: 75,
	row_count_mismatch: 1,
	internal: 1,
	store_unavailable: 69,
	target_unavailable: 69,
	timeout: 75,
} as const satisfies Record<ErrorCode, number>;

/** A database that another program holds is worth another try; one that is read-only or gone is not. */
export function exitCodeOfProblem(problem: Problem): number {
	if (problem.code === "target_unavailable" && problem.reason === "locked")
		return exitCodes.tryAgain;
	return exitCodeOfError[problem.code] ?? exitCodes.fault;
}
