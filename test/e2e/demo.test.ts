import { describe, expect, it } from "vitest";
import { runProcess } from "./world.ts";

describe("npm run demo", () => {
	it("prints a committed receipt and the rows of a query", async () => {
		const ran = await runProcess("npm", ["run", "demo"]);
		expect(ran.code, ran.stderr).toBe(0);
		// Whoever sees it for the first time sees no warning.
		expect(ran.stdout + ran.stderr).not.toMatch(/"level":"(warn|error)"/);
		const documents = ran.stdout
			.split("\n")
			.filter((line) => line.startsWith("{"))
			.map((line) => JSON.parse(line));
		const [receipt, ...rows] = documents;
		expect(receipt).toMatchObject({
			status: "committed",
			table: "main.sales",
			rows_inserted: 9_994,
			tenant: "demo",
		});
		expect(receipt.parts).toBeGreaterThanOrEqual(3);
		expect(rows.map((row) => row.Category).sort()).toEqual([
			"Furniture",
			"Office Supplies",
			"Technology",
		]);
		expect(rows.reduce((sum, row) => sum + row.orders, 0)).toBe(9_994);
	});
});
