/** For each code the sentence that says what to do next. */
import type { ErrorCode } from "../errors.ts";

export const advice = {
	not_arrow:
		"Send an Arrow IPC stream or file: in pyarrow pa.ipc.new_stream(…), in DuckDB and polars their to-Arrow export.",
	truncated_stream:
		"The bytes end too early: write the file anew and close its writer, then send it again.",
	bad_request: "Mend what the message names.",
	digest_mismatch: "The bytes changed on the way or while they were read: send them again.",
	missing_parts: "Send the parts that are named, then complete again.",
	unauthenticated:
		"Give a key that lives: --key or DUCKDOCK_KEY; `duckdock keys create` makes one.",
	key_expired: "Make a new key with `duckdock keys create`.",
	forbidden_table:
		"Use a table that the key holds, or make a key with --tables that name this one.",
	forbidden_mode: "Use a mode that the key holds, or make a key with --modes that have it.",
	upload_not_found: "Look at the id and at the key's tenant; without --resume a new upload begins.",
	load_not_found: "Look at the id and at the key's tenant; `duckdock history` lists the loads.",
	table_not_found: "Create the table first, or use --mode create_append.",
	table_exists: "Use --mode append or --mode replace, or another table.",
	constraint_violation: "Mend the rows, or the constraint of the table; nothing was inserted.",
	upload_completed: "This upload is a load already: `duckdock status` with its id shows it.",
	offset_mismatch: "Ask the upload for its offset with HEAD and send the rest from there.",
	superseded: "A newer version of the object is loaded; there is nothing to do.",
	load_in_progress: "The load runs: wait, then ask with `duckdock status`.",
	upload_expired: "What was staged is gone: push the file again.",
	too_large: "Send less at once: smaller batches, or several loads.",
	unsupported_media_type:
		"Send Arrow bytes without Content-Encoding, or with gzip or zstd in one request.",
	unsupported_codec: "Write the file with LZ4 or ZSTD buffers, or uncompressed.",
	invalid_arrow:
		"The writer of this file broke the Arrow format at the place named; write it anew.",
	unsupported_type: "Cast the named column to another type before it is written.",
	duplicate_column: "Rename one of the two columns: DuckDB compares names without case.",
	schema_mismatch:
		"Make columns and table fit; --on-extra-columns ignore or add are at hand for columns too many.",
	cast_failed: "Mend the named value, or the type of the table's column.",
	idempotency_key_reused: "Use a new --idempotency-key for other content.",
	rate_limited: "Wait and try again.",
	quota_exceeded: "The tenant's quota is used up: try again when it renews.",
	busy: "Try again in a moment.",
	row_count_mismatch: "Compare --rows with the file; nothing was inserted.",
	internal: "A fault of ours: the log has more, `duckdock doctor` checks the parts.",
	store_unavailable: "Look at the service and its object store: `duckdock doctor` says more.",
	target_unavailable: "Look at the database: is it there, writable, and held by no other program?",
	timeout: "Try again, with the same idempotency key nothing doubles.",
} as const satisfies Record<ErrorCode, string>;
