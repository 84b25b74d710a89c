/** Ids of uploads and so of loads: ULIDs, ascending within a process even inside one millisecond. */
import { monotonicFactory } from "ulid";
import type { Clock } from "../clock.ts";

export function createIdMaker(clock: Clock): () => string {
	const next = monotonicFactory(createRandom());
	return () => next(clock.now());
}

/** Numbers from 0 to 1 of the runtime's cryptographic generator, which is asked once for many of them. */
function createRandom(): () => number {
	const bytes = new Uint8Array(256);
	let at = bytes.length;
	return () => {
		if (at === bytes.length) {
			crypto.getRandomValues(bytes);
			at = 0;
		}
		return bytes[at++]! / 256;
	};
}
