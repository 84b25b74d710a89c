import { describe, expect, it } from "vitest";
import { compareSequencers, type DropSource, isOlder } from "../../../src/stage/drop-source.ts";

const source = (sequencer: string | null, last_modified: string): DropSource => ({
	kind: "drop",
	bucket: "b",
	key: "k",
	version: null,
	etag: "e",
	sequencer,
	last_modified,
});
const early = "2026-11-30T10:00:00.000Z";
const late = "2026-11-30T10:00:01.000Z";

describe("versions of a file", () => {
	it("have sequencers that compare as numbers, whatever their length and case", () => {
		expect(compareSequencers("ff", "100")).toBeLessThan(0);
		expect(compareSequencers("00FF", "ff")).toBe(0);
		expect(compareSequencers("0055AED6DCD90281E6", "0055AED6DCD90281E5")).toBeGreaterThan(0);
	});

	it("are ordered by sequencer first, and by time where one has none", () => {
		expect(isOlder(source("1", late), source("2", early))).toBe(true);
		expect(isOlder(source("2", early), source("1", late))).toBe(false);
		expect(isOlder(source(null, early), source("1", late))).toBe(true);
		expect(isOlder(source(null, early), source(null, early))).toBe(false);
	});
});
