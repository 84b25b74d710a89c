/** Ids of uploads and so of loads: ULIDs, ascending within a process even inside one millisecond. */
import { monotonicFactory } from "ulid";
import type { Clock } from "../clock.ts";

export function createIdMaker(clock: Clock): () => string {
	const next = monotonicFactory();
	return () => next(clock.now());
}
