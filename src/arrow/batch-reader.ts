/** What `open-arrow.ts` makes of bytes and a sink drains: checked batches, their schema, and what was counted. */

import type { StreamedCounts, Warning } from "../flow.ts";
import type { CheckedBatch, Field } from "./types.ts";

/** A load's columns, and what was counted of it. */
export interface RowReader {
	/** Columns as the client sent them: for names, receipts and warnings. */
	readonly sentFields: readonly Field[];
	/** Columns as the engine will scan them, position by position. */
	readonly engineFields: readonly Field[];
	/** Complete once all rows have been read. */
	counts(): StreamedCounts;
	/** Complete once all rows have been read. */
	warnings(): Warning[];
}

/** A load's record batches, read once. Made anew for every attempt. */
export interface BatchReader extends RowReader {
	/** Checked, converted, merged and sliced. An IngestError ends the load. */
	batches(signal: AbortSignal): AsyncIterable<CheckedBatch>;
}
