/**
 * For `AppDeps.bodyOf` on Node, with @hono/node-server's bindings as `env`: a request's body in the
 * chunks in which it came. `request.body` is Node's `Readable.toWeb`, which copies each of them.
 *
 * One chunk is read ahead. What breaks off errors. The rest of a body that is cancelled is the server's
 * to drain, so that its caller hears the answer.
 */

/** Of `http.IncomingMessage`. */
interface Incoming {
	readonly readableEnded: boolean;
	readonly destroyed: boolean;
	readonly errored: Error | null;
	on(event: "data", listener: (chunk: Uint8Array) => void): unknown;
	on(event: "end" | "close", listener: () => void): unknown;
	on(event: "error", listener: (error: Error) => void): unknown;
	pause(): unknown;
	resume(): unknown;
}

/** Null where there is no such request: then `request.body` is the body. */
export function incomingBody(env: unknown): ReadableStream<Uint8Array> | null {
	const incoming = (env as { incoming?: Incoming } | undefined)?.incoming;
	if (typeof incoming?.on !== "function") return null;
	const brokenOff = () => incoming.errored ?? new Error("the connection was closed");
	let over = false;
	return new ReadableStream<Uint8Array>({
		start(controller) {
			const end = (how: () => void) => {
				if (!over) how();
				over = true;
			};
			if (incoming.readableEnded) return end(() => controller.close());
			if (incoming.destroyed) return end(() => controller.error(brokenOff()));
			incoming.on("data", (chunk) => {
				if (over) return;
				controller.enqueue(chunk);
				if ((controller.desiredSize ?? 0) <= 0) incoming.pause();
			});
			incoming.on("end", () => end(() => controller.close()));
			incoming.on("error", (error) => end(() => controller.error(error)));
			incoming.on("close", () => end(() => controller.error(brokenOff())));
			incoming.pause();
		},
		pull() {
			incoming.resume();
		},
		cancel() {
			over = true;
			incoming.pause();
		},
	});
}
