/**
 * Errors as callers see them: an `IngestError` in, an RFC 9457 problem document out.
 * https://www.rfc-editor.org/rfc/rfc9457
 *
 * The same document stands in a failed load's receipt, so this file knows nothing
 * of HTTP but the status numbers.
 */
import { type ErrorCode, errorCodes, type IngestError } from "../errors.ts";
import type { Problem } from "../flow.ts";

interface ProblemKind {
	status: number;
	title: string;
	/** Whether the same request may succeed later, unchanged. */
	retryable: boolean;
}

const no = (status: number, title: string): ProblemKind => ({ status, title, retryable: false });
const yes = (status: number, title: string): ProblemKind => ({ status, title, retryable: true });

export const problemKinds = {
	not_arrow: no(400, "Not Arrow"),
	truncated_stream: no(400, "Truncated stream"),
	bad_request: no(400, "Bad request"),
	digest_mismatch: no(400, "Digest mismatch"),
	missing_parts: no(400, "Missing parts"),
	unauthenticated: no(401, "Unauthenticated"),
	key_expired: no(401, "Key expired"),
	forbidden_table: no(403, "Forbidden table"),
	forbidden_mode: no(403, "Forbidden mode"),
	upload_not_found: no(404, "Upload not found"),
	load_not_found: no(404, "Load not found"),
	table_not_found: no(404, "Table not found"),
	table_exists: no(409, "Table exists"),
	constraint_violation: no(409, "Constraint violation"),
	upload_completed: no(409, "Upload completed"),
	offset_mismatch: no(409, "Offset mismatch"),
	superseded: no(409, "Superseded"),
	load_in_progress: yes(409, "Load in progress"),
	upload_expired: no(410, "Upload expired"),
	too_large: no(413, "Too large"),
	unsupported_media_type: no(415, "Unsupported media type"),
	unsupported_codec: no(415, "Unsupported codec"),
	invalid_arrow: no(422, "Invalid Arrow"),
	unsupported_type: no(422, "Unsupported type"),
	duplicate_column: no(422, "Duplicate column"),
	schema_mismatch: no(422, "Schema mismatch"),
	cast_failed: no(422, "Cast failed"),
	idempotency_key_reused: no(422, "Idempotency key reused"),
	rate_limited: yes(429, "Rate limited"),
	quota_exceeded: yes(429, "Quota exceeded"),
	busy: yes(429, "Busy"),
	row_count_mismatch: yes(500, "Row count mismatch"),
	internal: yes(500, "Internal error"),
	store_unavailable: yes(502, "Store unavailable"),
	target_unavailable: yes(503, "Target unavailable"),
	timeout: yes(504, "Timeout"),
} as const satisfies Record<ErrorCode, ProblemKind>;

/** What the place of the answer adds. */
export interface ProblemContext {
	/** The request's path; of a load that failed, `/v1/loads/{id}`. */
	instance?: string;
	request_id?: string;
	load_id?: string;
	/** In place of the code's own status: 404 and 405 of unknown routes. */
	status?: number;
}

/** Members of a problem that no error can overwrite. */
const ownMembers = new Set(["type", "title", "status", "detail", "code", "retryable"]);

/** An `internal` error tells its detail to the log alone: it may hold what is nobody's business. */
export function problemOf(error: IngestError, context: ProblemContext = {}): Problem {
	const kind = problemKinds[error.code];
	const extra = Object.entries(error.extra).filter(([name]) => !ownMembers.has(name));
	return {
		type: error.problemType ?? `/docs#${error.code}`,
		title: kind.title,
		status: context.status ?? kind.status,
		detail: error.code === "internal" ? `${errorCodes.internal}; the log says more` : error.message,
		...(context.instance === undefined ? {} : { instance: context.instance }),
		code: error.code,
		retryable: kind.retryable,
		...(context.request_id === undefined ? {} : { request_id: context.request_id }),
		...(context.load_id === undefined ? {} : { load_id: context.load_id }),
		...error.place,
		...Object.fromEntries(extra),
	};
}

/** Seconds to wait before the same again where the error itself does not say; null: no header. */
export function retryAfterSeconds(error: IngestError): number | null {
	if (error.retryAfterSeconds !== undefined) return Math.max(1, Math.ceil(error.retryAfterSeconds));
	const { status, retryable } = problemKinds[error.code];
	if (status === 429 || status === 503) return 5;
	return retryable && error.code === "load_in_progress" ? 1 : null;
}
