/**
 * In: the fields and checked batches of one load. Out: a view that DuckDB reads them from, once.
 * What is pushed into it, and when it is closed, is `arrow-scan.ts`. The only file of `src` that reaches the addon.
 */

import { type FieldDescription, RecordBatchStream } from "../../../native/index.js";
import { cDataFlags, cDataFormat, encodeMetadata } from "../../arrow/c-data-format.ts";
import type { Field } from "../../arrow/types.ts";
import { maxQueuedScanBatches, maxQueuedScanBytes } from "../../limits.ts";

export interface BatchStreamOptions {
	/** Copies bodies into native memory instead of pinning them: the escape hatch, slower. */
	copy: boolean;
	/** Batches and bytes that may wait for DuckDB; one batch is always taken. Default: limits.ts. */
	capacityBatches?: number;
	capacityBytes?: number;
}

/**
 * A stream of batches with `fields` as the engine shall see them. Whoever opens it closes it, after the
 * statement is over and its view is dropped. Throws TypeError where the addon can't describe a field.
 */
export function openBatchStream(
	fields: readonly Field[],
	options: BatchStreamOptions,
): RecordBatchStream {
	return new RecordBatchStream(fields.map(describeField), {
		capacityBatches: maxQueuedScanBatches,
		capacityBytes: maxQueuedScanBytes,
		...options,
	});
}

/** The field as `struct ArrowSchema`; of a dictionary-encoded one the indices, with the values inside. */
export function describeField(field: Field): FieldDescription {
	const outer = {
		name: field.name,
		flags: cDataFlags(field),
		metadata: encodeMetadata(field.metadata),
	};
	const children = field.children.map(describeField);
	if (field.dictionary === null) {
		return { ...outer, format: cDataFormat(field.type), children, dictionary: null };
	}
	const values = { name: "", format: cDataFormat(field.type), flags: nullable, metadata: null };
	return {
		...outer,
		format: cDataFormat(field.dictionary.indexType),
		children: [],
		dictionary: { ...values, children, dictionary: null },
	};
}

/** ARROW_FLAG_NULLABLE: a dictionary's values may hold nulls whatever the column says. */
const nullable = 2;
