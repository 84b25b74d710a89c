/**
 * A request's body as bytes that can be trusted to be what was announced: what
 * breaks off or ends early errors with `truncated_stream` before it could be
 * taken for whole; what is too long for us is refused before it is read.
 */
import { IngestError } from "../errors.ts";
import { readContentLength } from "./read-headers.ts";

export interface GuardedBody {
	stream: ReadableStream<Uint8Array>;
	/** Announced by Content-Length; null: chunked. */
	size: number | null;
}

/** `too_large` where more than `maxBytes` are announced; `what` names the body in messages. */
export function guardBody(request: Request, what: string, maxBytes: number): GuardedBody {
	const size = readContentLength(request.headers);
	if (size !== null && size > maxBytes) {
		throw new IngestError("too_large", `${what} has ${size} bytes, ${maxBytes} are taken`, {
			extra: { limit_bytes: maxBytes },
		});
	}
	const body = request.body ?? emptyStream();
	return { stream: size === null ? body : ofLength(body, size), size };
}

function ofLength(body: ReadableStream<Uint8Array>, size: number): ReadableStream<Uint8Array> {
	const reader = body.getReader();
	let received = 0;
	return new ReadableStream<Uint8Array>(
		{
			async pull(controller) {
				const { value, done } = await reader.read().catch((cause) => {
					throw cut(size, received, cause);
				});
				if (value !== undefined) {
					received += value.length;
					controller.enqueue(value);
				}
				if (done && received !== size) throw cut(size, received, undefined);
				if (done) controller.close();
			},
			cancel: (reason) => reader.cancel(reason),
		},
		{ highWaterMark: 0 },
	);
}

const cut = (size: number, received: number, cause: unknown) =>
	new IngestError(
		"truncated_stream",
		`Content-Length announces ${size} bytes, ${received} came before the body ended`,
		{ cause },
	);

function emptyStream(): ReadableStream<Uint8Array> {
	return new ReadableStream({ start: (controller) => controller.close() });
}
