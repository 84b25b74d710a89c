import { expect, test } from "vitest";
import { parseTableName } from "../../../src/table-name.ts";
import {
	holdsTable,
	parseTablePattern,
	splitTablePatterns,
} from "../../../src/tenant/table-patterns.ts";

test.each([
	["events", "events", true],
	["events", "EVENTS", true],
	["events", "main.events", true],
	["events", "raw.events", false],
	["events", "events2", false],
	["raw.*", "raw.x", true],
	["raw.*", "RAW.x.y", true],
	["raw.*", "raws.x", false],
	["raw.*", "raw", false],
	["*", "anything", true],
	["*", "raw.x", false],
	["*.*", "raw.x", true],
	["r*w.a*b*c", "row.a1b2c", true],
	["r*w.a*b*c", "row.ab", false],
	["a*a", "a", false],
	["a*a", "aa", true],
	["a*b*b", "ab", false],
	['"a.b"', '"a.b"', true],
	['"a.b"', "a.b", false],
	['"a*"', "ab", false],
	['"a*"', '"a*"', true],
	['"r*".x*', '"r*".xy', true],
	['"r*".x*', "raw.xy", false],
	["\u0130d", "id", false], // İ is not I
	["\u212a", "k", false], // the Kelvin sign is not K
])("pattern %s holds %s: %s", (pattern, table, holds) => {
	expect(holdsTable([parseTablePattern(pattern)], parseTableName(table))).toBe(holds);
});

test("a key of no pattern holds nothing", () => {
	expect(holdsTable([], { schema: "main", table: "x" })).toBe(false);
});

test("a list is split at commas outside quotes", () => {
	expect(splitTablePatterns('events, raw.*,"a,b"')).toEqual(["events", "raw.*", '"a,b"']);
	expect(() => splitTablePatterns("a,,b")).toThrow(
		expect.objectContaining({ code: "bad_request" }),
	);
});

test("matching ends for patterns that would keep a backtracking matcher busy for years", () => {
	const pattern = parseTablePattern("*a".repeat(100));
	expect(holdsTable([pattern], { schema: "main", table: `${"a".repeat(250)}b` })).toBe(false);
});
