/**
 * The contents page: what a load is at each step, who writes it and who reads it.
 *
 *   bytes  ──upload──▶ UploadRequest ──stage──▶ Manifest ──trigger──▶ ReplayJob
 *          ──replay──▶ CheckedBatch… ──insert──▶ InsertResult ──receipt──▶ Receipt
 *
 * Times are ISO 8601 in UTC, sizes bytes, counts rows; digests are `sha-256=:base64:`
 * in receipts and lower-case hex in manifests.
 */

import type { ErrorCode } from "./errors.ts";

export const loadModes = ["append", "create", "replace", "create_append"] as const;
export type LoadMode = (typeof loadModes)[number];

export const extraColumnPolicies = ["error", "ignore", "add"] as const;
export type ExtraColumnPolicy = (typeof extraColumnPolicies)[number];

/** A table of the tenant's own database. Names are as given; they compare ASCII-case-insensitively. */
export interface TableName {
	schema: string;
	table: string;
}

/** What the caller asked for: query of `/v1/ingest`, fields of `/v1/uploads`, flags of `load`. */
export interface LoadParameters {
	table: TableName;
	mode: LoadMode;
	on_extra_columns: ExtraColumnPolicy;
	dry_run: boolean;
	require_eos: boolean;
	/** Rows the caller says there are; checked before COMMIT. */
	rows: number | null;
	idempotency_key: string | null;
}

/** `uploads/{tenant}/{id}/upload.json`: written by upload, read by upload, replay and the sweep. */
export interface UploadRequest extends LoadParameters {
	upload_id: string;
	tenant: string;
	key_id: string | null;
	/** May the loader add columns, create tables, replace them: the rights of the key at that time. */
	rights: string[];
	source: LoadSource;
	/** Content coding of the whole byte sequence; parts of one upload are never coded. */
	content_encoding: "identity" | "gzip" | "zstd";
	request_id: string;
	traceparent: string | null;
	created_at: string;
	expires_at: string;
	/** Its bytes come one after the other by PATCH (stage/append-body.ts), not as numbered parts. */
	appends?: {
		/** Bytes there will be, where they were announced when it began. */
		length: number | null;
		/** `sha-256=:…:` of the Arrow bytes, as the caller says. */
		repr_digest: string | null;
	};
}

export type LoadSource =
	| { kind: "http" }
	| { kind: "file"; files: string[] }
	| {
			kind: "drop";
			bucket: string;
			key: string;
			version: string | null;
			etag: string;
			sequencer: string | null;
			last_modified: string;
	  };

/** One staged object of the byte sequence. */
export interface ManifestPart {
	n: number;
	key: string;
	size: number;
	etag: string;
	/** Hex; null where no handler of ours saw the bytes (direct uploads, drops). */
	sha256: string | null;
}

/** `uploads/{tenant}/{id}/manifest.json`: written last and once; its creation triggers the load. */
export interface Manifest extends UploadRequest {
	parts: ManifestPart[];
	/** What the caller says the Arrow bytes' digest is (`sha-256=:…:`), or null. */
	repr_digest: string | null;
	completed_at: string;
	/** Not a load yet: the loader compares its bytes with this load's, whose key it repeats. */
	same_content_as?: string;
}

/** What a queue carries: a name, no data. */
export interface ReplayJob {
	tenant: string;
	upload_id: string;
}

export const warningCodes = [
	"timestamp_ns_tz_truncated",
	"lossy_cast",
	"crs_dropped",
	"constraint_dropped",
	"no_end_of_stream",
	"extra_columns_ignored",
	"trailing_bytes_ignored",
] as const;
export type WarningCode = (typeof warningCodes)[number];
export interface Warning {
	code: WarningCode;
	column?: string;
	detail: string;
}

export interface ReceiptColumn {
	name: string;
	arrow_type: string;
	duckdb_type: string;
}

/** What reading the bytes told; complete once the batches have been drained. */
export interface StreamedCounts {
	rows_streamed: number;
	/** Record batches as sent. */
	batches: number;
	/** Arrow bytes, content coding undone. */
	bytes: number;
	/** `sha-256=:base64:` of those bytes. */
	repr_digest: string;
}

/** What the sink did in its transaction. */
export interface InsertResult {
	rows_inserted: number;
	created_table: boolean;
	columns: ReceiptColumn[];
	columns_defaulted: string[];
	columns_added: string[];
	warnings: Warning[];
	/** Statements that a dry run would have kept. */
	ddl: string[];
	engine: string;
}

export const loadStatuses = ["staged", "loading", "committed", "failed", "dry_run"] as const;
export type LoadStatus = (typeof loadStatuses)[number];

/** RFC 9457, with the members of API.md. */
export interface Problem {
	type: string;
	title: string;
	status: number;
	detail: string;
	instance?: string;
	code: ErrorCode;
	retryable: boolean;
	request_id?: string;
	load_id?: string;
	column?: string;
	batch?: number;
	row?: number;
	arrow_type?: string;
	target_type?: string;
	[extra: string]: unknown;
}

/** `loads/{tenant}/{id}.json` and the ledger's row: written by replay, read by everyone. */
export interface Receipt extends StreamedCounts {
	load_id: string;
	status: LoadStatus;
	tenant: string;
	/** `schema.table`, parts quoted where they hold a dot or a quote. */
	table: string;
	mode: LoadMode;
	rows_inserted: number;
	/** Staged objects. */
	parts: number;
	created_table: boolean;
	columns: ReceiptColumn[];
	columns_defaulted: string[];
	columns_added: string[];
	warnings: Warning[];
	source: LoadSource;
	attempts: number;
	started_at: string;
	committed_at: string | null;
	duration_ms: number;
	engine: string;
	/** `failed` only. */
	error?: Problem;
	/** `dry_run` only. */
	ddl?: string[];
}
