/**
 * A request's body as bytes that can be trusted to be what was announced: what
 * breaks off, ends early, stops coming or only drips errors with `truncated_stream`
 * before it could be taken for whole; what is too long for us is refused before it is read.
 */
import { type Clock, noLongerNeeded } from "../clock.ts";
import { IngestError } from "../errors.ts";
import { idleBodyMs, minBytesInIdleMs } from "../limits.ts";
import { readContentLength } from "./read-headers.ts";

export interface GuardedBody {
	stream: ReadableStream<Uint8Array>;
	/** Announced by Content-Length; null: chunked. */
	size: number | null;
}

export interface GuardOptions {
	clock: Clock;
	/** Names the body in messages. */
	what: string;
	maxBytes: number;
	/** The body, asked for when it is read. Absent: `request.body`. */
	openBody?: (() => ReadableStream<Uint8Array> | null) | undefined;
	/** A caller that sends nothing for so long, or next to nothing, is given up. */
	idleMs?: number;
}

/** `too_large` where more than `maxBytes` are announced. Counting what comes is the reader's. */
export function guardBody(request: Request, options: GuardOptions): GuardedBody {
	const { what, maxBytes } = options;
	const size = readContentLength(request.headers);
	if (size !== null && size > maxBytes) {
		throw new IngestError("too_large", `${what} has ${size} bytes, ${maxBytes} are taken`, {
			extra: { limit_bytes: maxBytes },
		});
	}
	// Not touched before it is read: a runtime can drain a body that nobody holds, and
	// who is refused early hears the answer and keeps the connection.
	const { openBody = () => request.body } = options;
	const open = () => openBody()?.getReader() ?? null;
	return { stream: guarded(open, size, options), size };
}

function guarded(
	open: () => ReadableStreamDefaultReader<Uint8Array> | null,
	size: number | null,
	{ clock, what, idleMs = idleBodyMs }: GuardOptions,
): ReadableStream<Uint8Array> {
	let reader: ReadableStreamDefaultReader<Uint8Array> | null | undefined;
	const watch = new SlowWatch(clock, idleMs);
	let received = 0;
	const cut = (detail: string, cause?: unknown) =>
		new IngestError("truncated_stream", `${what}: ${detail}`, { cause });
	return new ReadableStream<Uint8Array>(
		{
			async pull(controller) {
				try {
					if (reader === undefined) reader = open();
					const { value, done } = reader
						? await watch.next(reader.read())
						: { value: undefined, done: true };
					if (value !== undefined) {
						received += value.length;
						controller.enqueue(value);
					}
					if (!done) return;
					watch.stop();
					if (size !== null && received !== size) {
						throw cut(`Content-Length announces ${size} bytes, ${received} came`);
					}
					controller.close();
				} catch (cause) {
					watch.stop();
					reader?.cancel(cause).catch(() => {});
					if (cause instanceof IngestError) throw cause;
					if (cause instanceof TooSlow)
						throw cut(`${cause.came} bytes came in ${idleMs} ms, after ${received} in all`);
					throw cut(`the body broke off after ${received} bytes`, cause);
				}
			},
			cancel(reason) {
				watch.stop();
				return reader?.cancel(reason);
			},
		},
		{ highWaterMark: 0 },
	);
}

/**
 * Gives up who sends nothing for `idleMs`, and who sends less than `minBytesInIdleMs` in
 * so much waiting: a byte now and then keeps no connection. One timer a body, not one
 * a chunk; only time spent waiting for the caller counts.
 */
class SlowWatch {
	readonly #over = new AbortController();
	readonly #clock: Clock;
	readonly #idleMs: number;
	#waitingSince: number | null = null;
	/** Waited for, and what came meanwhile, since enough came last. */
	#waitedMs = 0;
	#came = 0;
	#giveUp: (reason: unknown) => void = () => {};
	#started = false;

	constructor(clock: Clock, idleMs: number) {
		this.#clock = clock;
		this.#idleMs = idleMs;
	}

	next(read: Promise<Chunk>): Promise<Chunk> {
		if (!this.#started) this.#run();
		const since = this.#clock.now();
		this.#waitingSince = since;
		return new Promise((resolve, reject) => {
			this.#giveUp = reject;
			read
				.then((chunk) => {
					this.#count(this.#clock.now() - since, chunk.value?.length ?? 0);
					resolve(chunk);
				}, reject)
				.finally(() => {
					this.#waitingSince = null;
				});
		});
	}

	#count(ms: number, bytes: number): void {
		this.#waitedMs += ms;
		this.#came += bytes;
		if (this.#came < minBytesInIdleMs) return;
		this.#waitedMs = 0;
		this.#came = 0;
	}

	stop(): void {
		this.#over.abort(noLongerNeeded);
	}

	async #run(): Promise<void> {
		this.#started = true;
		const { signal } = this.#over;
		while (!signal.aborted) {
			const since = this.#waitingSince;
			const waiting = since === null ? 0 : this.#clock.now() - since;
			const left = this.#idleMs - this.#waitedMs - waiting;
			if (left <= 0 && since !== null) return this.#giveUp(new TooSlow(this.#came));
			await this.#clock.sleep(Math.max(left, restMs), signal).catch(() => {});
		}
	}
}

type Chunk = ReadableStreamReadResult<Uint8Array>;

class TooSlow extends Error {
	readonly came: number;
	constructor(came: number) {
		super("too slow");
		this.came = came;
	}
}

/** Between two looks at a caller who isn't waited for just now. */
const restMs = 1_000;
