import { giveBack } from "../lent-bytes.ts";

/**
 * A stream of any chunks as pieces of exactly `size` bytes, the last one shorter.
 * Each piece is memory of its own. Cancels the stream when it isn't read to its end.
 */
export async function* cutPieces(
	body: ReadableStream<Uint8Array>,
	size: number,
): AsyncGenerator<Uint8Array, undefined> {
	const reader = body.getReader();
	let piece: Uint8Array | null = null;
	let filled = 0;
	let ended = false;
	try {
		for (;;) {
			const { value, done } = await reader.read();
			if (done) break;
			for (let at = 0; at < value.length; ) {
				piece ??= new Uint8Array(size);
				const count = Math.min(value.length - at, size - filled);
				piece.set(value.subarray(at, at + count), filled);
				at += count;
				filled += count;
				if (filled < size) continue;
				yield piece;
				piece = null;
				filled = 0;
			}
			giveBack(value);
		}
		ended = true;
		if (piece !== null) yield piece.subarray(0, filled);
		return undefined;
	} catch (error) {
		ended = true;
		throw error;
	} finally {
		if (!ended) await reader.cancel().catch(() => {});
	}
}
