/**
 * A request's body as bytes that can be trusted to be what was announced: what
 * breaks off, ends early or stops coming errors with `truncated_stream` before it
 * could be taken for whole; what is too long for us is refused before it is read.
 */
import { type Clock, noLongerNeeded } from "../clock.ts";
import { IngestError } from "../errors.ts";
import { idleBodyMs } from "../limits.ts";
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
	/** The runtime's own way to read a body, where it has a better one. */
	bodyOf?: ((request: Request) => ReadableStream<Uint8Array> | null) | undefined;
	/** A caller that sends nothing for so long is given up. */
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
	const open = () => (options.bodyOf ? options.bodyOf(request) : request.body)?.getReader() ?? null;
	return { stream: guarded(open, size, options), size };
}

function guarded(
	open: () => ReadableStreamDefaultReader<Uint8Array> | null,
	size: number | null,
	{ clock, what, idleMs = idleBodyMs }: GuardOptions,
): ReadableStream<Uint8Array> {
	let reader: ReadableStreamDefaultReader<Uint8Array> | null | undefined;
	const watch = new IdleWatch(clock, idleMs);
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
					if (cause === watch.idle)
						throw cut(`nothing came for ${idleMs} ms after ${received} bytes`);
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

/** One timer a body, not one a chunk; only time spent waiting for the caller counts. */
class IdleWatch {
	readonly idle = new Error("idle");
	readonly #over = new AbortController();
	readonly #clock: Clock;
	readonly #idleMs: number;
	#waitingSince: number | null = null;
	#giveUp: (reason: unknown) => void = () => {};
	#started = false;

	constructor(clock: Clock, idleMs: number) {
		this.#clock = clock;
		this.#idleMs = idleMs;
	}

	next<T>(read: Promise<T>): Promise<T> {
		if (!this.#started) this.#run();
		this.#waitingSince = this.#clock.now();
		return new Promise((resolve, reject) => {
			this.#giveUp = reject;
			read.then(resolve, reject).finally(() => {
				this.#waitingSince = null;
			});
		});
	}

	stop(): void {
		this.#over.abort(noLongerNeeded);
	}

	async #run(): Promise<void> {
		this.#started = true;
		const { signal } = this.#over;
		while (!signal.aborted) {
			const since = this.#waitingSince;
			const left = since === null ? this.#idleMs : since + this.#idleMs - this.#clock.now();
			if (left <= 0) return this.#giveUp(this.idle);
			await this.#clock.sleep(left, signal).catch(() => {});
		}
	}
}
