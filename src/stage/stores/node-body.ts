/**
 * A body that a Node client receives, as a stored object has it: put where it is wanted.
 *
 * As a web stream each 64 KiB would be copied, queued and waited for by itself. Here what the socket has
 * goes into the reader's memory in one turn of the event loop, and a chunk's own is let go once copied.
 * Measured on parts of 8 MiB: 0.8 s of processor time a gigabyte where there were 1.4.
 */

import type { Readable } from "node:stream";
import type { StoredObject } from "../object-store.ts";

/** Of the web stream, for readers that want one. */
const chunkBytes = 64 * 1024;

/** Nothing is read before it is asked for, and then no further ahead than a chunk. */
export function nodeBody(readable: Readable): Required<Pick<StoredObject, "body" | "readInto">> {
	/** Came, and is not taken yet. */
	const waiting: Uint8Array<ArrayBuffer>[] = [];
	let asked: Asked | null = null;
	let answersSoon = false;
	let over: { error?: unknown } | null = null;
	let listens = false;

	function answer(): void {
		answersSoon = false;
		if (asked === null) return;
		const { filled, resolve, reject } = asked;
		if (filled === 0 && over === null) return;
		asked = null;
		if (filled === 0 && over !== null && "error" in over) reject(over.error);
		else resolve(filled);
	}

	function work(): void {
		while (asked !== null && waiting.length > 0 && asked.filled < asked.target.length) {
			const chunk = waiting.shift()!;
			const piece = chunk.subarray(0, asked.target.length - asked.filled);
			asked.target.set(piece, asked.filled);
			asked.filled += piece.length;
			if (piece.length < chunk.length) waiting.unshift(chunk.subarray(piece.length));
			else if (chunk.byteLength === chunk.buffer.byteLength) chunk.buffer.transfer(0);
		}
		if (waiting.length > 0) readable.pause();
		else readable.resume();
		if (asked === null) return;
		if (asked.filled === asked.target.length || over !== null) answer();
		else if (asked.filled > 0 && !answersSoon) {
			answersSoon = true;
			setImmediate(answer);
		}
	}

	function end(how: { error?: unknown }): void {
		over ??= how;
		work();
	}

	function listen(): void {
		listens = true;
		readable.on("data", (chunk: Uint8Array<ArrayBuffer>) => {
			waiting.push(chunk);
			work();
		});
		readable.on("end", () => end({}));
		readable.on("error", (error) => end({ error }));
		readable.on("close", () => end({ error: closed() }));
	}

	const readInto = (target: Uint8Array) =>
		new Promise<number>((resolve, reject) => {
			asked = { target, filled: 0, resolve, reject };
			if (!listens) listen();
			work();
		});
	let body: ReadableStream<Uint8Array> | null = null;
	return {
		readInto,
		get body() {
			body ??= new ReadableStream<Uint8Array>(
				{
					async pull(controller) {
						const chunk = new Uint8Array(chunkBytes);
						const count = await readInto(chunk);
						if (count === 0) controller.close();
						else controller.enqueue(chunk.subarray(0, count));
					},
					cancel: () => void readable.destroy(),
				},
				{ highWaterMark: 0 },
			);
			return body;
		},
	};
}

interface Asked {
	target: Uint8Array;
	filled: number;
	resolve(count: number): void;
	reject(reason: unknown): void;
}

const closed = () => Object.assign(new Error("the connection was closed"), { code: "ECONNRESET" });
