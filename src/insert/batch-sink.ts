/**
 * Where checked batches go: one database per tenant, one transaction per insert.
 *
 * The sink's promises: rows and ledger row appear together or not at all; rows
 * inserted == rows streamed before COMMIT; after any error nothing is committed;
 * it resolves only after COMMIT and after the ledger row was read back.
 */

import type { BatchReader, RowReader } from "../arrow/batch-reader.ts";
import type { InsertResult, LoadParameters, Receipt, StreamedCounts } from "../flow.ts";
import type { ParquetFooter } from "../parquet/parquet-footer.ts";

/** A Parquet file on this machine that nobody else writes. */
export interface ParquetFile {
	/** Absolute, in the folder that the sink was told of. */
	path: string;
	/** Checked. */
	footer: ParquetFooter;
	/** Of the file: `bytes` and `repr_digest`. */
	counts: Pick<StreamedCounts, "bytes" | "repr_digest">;
	/** Called once it isn't read any more, by whoever closes its reader. */
	remove(): Promise<void>;
}

/** A Parquet file that was read through once without fault. It can be inserted any number of times. */
export interface ParquetReader extends RowReader {
	readonly path: string;
	/** The file goes. */
	close(): Promise<void>;
}

export interface InsertJob {
	/** What the ledger knows the load by: where it is there already, its receipt is the outcome and nothing is inserted. */
	loadId?: string;
	/** Nobody is known to have begun it before: the ledger isn't asked beforehand, but refuses a repeat all the same. */
	first?: boolean;
	parameters: LoadParameters;
	reader: BatchReader | ParquetReader;
	/** Of the Arrow stream, where that is known: a few are no work for several threads. */
	bytes?: number;
	/** Called inside the transaction when all rows are in: what it throws rolls back. Lease, digest and row checks live here. */
	beforeCommit(counts: StreamedCounts): Promise<void>;
	/** The receipt as the ledger shall hold it. */
	receipt(result: InsertResult, counts: StreamedCounts): Receipt;
	signal: AbortSignal;
	/** Called, maybe often, when another load waits for what this one holds: one that can wait ends itself by its signal. */
	othersWait?(): void;
}

export type InsertOutcome = { receipt: Receipt } | { error: unknown };

export interface TableDescription {
	schema: string;
	table: string;
	columns: { name: string; type: string; nullable: boolean }[];
	rows: number;
}

/** One tenant's database, attached. Any number may be open; close each. */
export interface SinkDatabase {
	/** The ledger's receipt of a committed load, or null. */
	findLoad(loadId: string): Promise<Receipt | null>;
	/** The last committed load that `source` (drop key) made, for `superseded`. */
	findLastOfSource(bucket: string, key: string): Promise<Receipt | null>;
	/** Ledger rows, newest first; `before` is a load_id. */
	listLoads(options: { before?: string; limit: number }): Promise<Receipt[]>;
	/** Arrow bytes and rows of loads committed at or after `since` (ISO 8601, UTC). */
	sumSince(since: string): Promise<{ bytes: number; rows: number }>;
	describeTable(schema: string, table: string): Promise<TableDescription | null>;
	/** Loads in one transaction where there are several; if that fails, each again on its own where `again` gives a new job. Outcomes in order. */
	insert(jobs: InsertJob[], again: (index: number) => Promise<InsertJob>): Promise<InsertOutcome[]>;
	close(): Promise<void>;
}

export interface BatchSink {
	/** Attaches the tenant's database; waits for a file that another program holds, then `target_unavailable`. */
	open(tenant: string, signal: AbortSignal): Promise<SinkDatabase>;
	/** Reads the file through, apart from every database, so that its faults are its own. `invalid_arrow`, `unsupported_type`; the file is the caller's then. */
	openParquet(file: ParquetFile, signal: AbortSignal): Promise<ParquetReader>;
	/** Lets everything go. */
	close(): Promise<void>;
}
