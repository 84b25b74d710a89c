/** What one statement reads the rows of a load from: a view, of Arrow batches or of a Parquet file. */
import type { ScannedColumn } from "./insert-plan.ts";

export interface RowScan {
	/** To be read with SELECT * and nothing else: a projection of Arrow batches returns wrong data. */
	readonly view: string;
	readonly columns: readonly ScannedColumn[];
	/** Rows that DuckDB has fetched. */
	rowsHandedOver(): number;
	/** Resolves when the first batch waits for DuckDB or all are in; rejects with the reader's error. */
	readonly primed: Promise<void>;
	/** Resolves when all batches are in; rejects with the reader's error, which has failed the stream before. */
	readonly pumped: Promise<void>;
	/** Reads no further; a statement that still reads the view fails. */
	stop(): void;
	close(): Promise<void>;
}

/**
 * Runs `statement`, which reads the scan's view, and resolves as it does, with all batches read. Where
 * reading fails, that error is thrown: it is the cause of what DuckDB makes of it. Where the statement
 * fails, no further batch is read, and a push that waits for room is woken.
 */
export async function runOver<T>(scan: RowScan, statement: () => Promise<T>): Promise<T> {
	const running = statement().catch((error) => {
		scan.stop();
		throw error;
	});
	const [ran, pumped] = await Promise.allSettled([running, scan.pumped]);
	if (pumped.status === "rejected") throw pumped.reason;
	if (ran.status === "rejected") throw ran.reason;
	return ran.value;
}
