/**
 * In: a schema, then its batches, checked by `check-batch.ts`. Out: the columns as
 * the engine scans them rightly. What to do is decided once per schema; where
 * nothing has to be done, arrays pass without a copy.
 *
 * Measured on DuckDB 1.5.5, 2026-11-30, each through its own scan and a read-back:
 *
 * - float16, decimal256, dense unions are refused: widened, narrowed, unfolded
 *   (form-numbers.ts, form-unions.ts).
 * - Dictionaries are unpacked everywhere. A dictionary with null indices inside a
 *   list crashes the process; an extension on one is refused; the scanner keeps a
 *   dictionary it saw by its address, which may come back as another's. Strings
 *   become views of the dictionary's own bytes, so that nothing is copied but 16
 *   bytes a row (form-dictionary.ts).
 * - list_view: nulls inside the values come back as 0: made lists (form-lists.ts).
 * - Run ends: nested ones are not scanned, 64-bit ends read as 32: made plain.
 * - Sparse unions: type ids are taken for positions; the values that are not
 *   selected are converted too, so they become nulls (form-unions.ts).
 * - Elements under a null list are scanned as if rows showed them: such lists are
 *   rewritten without. Struct nulls are pushed down into the children.
 * - Durations in s and ms, and day_time intervals, are multiplied before their
 *   validity is looked at: zeros under nulls (form-intervals.ts).
 * - fixed_size_list of 0 or over 100,000 elements has no DDL: becomes a list.
 * - Null types below a fixed_size_list: from element 2,048 on zeros (form-nulls.ts).
 * - fixed_size_list with nulls, fixed_size_binary with nulls or of width 0, null
 *   types inside lists, structs, maps and unions, decimal32 and 64, views (also
 *   under arrow.json), maps of anything: right as they are.
 * - Structs without members, unnamed or equal member names: refused here.
 */

import { IngestError } from "../errors.ts";
import type { Warning } from "../flow.ts";
import { defaultLimits } from "../limits.ts";
import { sliceArray } from "./array/slice-array.ts";
import type { Codecs } from "./codecs.ts";
import { planField } from "./form/form-field.ts";
import { meteredCodecs } from "./form/metered-codecs.ts";
import { keepNullPromise, takeBackPromises } from "./form/null-promise.ts";
import { typeName } from "./type-name.ts";
import type { CheckedBatch, Field, RawBatch, Schema } from "./types.ts";

export interface EngineForm {
	/** As the engine will scan them, position by position. */
	fields: Field[];
	/** Grows while batches are converted: some losses are met only in values. */
	warnings: Warning[];
	/**
	 * Only for batches that the schema's checker has passed.
	 * A column whose first rows break its promise of no nulls becomes nullable in `schema`
	 * (null-promise.ts).
	 */
	convert(raw: RawBatch): CheckedBatch;
	/** The same, of more than `maxRows` rows (a multiple of 8) in pieces: each is cut before it is converted, so that no more unfolds at once. */
	convertPieces(raw: RawBatch, maxRows: number): Generator<CheckedBatch>;
}

/** `maxUnfoldedBytes` bounds what one piece of a batch may need beyond its own buffers. */
export function planEngineForm(
	schema: Schema,
	codecs: Codecs,
	maxUnfoldedBytes = defaultLimits.maxBatchBytes,
): EngineForm {
	const warnings: Warning[] = [];
	const metered = meteredCodecs(codecs, maxUnfoldedBytes);
	const reading = { batch: 0, firstRow: 0 };
	let rowsSeen = 0;
	const plans = schema.fields.map((field) =>
		planField(field, {
			codecs: metered.codecs,
			plan: planField,
			maxBytes: maxUnfoldedBytes,
			warnings,
			path: field.name,
			elementsAreRows: true,
			inArray: false,
			reading,
		}),
	);
	const convertRows = (raw: RawBatch, from: number, length: number): CheckedBatch => {
		metered.reset();
		reading.batch = raw.index;
		reading.firstRow = from;
		const isFirst = rowsSeen === 0;
		const columns = plans.map((plan, i) => {
			const field = schema.fields[i]!;
			try {
				const whole = raw.columns[i]!;
				const sent =
					length === raw.length ? whole : sliceArray(field, whole, from, length, metered.codecs);
				const column = plan.convert(sent, null);
				keepNullPromise(field, plan.field, column, isFirst, reading);
				return column;
			} catch (error) {
				throw placed(error, field, raw.index);
			}
		});
		rowsSeen += length;
		return { length, columns } as unknown as CheckedBatch;
	};
	return {
		fields: plans.map((plan) => ({ ...plan.field })),
		warnings,
		convert: (raw) => convertRows(raw, 0, raw.length),
		*convertPieces(raw, maxRows) {
			if (rowsSeen === 0) takeBackPromises(schema.fields, raw.columns);
			let from = 0;
			do {
				const length = Math.min(maxRows, raw.length - from);
				yield convertRows(raw, from, length);
				from += length;
			} while (from < raw.length);
		},
	};
}

/** The error with column, type and batch, where it doesn't have them yet. */
function placed(error: unknown, field: Field, batch: number): unknown {
	if (!(error instanceof IngestError) || error.place.batch !== undefined) return error;
	return new IngestError(error.code, error.message, {
		column: field.name,
		arrow_type: typeName(field),
		...error.place,
		batch,
		extra: error.extra,
		cause: error.cause,
	});
}
