/**
 * In: byte sources, one load. Out: a `BatchReader`: checked batches in the engine's form.
 *
 *   bytes > messages > RawBatch > check > engine form > first stream's order > merged and sliced
 *
 * Opening reads up to the first schema and no further. Everything is pulled: no step runs ahead
 * of the engine, so memory holds one message body and the window of `rebatch.ts`, and is used again.
 * Counts and the digest are of all bytes of all sources, taken as they come by.
 */

import { noLongerNeeded } from "../clock.ts";
import { IngestError } from "../errors.ts";
import type { StreamedCounts, Warning } from "../flow.ts";
import { type Limits, rowGroupRows } from "../limits.ts";
import type { BatchReader } from "./batch-reader.ts";
import type { ByteSource } from "./byte-source.ts";
import type { Codecs, Sha256 } from "./codecs.ts";
import { MemoryPool } from "./memory-pool.ts";
import { readSource } from "./read-source.ts";
import { rebatch } from "./rebatch.ts";
import type { SourceEvent } from "./source-events.ts";
import type { DecodedBatch, GatheredBatches } from "./stream-decoder.ts";
import { StreamPlans } from "./stream-plans.ts";
import type { CheckedBatch, Field } from "./types.ts";
import { WarningList } from "./warning-list.ts";

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

class ArrowLoad implements BatchReader {
	readonly #options: OpenOptions;
	readonly #events: AsyncGenerator<SourceEvent>;
	/** Aborted by the opener's signal and by that of `batches`. */
	readonly #stop = new AbortController();
	/** Aborted when there is nothing left to stop. */
	readonly #ended = new AbortController();
	readonly #warnings = new WarningList();
	readonly #plans: StreamPlans;
	readonly #sha256: Sha256;
	readonly #pool: MemoryPool | null;
	#digest: string | null = null;
	#sourceName = "";
	#bytes = 0;
	#rows = 0;
	#batches = 0;

	constructor(sources: readonly ByteSource[], options: OpenOptions) {
		this.#options = options;
		this.#sha256 = options.codecs.createSha256();
		this.#pool = MemoryPool.of(options.codecs);
		this.#plans = new StreamPlans(options.limits, options.codecs, this.#warnings);
		this.#stopWith(options.signal);
		this.#events = this.#readAll(sources);
	}

	get sentFields(): readonly Field[] {
		return this.#plans.sentFields;
	}

	get engineFields(): readonly Field[] {
		return this.#plans.engineFields;
	}

	async open(): Promise<void> {
		const first = await this.#events.next();
		if (first.done) {
			throw new IngestError("not_arrow", "there is nothing to load: no bytes were given");
		}
		// Every source begins with a schema, or throws.
		if (first.value.kind === "schema") this.#plans.begin(first.value.schema, this.#sourceName);
	}

	batches(signal: AbortSignal): AsyncIterable<CheckedBatch> {
		this.#stopWith(signal);
		return rebatch(this.engineFields, this.#checkedBatches(), this.#options.codecs, {
			rows: rowGroupRows,
			pool: this.#pool,
		});
	}

	/** One for each batch as sent, or its pieces. */
	async *#checkedBatches(): AsyncGenerator<CheckedBatch> {
		try {
			for await (const event of this.#events) {
				this.#stop.signal.throwIfAborted();
				if (event.kind === "schema") this.#plans.begin(event.schema, this.#sourceName);
				else if (event.kind === "batch") yield* this.#checkedBatch(event.batch);
				else yield* this.#checkedTogether(event.batches);
			}
		} finally {
			this.#ended.abort(noLongerNeeded);
			await this.#events.return(undefined);
			this.#pool?.close();
		}
	}

	*#checkedBatch(batch: DecodedBatch): Generator<CheckedBatch> {
		yield* this.#plans.convert({ ...batch, index: this.#batches });
		this.#batches++;
		this.#rows += batch.length;
	}

	/** All at once, or where something is wrong with one of them, each by itself: that names batch and row. */
	*#checkedTogether(batches: GatheredBatches): Generator<CheckedBatch> {
		const { length, columns, memory, count } = batches;
		let converted: CheckedBatch[];
		try {
			converted = [...this.#plans.convert({ length, columns, memory, index: this.#batches })];
		} catch (error) {
			if (!(error instanceof IngestError)) throw error;
			for (const batch of batches.apart()) yield* this.#checkedBatch(batch);
			return;
		}
		yield* converted;
		this.#batches += count;
		this.#rows += length;
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
		this.#plans.collectWarnings();
		return this.#warnings.all();
	}

	async *#readAll(sources: readonly ByteSource[]): AsyncGenerator<SourceEvent> {
		const { codecs, limits, requireEos } = this.#options;
		for (const source of sources) {
			this.#sourceName = source.name;
			try {
				yield* readSource(source, {
					codecs,
					pool: this.#pool,
					limits,
					requireEos,
					signal: this.#stop.signal,
					onChunk: (chunk) => this.#count(chunk),
					warn: (warning) => this.#warnings.add(warning),
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

	/** Faults in a batch's bytes say which batch it is, as those in its values do. */
	#placed(error: unknown): unknown {
		if (!(error instanceof IngestError) || error.place.batch !== undefined) return error;
		if (this.sentFields.length === 0 || !batchCodes.has(error.code)) return error;
		return new IngestError(error.code, error.message, {
			...error.place,
			batch: this.#batches,
			extra: error.extra,
			cause: error.cause,
		});
	}

	#stopWith(signal: AbortSignal): void {
		if (signal.aborted) this.#stop.abort(signal.reason);
		const onAbort = () => this.#stop.abort(signal.reason);
		signal.addEventListener("abort", onAbort, { signal: this.#ended.signal });
	}
}

const batchCodes: ReadonlySet<string> = new Set([
	"invalid_arrow",
	"too_large",
	"truncated_stream",
	"unsupported_codec",
	"unsupported_type",
]);

function base64(hex: string): string {
	const bytes = hex.match(/../g)!.map((pair) => Number.parseInt(pair, 16));
	return btoa(String.fromCharCode(...bytes));
}
