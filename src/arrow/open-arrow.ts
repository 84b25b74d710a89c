/**
 * In: byte sources, one load. Out: a `BatchReader`: checked batches in the engine's form.
 *
 *   bytes > messages > RawBatch > check > engine form > first stream's order > merged and sliced
 *
 * Opening reads up to the first schema and no further. Everything is pulled: no step runs ahead
 * of the engine, so memory holds one message body and the window of `rebatch.ts`.
 * Counts and the digest are of all bytes of all sources, taken as they come by.
 */

import { IngestError } from "../errors.ts";
import type { StreamedCounts, Warning } from "../flow.ts";
import { type Limits, maxScanRows, minScanRows } from "../limits.ts";
import { alignStream, mismatch } from "./align-stream.ts";
import type { BatchReader } from "./batch-reader.ts";
import type { ByteSource } from "./byte-source.ts";
import { createBatchChecker } from "./check-batch.ts";
import type { Codecs, Sha256 } from "./codecs.ts";
import { planEngineForm } from "./engine-form.ts";
import { withGeoMetadata } from "./geoarrow-metadata.ts";
import { keepNullPromise } from "./null-promise.ts";
import { readSource } from "./read-source.ts";
import { rebatch } from "./rebatch.ts";
import type { SentSchema } from "./schema.ts";
import type { SourceEvent } from "./source-events.ts";
import type { ArrayData, CheckedBatch, Field, RawBatch } from "./types.ts";

export interface OpenOptions {
	codecs: Codecs;
	limits: Limits;
	/** A stream without its end-of-stream marker is `truncated_stream`. */
	requireEos: boolean;
	/** Ends reading, also that of `batches`. */
	signal: AbortSignal;
}

/** Reads until the first schema. Abort the signal when `batches` isn't read to its end. */
export async function openArrow(
	sources: readonly ByteSource[],
	options: OpenOptions,
): Promise<BatchReader> {
	const load = new ArrowLoad(sources, options);
	await load.open();
	return load;
}

/** What one stream's batches go through. */
interface StreamPlan {
	fields: readonly Field[];
	check(raw: RawBatch): void;
	convertPieces(raw: RawBatch, maxRows: number): Generator<CheckedBatch>;
	warnings: readonly Warning[];
	/** For each column of the first stream its position in this one; null: the same. */
	order: number[] | null;
}

class ArrowLoad implements BatchReader {
	sentFields: readonly Field[] = [];
	engineFields: readonly Field[] = [];
	readonly #options: OpenOptions;
	readonly #events: AsyncGenerator<SourceEvent>;
	/** Aborted by the opener's signal and by that of `batches`. */
	readonly #stop = new AbortController();
	readonly #plans: StreamPlan[] = [];
	readonly #sourceWarnings: Warning[] = [];
	readonly #sha256: Sha256;
	#digest: string | null = null;
	#bytes = 0;
	#rows = 0;
	#batches = 0;

	constructor(sources: readonly ByteSource[], options: OpenOptions) {
		this.#options = options;
		this.#sha256 = options.codecs.createSha256();
		this.#stopWith(options.signal);
		this.#events = this.#readAll(sources);
	}

	async open(): Promise<void> {
		const first = await this.#events.next();
		if (first.done) {
			throw new IngestError("not_arrow", "there is nothing to load: no bytes were given");
		}
		// Every source begins with a schema, or throws.
		if (first.value.kind === "schema") this.#plan(first.value.schema);
	}

