/** README's examples as they stand: every shell block under a `<!-- run -->` mark, in one shell, in order. */
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createWorld, query, root, runProcess, type World } from "./world.ts";

const readme = readFileSync(join(root, "README.md"), "utf8");
const blocks = [...readme.matchAll(/<!-- run -->\n```sh\n([\s\S]*?)```/g)].map(
	([, block]) => block!,
);

let world: World;
beforeAll(async () => {
	world = await createWorld();
	await world.start();
});
afterAll(() => world.end());

describe("README", () => {
	it("has shell examples that are run", () => {
		expect(blocks.length).toBeGreaterThanOrEqual(5);
		expect(blocks.join("").match(/curl /g)?.length).toBeGreaterThanOrEqual(5);
	});

	it("has no curl example that isn't run", () => {
		const all = [...readme.matchAll(/```sh\n([\s\S]*?)```/g)].map(([, block]) => block!);
		expect(all.filter((block) => block.includes("curl ") && !blocks.includes(block))).toEqual([]);
	});

	const missing = ["bash", "curl", "split"].filter(
		(tool) => spawnSync(tool, ["--version"]).status !== 0,
	);
	if (missing.length > 0)
		console.warn(`README's examples are SKIPPED: no ${missing.join(", ")} here`);

	it.skipIf(missing.length > 0)("has examples that work as they stand", async () => {
		const script = ["set -euo pipefail", ...blocks].join("\necho\n");
		const { DUCKDOCK_KEY: _, ...env } = world.env;
		const PATH = `${join(root, "node_modules/.bin")}:${process.env.PATH}`;
		const ran = await runProcess("bash", ["-c", script], { env: { ...env, PATH } });
		expect(ran.code, `${ran.stdout}\n${ran.stderr}`).toBe(0);
		const receipts = ran.stdout
			.split("\n")
			.filter((line) => line.startsWith('{"load_id"'))
			.map((line) => JSON.parse(line));
		expect(receipts.map((one) => [one.table, one.status, one.parts])).toEqual([
			["main.sales", "committed", 1],
			["raw.sales", "committed", 5],
			["raw.sales", "committed", 2],
			["raw.sales", "committed", 5],
		]);
		expect(ran.stdout).toContain("ok   target");
		// One load by curl, one by push.
		expect(await query(world.database, "SELECT count(*)::INT FROM sales")).toEqual([[2 * 9_994]]);
	});
});
