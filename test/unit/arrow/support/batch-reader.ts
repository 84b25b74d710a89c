/** Batches that need no bytes, as a load's reader. */

import type { BatchReader } from "../../../../src/arrow/batch-reader.ts";
import type { CheckedBatch, Field } from "../../../../src/arrow/types.ts";

export function batchReaderOf(
	fields: readonly Field[],
	batches: (signal: AbortSignal) => AsyncIterable<CheckedBatch>,
): BatchReader {
	return {
		sentFields: fields,
		engineFields: fields,
		batches,
		counts: () => ({ rows_streamed: 0, batches: 0, bytes: 0, repr_digest: "" }),
		warnings: () => [],
	};
}
