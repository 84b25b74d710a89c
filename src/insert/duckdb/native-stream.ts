/**
 * In: the fields and checked batches of one load. Out: a view that DuckDB reads them from, once.
 * Order: open the stream, make the view, run the statement that reads it while batches are pushed,
 * close. The only file of `src` that reaches the addon.
 */

import { type FieldDescription, RecordBatchStream } from "../../../native/index.js";
import { cDataFlags, cDataFormat, encodeMetadata } from "../../arrow/c-data-format.ts";
import type { CheckedBatch, Field } from "../../arrow/types.ts";
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

/**
 * Runs `statement`, which reads the stream's view, while `batches` are pushed into it.
 *
 * Resolves as the statement does. Where reading `batches` fails, the statement is made to fail and, once
 * it is over, the batches' error is thrown: it is the cause. Where the statement fails, its error is thrown
 * at once and no batch is pushed any more; a read of `batches` that hangs is for their signal to end.
 * The stream is closed in every case, when the statement is over.
 */
export async function runWithBatches<Result>(
	stream: RecordBatchStream,
	batches: AsyncIterable<CheckedBatch>,
	statement: () => Promise<Result>,
): Promise<Result> {
	let failure: { cause: unknown } | null = null;
	// Closing wakes a push that waits for room which nobody will make any more.
	const running = statement().finally(() => stream.close());
	const fed = feed(stream, batches).catch((cause: unknown) => {
		failure = { cause };
		stream.fail(cause instanceof Error ? cause.message : String(cause));
	});
	try {
		const result = await running;
		await fed;
		if (failure === null) return result;
	} catch (error) {
		if (failure === null) throw error;
	}
	throw (failure as { cause: unknown }).cause;
}

async function feed(
	stream: RecordBatchStream,
	batches: AsyncIterable<CheckedBatch>,
): Promise<void> {
	for await (const batch of batches) {
		if (!(await stream.push(batch))) return;
	}
	if (stream.isOpen) stream.end();
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
