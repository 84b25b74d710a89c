/** The first bytes of a body, looked at before the rest is asked for; nothing of it is lost. */
import type { AppDeps } from "./app-deps.ts";

/** The body as it came, or what its first bytes tell that the load would end with. `whole`: the body is all the Arrow there is. */
export async function refuseByHead(
	{ refuseEarly }: AppDeps,
	body: ReadableStream<Uint8Array>,
	whole: boolean,
): Promise<ReadableStream<Uint8Array>> {
	if (!refuseEarly) return body;
	const { head, complete, stream } = await peekBody(body, refuseEarly.bytes);
	try {
		await refuseEarly.look(head, complete && whole);
		return stream;
	} catch (error) {
		stream.cancel(error).catch(() => {});
		throw error;
	}
}

export interface PeekedBody {
	/** Up to the bytes asked for. */
	head: Uint8Array;
	/** The head is all there is. */
	complete: boolean;
	/** The whole body, head first. */
	stream: ReadableStream<Uint8Array>;
}

export async function peekBody(
	body: ReadableStream<Uint8Array>,
	bytes: number,
): Promise<PeekedBody> {
	const reader = body.getReader();
	const chunks: Uint8Array[] = [];
	let size = 0;
	let complete = false;
	while (size < bytes && !complete) {
		const { value, done } = await reader.read();
		complete = done;
		if (value === undefined) continue;
		chunks.push(value);
		size += value.length;
	}
	const head = new Uint8Array(size);
	let at = 0;
	for (const chunk of chunks) {
		head.set(chunk, at);
		at += chunk.length;
	}
	const stream = new ReadableStream<Uint8Array>(
		{
			async pull(controller) {
				const chunk = chunks.shift();
				if (chunk !== undefined) return controller.enqueue(chunk);
				const { value, done } = await reader.read();
				if (done) controller.close();
				else controller.enqueue(value);
			},
			cancel: (reason) => reader.cancel(reason),
		},
		{ highWaterMark: 0 },
	);
	return { head, complete, stream };
}
