/** Every number of the product, once: unit in the name, source beside it. */

const KiB = 1024;
const MiB = 1024 * KiB;
const GiB = 1024 * MiB;

/** What a deployment can set; API.md's table of the environment has the defaults. */
export interface Limits {
	partBytes: number;
	maxPartBytes: number;
	maxParts: number;
	/** Arrow bytes of one load, content coding undone. */
	maxUploadBytes: number;
	/** One record batch, body compression undone. */
	maxBatchBytes: number;
	maxColumns: number;
	/** Levels of nesting of one column; DuckDB's cost grows with about its cube. */
	maxNesting: number;
	/** One IPC message's metadata (its flatbuffer). */
	maxMetadataBytes: number;
	uploadTtlMs: number;
}

export const defaultLimits: Limits = {
	partBytes: 8 * MiB,
	/** Below the 100 MB that Cloudflare's Free and Pro zones take in one request. */
	maxPartBytes: 95 * MiB,
	/** R2 and S3 know no more parts of one object. */
	maxParts: 10_000,
	maxUploadBytes: 64 * GiB,
	maxBatchBytes: 2 * GiB,
	maxColumns: 10_000,
	maxNesting: 64,
	maxMetadataBytes: 16 * MiB,
	uploadTtlMs: 24 * 3_600_000,
};

/** JSON bodies of requests; the largest is a list of 1,000 parts to presign. */
export const maxJsonBodyBytes = 1 * MiB;
/** A caller that sends nothing of its body for so long is given up. */
export const idleBodyMs = 60_000;
/** Or less than this in so long: 273 bytes a second, a small part of what the slowest mobile network does. */
export const minBytesInIdleMs = 16_384;
/** Names of tables, schemas and columns, in UTF-8. */
export const maxNameBytes = 255;
export const maxIdempotencyKeyChars = 255;

/** How long a load waits for a database file that another program holds. */
export const targetLockWaitMs = 60_000;
/** The file is let go this long after the last load at the latest. */
export const targetLingerMs = 1_500;

/**
 * Loads that begin while their upload still arrives: from so many durable bytes on, so many at a time, given
 * up after so long without a part, and when all their waiting together took so long.
 */
export const earlyFromBytes = 8 * MiB;
export const maxEarlyLoads = 2;
export const earlyIdleMs = 5_000;
export const earlyWaitMs = 60_000;

/** A loader that has the file looks this often whether another process waits for it. */
export const targetTurnMs = 2_000;

/** Rows of a row group of DuckDB, and of the batches that it is handed: rebatch.ts. A multiple of its vectors of 2,048. */
export const rowGroupRows = 122_880;
/** Batches that may wait for DuckDB: as many as keep its threads busy, and one row group of most tables. The loader's memory is bounded by it: 32 MiB took 20 MiB more at the peak, and no less time. */
export const maxQueuedScanBatches = 8;
export const maxQueuedScanBytes = 16 * MiB;
