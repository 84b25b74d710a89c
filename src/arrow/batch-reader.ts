/** What `open-arrow.ts` makes of bytes and a sink drains: checked batches, their schema, and what was counted. */

import type { StreamedCounts, Warning } from "../flow.ts";
import type { CheckedBatch, Field } from "./types.ts";

/** A load's record batches, read once. Made anew for every attempt. */
export interface BatchReader {
	/** Columns as the client sent them: for names, receipts and warnings. */
	readonly sentFields: readonly Field[];
	/** Columns as the engine will scan them, position by position. */
	readonly engineFields: readonly Field[];
	/** Checked, converted, merged and sliced. An IngestError ends the load. */
	batches(signal: AbortSignal): AsyncIterable<CheckedBatch>;
	/** Complete once `batches` has ended. */
	counts(): StreamedCounts;
	/** Complete once `batches` has ended. */
	warnings(): Warning[];
}
