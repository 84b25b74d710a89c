import { expect, it } from "vitest";
import { toDisplayBytes, toDisplayCount, toDisplayDuration } from "../../../src/cli/display.ts";

it("writes counts in threes", () => {
	expect([0, 7, 999, 1_000, 12_345, 1_234_567.4].map(toDisplayCount)).toEqual([
		"0",
		"7",
		"999",
		"1,000",
		"12,345",
		"1,234,567",
	]);
});

it("writes bytes in the unit that a person would take", () => {
	expect([0, 1023, 1024, 150 * 1024, 3 * 1024 ** 4].map(toDisplayBytes)).toEqual([
		"0 B",
		"1023 B",
		"1.0 KiB",
		"150 KiB",
		"3.0 TiB",
	]);
});

it("writes how long in at most two units", () => {
	expect([12, 1_500, 61_000, 3 * 3_600_000].map(toDisplayDuration)).toEqual([
		"12 ms",
		"1.5 s",
		"1 min 1 s",
		"3 h 0 min",
	]);
});
