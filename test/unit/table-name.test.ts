import { describe, expect, test } from "vitest";
import type { IngestError } from "../../src/errors.ts";
import {
	assertWritable,
	formatTableName,
	parseTableName,
	sameName,
	sameTable,
} from "../../src/table-name.ts";

const codeOf = (work: () => unknown): string => {
	try {
		work();
	} catch (error) {
		return (error as IngestError).code;
	}
	return "none";
};

describe("table names", () => {
	test.each([
		["events", "main", "events"],
		["raw.events", "raw", "events"],
		["raw.events.2026", "raw", "events.2026"],
		['"a.b"', "main", "a.b"],
		['"a.b".c', "a.b", "c"],
		['a."b.c"', "a", "b.c"],
		['"say ""hi"""', "main", 'say "hi"'],
		['half"quote', "main", 'half"quote'],
		["'); DROP TABLE t;--", "main", "'); DROP TABLE t;--"],
		["create", "main", "create"],
		["a b\n🦆", "main", "a b\n🦆"],
	])("%j is schema %j, table %j, and comes back from its formatted form", (text, schema, table) => {
		expect(parseTableName(text)).toEqual({ schema, table });
		expect(parseTableName(formatTableName({ schema, table }))).toEqual({ schema, table });
	});

	test.each([
		"",
		".",
		"a.",
		".a",
		'"',
		'""',
		'"a"b',
		'a."b"c',
		'a."b".c',
		"a\0b",
		"\ud800",
		"x".repeat(256),
		"ü".repeat(128),
	])("%j is bad_request", (text) => {
		expect(codeOf(() => parseTableName(text))).toBe("bad_request");
	});

	test("a plain name is formatted with its schema and without quotes", () => {
		expect(formatTableName({ schema: "main", table: "my events" })).toBe("main.my events");
		expect(formatTableName({ schema: "a.b", table: 'c"d' })).toBe('"a.b"."c""d"');
	});

	test("names compare without regard to ASCII case, and with regard to every other letter's", () => {
		expect(sameName("Events", "eVENTS")).toBe(true);
		expect(sameName("Ä", "ä")).toBe(false);
		expect(sameName("\u212a", "k")).toBe(false);
		expect(sameTable({ schema: "A", table: "b" }, { schema: "a", table: "B" })).toBe(true);
	});

	test.each(["_duckdock", "_DuckDock", "INFORMATION_SCHEMA", "pg_catalog", "Temp"])(
		"schema %s is forbidden_table",
		(schema) => {
			expect(codeOf(() => assertWritable({ schema, table: "t" }))).toBe("forbidden_table");
		},
	);

	test("any other schema may be written", () => {
		expect(codeOf(() => assertWritable({ schema: "main", table: "_duckdock" }))).toBe("none");
	});
});
