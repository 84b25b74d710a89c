/** What orders the versions of one file under `drop/`, and which of two is older. */
import type { LoadSource } from "../flow.ts";

export type DropSource = Extract<LoadSource, { kind: "drop" }>;

/** By sequencer where both have one, else by LastModified; equal is not older. */
export function isOlder(a: DropSource, b: DropSource): boolean {
	if (a.sequencer !== null && b.sequencer !== null) {
		return compareSequencers(a.sequencer, b.sequencer) < 0;
	}
	return Date.parse(a.last_modified) < Date.parse(b.last_modified);
}

/**
 * Negative: `a` came before `b`. Hexadecimal of any length; a shorter one is as if
 * zeros stood before it.
 * https://docs.aws.amazon.com/AmazonS3/latest/userguide/notification-content-structure.html
 */
export function compareSequencers(a: string, b: string): number {
	const length = Math.max(a.length, b.length);
	const left = a.toLowerCase().padStart(length, "0");
	const right = b.toLowerCase().padStart(length, "0");
	return left < right ? -1 : left > right ? 1 : 0;
}
