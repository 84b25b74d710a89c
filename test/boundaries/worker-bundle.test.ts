import { gzipSync } from "node:zlib";
import { build } from "esbuild";
import { beforeAll, describe, expect, it } from "vitest";
import { root } from "./read-imports.ts";

/** The Worker as wrangler would bundle it, without Node compatibility: a `node:` import is an error. */
describe("the bundle of functions/upload.workers.ts", () => {
	let inputs: string[] = [];
	let gzipBytes = 0;
	let externals: string[] = [];
	beforeAll(async () => {
		const result = await build({
			entryPoints: ["functions/upload.workers.ts"],
			absWorkingDir: root,
			bundle: true,
			minify: true,
			format: "esm",
			platform: "neutral",
			mainFields: ["module", "main"],
			conditions: ["workerd", "worker", "browser"],
			external: ["cloudflare:*"],
			target: "es2024",
			metafile: true,
			write: false,
			logLevel: "silent",
		});
		inputs = Object.keys(result.metafile.inputs);
		externals = Object.values(result.metafile.outputs).flatMap((output) =>
			output.imports.filter((one) => one.external).map((one) => one.path),
		);
		gzipBytes = gzipSync(result.outputFiles[0]!.contents).byteLength;
	});

	it("takes in the upload app and nothing of the loader", () => {
		expect(inputs.some((path) => path.startsWith("src/upload/"))).toBe(true);
		const foreign = inputs.filter((path) =>
			/^native\/|@duckdb|^src\/(insert|replay|cli|client)\/|@aws-sdk|\/fs-|s3-store/.test(path),
		);
		expect(foreign).toEqual([]);
	});

	it("takes in no page: they are files beside it", () => {
		expect(inputs.filter((path) => /^src\/(console|docs)\/|openapi-explorer/.test(path))).toEqual(
			[],
		);
	});

	it("leaves no import but the platform's own", () => {
		expect(externals.filter((path) => !path.startsWith("cloudflare:"))).toEqual([]);
	});

	it("is under 300 KiB gzipped", () => {
		console.log(`upload.workers.ts: ${(gzipBytes / 1024).toFixed(1)} KiB gzipped`);
		expect(gzipBytes).toBeGreaterThan(1024);
		expect(gzipBytes).toBeLessThan(300 * 1024);
	});
});
