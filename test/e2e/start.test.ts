/** What users start: modules that were compiled before aren't compiled again. */
import { join } from "node:path";
import process from "node:process";
import { expect, it } from "vitest";
import { root, runProcess } from "./world.ts";

const start = async (env: Record<string, string> = {}) =>
	runProcess(process.execPath, [join(root, "functions/duckdock.js"), "--version"], { env });

it("the command line takes its modules from the cache the second time, and strips no types", async () => {
	await start();
	const { code, stderr } = await start({ NODE_DEBUG_NATIVE: "COMPILE_CACHE" });
	expect(code).toBe(0);
	const found = (text: RegExp) => stderr.match(text)?.length ?? 0;
	const typescript = found(/retrieving transpile cache for StrippedTypeScript/g);
	expect(typescript).toBeGreaterThan(20);
	expect(found(/retrieving transpile cache for StrippedTypeScript \S+\.\.\.success/g)).toBe(
		typescript,
	);
});

it("the command line works without the cache", async () => {
	const { code, stdout } = await start({ NODE_DISABLE_COMPILE_CACHE: "1" });
	expect([code, stdout]).toEqual([0, (await start()).stdout]);
});
