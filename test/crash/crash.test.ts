/** A few of the kills of `npm run crash`; RECORD.md has a run of over 500. */
import { describe, expect, it } from "vitest";
import { runCrashes } from "./run.ts";

describe("processes that are killed while loads are open", () => {
	it("lose no row, double no row and show no half of a load", async () => {
		const result = await runCrashes({ kills: 5, loadsPerRound: 24 });
		expect(result.faults).toEqual([]);
		expect(result.kills.length).toBeGreaterThanOrEqual(5);
		expect(result.kills.every(({ open }) => open > 0)).toBe(true);
		expect(result.loads).toBeGreaterThanOrEqual(24);
	}, 600_000);
});
