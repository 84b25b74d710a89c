/**
 * The one error that crosses the borders between steps.
 *
 * Whatever goes wrong becomes an `IngestError` with a code from the closed list
 * below. Two exhaustive tables elsewhere turn a code into its HTTP status
 * (`upload/problem-json.ts`) and into a retry verdict (`replay/verdict.ts`).
 */

/** Every code a caller can meet, with its meaning. */
export const errorCodes = {
	not_arrow: "the bytes are not an Arrow IPC stream or file",
	truncated_stream: "the bytes end inside a message, or the body was cut",
	bad_request: "the request itself is malformed",
	digest_mismatch: "the bytes are not those that the digest was made of",
	missing_parts: "complete was asked for before all parts were there",
	unauthenticated: "no key, or a key that is not known",
	key_expired: "the key is right, but its time is over",
	forbidden_table: "the key does not hold this table, or nobody may write it",
	forbidden_mode: "the key does not hold this mode",
	upload_not_found: "no such upload for this tenant",
	load_not_found: "no such load for this tenant",
	table_not_found: "the target table does not exist",
	table_exists: "the target table exists already, or is a view",
	constraint_violation: "a constraint of the target table refuses a row",
	upload_completed: "the upload was completed and takes no more bytes",
	offset_mismatch: "the upload's bytes end elsewhere than where the append begins",
	superseded: "a newer version of the object was loaded before",
	load_in_progress: "the load is running",
	upload_expired: "the staged bytes are gone",
	too_large: "a declared or real size is over a limit",
	unsupported_media_type: "the content type or coding is not taken here",
	unsupported_codec: "the body compression is not known",
	invalid_arrow: "the Arrow data breaks its own specification",
	unsupported_type: "the Arrow type has no DuckDB type that holds it",
	duplicate_column: "two columns have names that DuckDB cannot tell apart",
	schema_mismatch: "the columns do not fit the table, or a later stream the first",
	cast_failed: "a value does not fit the type of the target column",
	idempotency_key_reused: "the key was used before for other content",
	rate_limited: "too many requests in a short time",
	quota_exceeded: "the tenant's quota is used up",
	busy: "the service has no room for more work now",
	row_count_mismatch: "rows inserted, streamed and declared are not the same number",
	internal: "a fault of ours",
	store_unavailable: "the object store does not answer",
	target_unavailable: "the target database cannot be opened or written",
	timeout: "the work took longer than it may",
} as const;

export type ErrorCode = keyof typeof errorCodes;

/** Where the fault lies. Rows and batches count from 0; a batch is one as sent. */
export interface ErrorPlace {
	/** Column path as a reader would write it: `a`, `point.x`, `tags[]`. */
	column?: string;
	batch?: number;
	row?: number;
	arrow_type?: string;
	target_type?: string;
}

export interface IngestErrorOptions extends ErrorPlace {
	cause?: unknown;
	/** Seconds after which trying again makes sense. */
	retryAfterSeconds?: number;
	/** Further members of the problem document, such as `parts` or `columns`. */
	extra?: Record<string, unknown>;
	/** The problem's `type` where a registry has one; else it is made of the code. */
	problemType?: string;
}

export class IngestError extends Error {
	override readonly name = "IngestError";
	readonly code: ErrorCode;
	readonly place: ErrorPlace;
	readonly retryAfterSeconds: number | undefined;
	readonly extra: Record<string, unknown>;
	readonly problemType: string | undefined;

	/** `detail` states expected and actual, with numbers and the position. */
	constructor(code: ErrorCode, detail: string, options: IngestErrorOptions = {}) {
		super(detail, options.cause === undefined ? undefined : { cause: options.cause });
		this.code = code;
		const { cause: _, retryAfterSeconds, extra, problemType, ...place } = options;
		this.place = place;
		this.retryAfterSeconds = retryAfterSeconds;
		this.extra = extra ?? {};
		this.problemType = problemType;
	}
}

/** Any thrown value as an IngestError; what is not one already is `internal`. */
export function asIngestError(error: unknown): IngestError {
	if (error instanceof IngestError) return error;
	const detail = error instanceof Error ? error.message : String(error);
	return new IngestError("internal", detail, { cause: error });
}
