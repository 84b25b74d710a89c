/** The collector's setting does what it is there for, whatever V8 calls its flags: counted, not timed. */
import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, it } from "vitest";

const run = promisify(execFile);
const setting = new URL("../../functions/young-generation.node.ts", import.meta.url);

/** Full collections while 30,000 chunks of 64 KiB come by, of which a few are kept for a while. */
async function fullCollections(...flags: string[]): Promise<number> {
	const script = `
		const { PerformanceObserver, constants } = await import("node:perf_hooks");
		let full = 0;
		new PerformanceObserver((list) => {
			for (const { detail } of list.getEntries()) {
				if (detail.kind !== constants.NODE_PERFORMANCE_GC_MINOR) full++;
			}
		}).observe({ entryTypes: ["gc"] });
		const kept = [];
		for (let i = 0; i < 30_000; i++) {
			const around = Array.from({ length: 20 }, (_, j) => ({ j }));
			kept.push({ chunk: Buffer.allocUnsafeSlow(65_536).subarray(0, 60_000), around });
			if (kept.length > 16) kept.shift();
			if (i % 8 === 0) await new Promise(setImmediate);
		}
		await new Promise((done) => setTimeout(done, 50));
		console.log(full);`;
	// Marking by threads beside ours ends sooner or later as they are let run, and the count goes with it.
	const args = [...flags, "--single-threaded-gc", "--input-type=module", "--eval", script];
	return Number((await run(process.execPath, args)).stdout);
}

it("chunks that come by set off hardly a full collection where the entries ask for it", async () => {
	const byItself = await fullCollections();
	const asSet = await fullCollections(`--import=${fileURLToPath(setting)}`);
	expect(byItself).toBeGreaterThan(10);
	expect(asSet).toBeLessThanOrEqual(byItself / 3);
});