	batches(signal: AbortSignal): AsyncIterable<CheckedBatch> {
		this.#stopWith(signal);
		return rebatch(this.engineFields, this.#checkedBatches(), this.#options.codecs, {
			minRows: minScanRows,
			maxRows: maxScanRows,
		});
	}

	/** One for each batch as sent, or its pieces. */
	async *#checkedBatches(): AsyncGenerator<CheckedBatch> {
		try {
			for await (const event of this.#events) {
				this.#stop.signal.throwIfAborted();
				if (event.kind === "schema") this.#plan(event.schema);
				else yield* this.#take(event.batch.length, event.batch.columns);
			}
		} finally {
			await this.#events.return(undefined);
		}
	}

	counts(): StreamedCounts {
		this.#digest ??= this.#sha256.digestHex();
		return {
			rows_streamed: this.#rows,
			batches: this.#batches,
			bytes: this.#bytes,
			repr_digest: `sha-256=:${base64(this.#digest)}:`,
		};
	}

	warnings(): Warning[] {
		const all = [...this.#plans.flatMap(({ warnings }) => warnings), ...this.#sourceWarnings];
		const seen = new Set<string>();
		return all.filter((warning) => {
			const key = JSON.stringify([warning.code, warning.column, warning.detail]);
			return !seen.has(key) && seen.add(key);
		});
	}

	async *#readAll(sources: readonly ByteSource[]): AsyncGenerator<SourceEvent> {
		const { codecs, limits, requireEos } = this.#options;
		for (const source of sources) {
			try {
				yield* readSource(source, {
					codecs,
					limits,
					requireEos,
					signal: this.#stop.signal,
					onChunk: (chunk) => this.#count(chunk),
					warn: (warning) => this.#sourceWarnings.push(warning),
				});
			} catch (error) {
				throw this.#placed(error);
			}
		}
	}

	#count(chunk: Uint8Array): void {
		this.#stop.signal.throwIfAborted();
		this.#bytes += chunk.byteLength;
		const { maxUploadBytes } = this.#options.limits;
		if (this.#bytes > maxUploadBytes) {
			throw new IngestError("too_large", `the load is over the limit of ${maxUploadBytes} bytes`, {
				extra: { limit: maxUploadBytes },
			});
		}
		this.#sha256.update(chunk);
	}

	#plan(sent: SentSchema): void {
		const { codecs, limits } = this.#options;
		const schema = withGeoMetadata(sent);
		const form = planEngineForm(schema, codecs, limits.maxBatchBytes);
		const first = this.#plans.length === 0;
		const order = first ? null : this.#align(schema, form.fields);
		if (first) {
			this.sentFields = schema.fields;
			this.engineFields = form.fields;
		}
		this.#plans.push({
			fields: schema.fields,
			check: createBatchChecker(schema, limits, codecs),
			convertPieces: form.convertPieces,
			warnings: form.warnings,
			order,
		});
	}

	/** A later stream must come to the very columns that the engine was told of. */
	#align(schema: SentSchema, engineFields: readonly Field[]): number[] | null {
		const streamNumber = this.#plans.length + 1;
		const order = alignStream(this.sentFields, schema.fields, streamNumber);
		this.engineFields.forEach((field, i) => {
			const later = engineFields[order[i]!]!;
			if (engineKey(field) !== engineKey(later)) {
				throw mismatch(this.sentFields[i]!, schema.fields[order[i]!]!, streamNumber);
			}
		});
		return order.every((position, i) => position === i) ? null : order;
	}

	*#take(length: number, sent: ArrayData[]): Generator<CheckedBatch> {
		const plan = this.#plans.at(-1)!;
		const raw: RawBatch = { length, columns: sent, index: this.#batches };
		plan.check(raw);
		let firstRow = 0;
		for (const batch of plan.convertPieces(raw, maxScanRows)) {
			// Columns change places and nothing else: what was checked stays so.
			const order = plan.order ?? batch.columns.map((_, i) => i);
			const columns = order.map((position) => batch.columns[position]!);
			if (plan !== this.#plans[0]) this.#keepNullPromises(columns, { batch: raw.index, firstRow });
			firstRow += batch.length;
			this.#rows += batch.length;
			yield plan.order === null ? batch : { ...batch, columns };
		}
		this.#batches++;
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

	/** Faults in a batch's bytes say which batch it is, as those in its values do. */
	#placed(error: unknown): unknown {
		if (!(error instanceof IngestError) || error.place.batch !== undefined) return error;
		if (this.#plans.length === 0 || !batchCodes.has(error.code)) return error;
		return new IngestError(error.code, error.message, {
			...error.place,
			batch: this.#batches,
			extra: error.extra,
			cause: error.cause,
		});
	}

	#stopWith(signal: AbortSignal): void {
		if (signal.aborted) this.#stop.abort(signal.reason);
		else signal.addEventListener("abort", () => this.#stop.abort(signal.reason), { once: true });
	}
}

const batchCodes: ReadonlySet<string> = new Set([
	"invalid_arrow",
	"truncated_stream",
	"unsupported_codec",
	"unsupported_type",
]);

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

function base64(hex: string): string {
	const bytes = hex.match(/../g)!.map((pair) => Number.parseInt(pair, 16));
	return btoa(String.fromCharCode(...bytes));
}
