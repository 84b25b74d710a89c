/**
 * What the batches of each stream of a load go through: check, engine form, order of columns.
 *
 * In: schemas as they come. The first one decides the columns of the load; later ones must come to
 * the same, in any order. Out: checked batches in the engine's form and the first stream's order.
 *
 * A load may be a million small streams, so only the first and the current plan are kept, and a
 * schema that says what one of theirs said goes on with it.
 */

import type { Warning } from "../flow.ts";
import { type Limits, rowGroupRows } from "../limits.ts";
import { alignStream, mismatch } from "./align-stream.ts";
import { createBatchChecker } from "./check-batch.ts";
import type { Codecs } from "./codecs.ts";
import { planEngineForm } from "./engine-form.ts";
import { keepNullPromise } from "./form/null-promise.ts";
import { withGeoMetadata } from "./geo/geoarrow-metadata.ts";
import type { SentSchema } from "./schema.ts";
import type { ArrayData, CheckedBatch, Field, RawBatch } from "./types.ts";
import type { WarningList } from "./warning-list.ts";

interface StreamPlan {
	/** What its schema said. */
	key: string;
	check(raw: RawBatch): void;
	convertPieces(raw: RawBatch, maxRows: number): Generator<CheckedBatch>;
	warnings: readonly Warning[];
	/** For each column of the first stream its position in this one; null: the same. */
	order: number[] | null;
}

export class StreamPlans {
	/** Columns as the first stream sent them, and as the engine scans them. */
	sentFields: readonly Field[] = [];
	engineFields: readonly Field[] = [];
	readonly #limits: Limits;
	readonly #codecs: Codecs;
	readonly #warnings: WarningList;
	#first: StreamPlan | null = null;
	#current: StreamPlan | null = null;
	#streams = 0;
	#rows = 0;

	constructor(limits: Limits, codecs: Codecs, warnings: WarningList) {
		this.#limits = limits;
		this.#codecs = codecs;
		this.#warnings = warnings;
	}

	/** The next stream begins, in `source`; `schema_mismatch` where its columns are not those of the first. */
	begin(sent: SentSchema, source: string): void {
		this.#streams++;
		const key = schemaKey(sent);
		if (key === this.#current?.key) return;
		this.collectWarnings();
		if (key === this.#first?.key) {
			this.#current = this.#first;
			return;
		}
		const schema = withGeoMetadata(sent);
		const form = planEngineForm(schema, this.#codecs, this.#limits.maxBatchBytes);
		if (this.#first === null) {
			this.sentFields = schema.fields;
			this.engineFields = form.fields;
		}
		this.#current = {
			key,
			check: createBatchChecker(schema, this.#limits, this.#codecs),
			convertPieces: form.convertPieces,
			warnings: form.warnings,
			order: this.#first === null ? null : this.#align(schema.fields, form.fields, source),
		};
		this.#first ??= this.#current;
	}

	/** Of the stream that began last. Each of what comes out is a holder of the batch's memory. */
	*convert(raw: RawBatch): Generator<CheckedBatch> {
		const plan = this.#current!;
		plan.check(raw);
		let firstRow = 0;
		for (const batch of plan.convertPieces(raw, rowGroupRows)) {
			// Columns change places and nothing else: what was checked stays so.
			const order = plan.order ?? batch.columns.map((_, i) => i);
			const columns = order.map((position) => batch.columns[position]!);
			if (plan !== this.#first) this.#keepNullPromises(columns, { batch: raw.index, firstRow });
			firstRow += batch.length;
			this.#rows += batch.length;
			const memory = raw.memory?.retain();
			yield plan.order === null ? { ...batch, memory } : { ...batch, columns, memory };
		}
		raw.memory?.release();
	}

	/** Warnings of plans grow while they convert; this takes what there is. */
	collectWarnings(): void {
		for (const plan of [this.#first, this.#current]) {
			for (const warning of plan?.warnings ?? []) this.#warnings.add(warning);
		}
	}

	/** A later stream must come to the very columns that the engine was told of. */
	#align(
		sentFields: readonly Field[],
		engineFields: readonly Field[],
		source: string,
	): number[] | null {
		const stream = { number: this.#streams, label: `stream ${this.#streams} (${source})` };
		const order = alignStream(this.sentFields, sentFields, stream);
		this.engineFields.forEach((field, i) => {
			if (engineKey(field) === engineKey(engineFields[order[i]!]!)) return;
			throw mismatch(this.sentFields[i]!, sentFields[order[i]!]!, stream);
		});
		return order.every((position, i) => position === i) ? null : order;
	}

	/** A later stream may say that nulls are allowed where the first, of which the table is made, said they aren't. */
	#keepNullPromises(
		columns: readonly ArrayData[],
		reading: { batch: number; firstRow: number },
	): void {
		this.sentFields.forEach((field, i) => {
			keepNullPromise(field, this.engineFields[i]!, columns[i]!, this.#rows === 0, reading);
		});
	}
}

/** What the engine is told of a column, all of which must be the same for every batch. */
function engineKey(field: Field): string {
	return JSON.stringify([
		field.type,
		field.dictionary === null ? null : field.dictionary.indexType,
		[...field.metadata]
			.filter(([key]) => key.startsWith("ARROW:extension:"))
			.map(([key, value]) => [key, new TextDecoder().decode(value)])
			.sort(),
		field.children.map((child) => [child.name, engineKey(child)]),
	]);
}

/** Everything that a schema says. */
function schemaKey(schema: SentSchema): string {
	return JSON.stringify(schema, (_, value: unknown) => {
		if (typeof value === "bigint") return String(value);
		if (value instanceof Uint8Array) return String(value);
		return value instanceof Map ? [...value] : value;
	});
}
