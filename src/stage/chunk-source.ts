/**
 * A body's chunks, read ahead by one so that its end is known before a part is begun.
 *
 * A body that breaks off errors what reads it. With `keepsWhatCame` it ends there
 * instead, and `brokenOff` tells why; `end` breaks it off from here.
 */
import { asIngestError, type IngestError } from "../errors.ts";
import { readChunk } from "./measure-body.ts";

export class ChunkSource {
	/** Bytes read from the body so far. */
	total = 0;
	/** Why the body ended before its end; only with `keepsWhatCame`. */
	brokenOff: IngestError | null = null;
	readonly #keepsWhatCame: boolean;
	readonly #reader: ReadableStreamDefaultReader<Uint8Array>;
	readonly #onBytes: (total: number) => void;
	#ahead: Uint8Array[] = [];
	#ended = false;
	#ending: { reason: IngestError; keeps: boolean } | null = null;

	/** What `onBytes` throws (told the bytes so far, before the chunk passes) errors the reader. */
	constructor(
		body: ReadableStream<Uint8Array>,
		onBytes: (total: number) => void,
		options: { keepsWhatCame?: boolean } = {},
	) {
		this.#reader = body.getReader();
		this.#onBytes = onBytes;
		this.#keepsWhatCame = options.keepsWhatCame ?? false;
	}

	async hasMore(): Promise<boolean> {
		while (this.#ahead.length === 0 && !this.#ended) await this.#fill();
		return this.#ahead.length > 0;
	}

	/** No more than that many bytes are left. */
	async endsWithin(bytes: number): Promise<boolean> {
		const ahead = () => this.#ahead.reduce((sum, chunk) => sum + chunk.length, 0);
		while (!this.#ended && ahead() <= bytes) await this.#fill();
		return this.#ended && ahead() <= bytes;
	}

	/** The next `limit` bytes as a stream; `onRead` once the source stands behind them. */
	cut(
		limit: number,
		whole: { update(bytes: Uint8Array): void | Promise<void> } | null,
		onRead: () => void,
	): ReadableStream<Uint8Array> {
		let left = limit;
		return new ReadableStream<Uint8Array>(
			{
				pull: async (controller) => {
					if (left === 0 || !(await this.hasMore())) {
						onRead();
						controller.close();
						return;
					}
					let chunk = this.#ahead.shift()!;
					if (chunk.length > left) {
						this.#ahead.unshift(chunk.subarray(left));
						chunk = chunk.subarray(0, left);
					}
					left -= chunk.length;
					await whole?.update(chunk);
					controller.enqueue(chunk);
				},
			},
			{ highWaterMark: 0 },
		);
	}

	cancel(reason: unknown): void {
		this.#reader.cancel(reason).catch(() => {});
	}

	/** The body is read no further: what came is kept, or `reason` errors who reads. */
	end(reason: IngestError, keeps: boolean): void {
		this.#ending ??= { reason, keeps };
		this.cancel(reason);
	}

	async #fill(): Promise<void> {
		const value = await this.#read();
		if (value === undefined) {
			this.#ended = true;
		} else if (value.length > 0) {
			this.total += value.length;
			this.#onBytes(this.total);
			this.#ahead.push(value);
		}
	}

	async #read(): Promise<Uint8Array | undefined> {
		let value: Uint8Array | undefined;
		try {
			({ value } = await readChunk(this.#reader, this.total));
		} catch (error) {
			if (!this.#keepsWhatCame) throw error;
			this.brokenOff = asIngestError(error);
		}
		// A reader that was cancelled says it is done.
		if (value !== undefined || this.#ending === null) return value;
		if (!this.#ending.keeps) throw this.#ending.reason;
		this.brokenOff ??= this.#ending.reason;
		return undefined;
	}
}
