/**
 * A store that is waited for, but not for ever: what does not answer in time is
 * `store_unavailable`, and is tried again like a store that says so itself.
 *
 * Bounded is the silence, not the work: each chunk of a body, each page of a
 * listing has the whole time anew. A put of a stream takes as long as its sender.
 */

import { type Clock, noLongerNeeded } from "../clock.ts";
import { IngestError } from "../errors.ts";
import type { ObjectStore } from "./object-store.ts";

const defaultSilenceMs = 90_000;

export function patientStore(
	store: ObjectStore,
	clock: Clock,
	silenceMs = defaultSilenceMs,
): ObjectStore {
	function inTime<T>(what: string, work: Promise<T>): Promise<T> {
		return new Promise<T>((resolve, reject) => {
			const answered = new AbortController();
			clock.sleep(silenceMs, answered.signal).then(
				() => {
					const told = `the object store has not answered ${what} for ${silenceMs} ms`;
					reject(new IngestError("store_unavailable", told));
				},
				() => {},
			);
			work.then(
				(value) => {
					answered.abort(noLongerNeeded);
					resolve(value);
				},
				(error) => {
					answered.abort(noLongerNeeded);
					reject(error);
				},
			);
		});
	}

	function patientBody(key: string, body: ReadableStream<Uint8Array>): ReadableStream<Uint8Array> {
		const reader = body.getReader();
		return new ReadableStream<Uint8Array>(
			{
				async pull(controller) {
					try {
						const { value, done } = await inTime(`the bytes of ${key}`, reader.read());
						if (done) controller.close();
						else controller.enqueue(value);
					} catch (error) {
						reader.cancel(error).catch(() => {});
						throw error;
					}
				},
				cancel: (reason) => reader.cancel(reason),
			},
			{ highWaterMark: 0 },
		);
	}

	return {
		...store,
		put(key, body, options) {
			const work = store.put(key, body, options);
			return body instanceof Uint8Array ? inTime(`the put of ${key}`, work) : work;
		},
		async get(key, options) {
			const object = await inTime(`the get of ${key}`, store.get(key, options));
			if (object === null) return null;
			const readInto = object.readInto?.bind(object);
			let body: ReadableStream<Uint8Array> | null = null;
			return {
				info: object.info,
				...(object.bytes === undefined ? {} : { bytes: object.bytes }),
				// A stream is made for those who want one.
				get body() {
					body ??= patientBody(key, object.body);
					return body;
				},
				...(readInto === undefined
					? {}
					: {
							readInto: (target: Uint8Array) => inTime(`the bytes of ${key}`, readInto(target)),
						}),
			};
		},
		head: (key) => inTime(`the head of ${key}`, store.head(key)),
		delete: (key) => inTime(`the delete of ${key}`, store.delete(key)),
		async *list(prefix, options) {
			const pages = store.list(prefix, options)[Symbol.asyncIterator]();
			try {
				for (;;) {
					const { value, done } = await inTime(`the list of ${prefix}`, pages.next());
					if (done) return;
					yield value;
				}
			} finally {
				pages.return?.().catch(() => {});
			}
		},
	};
}
