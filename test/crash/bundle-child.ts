/** A child's module in one file: it is started hundreds of times, and reading a hundred sources takes longer than its work. */
import { mkdirSync } from "node:fs";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { build } from "esbuild";

const root = resolve(import.meta.dirname, "../..");

/** Path of the bundle of `test/crash/{name}.ts`. Native code and packages stay where they are. */
export async function bundleChild(name: string): Promise<string> {
	const folder = join(root, "test/crash/.bundles");
	mkdirSync(folder, { recursive: true });
	const outfile = join(folder, `${name}.mjs`);
	await build({
		entryPoints: [join(root, `test/crash/${name}.ts`)],
		outfile,
		bundle: true,
		platform: "node",
		format: "esm",
		target: "node24",
		logLevel: "error",
		external: ["@duckdb/*", "@aws-sdk/*"],
		banner: {
			js: 'import { createRequire as makeRequire } from "node:module"; const require = makeRequire(import.meta.url);',
		},
		plugins: [
			{
				name: "native stays",
				setup(bundler) {
					bundler.onResolve({ filter: /native\/index\.js$/ }, () => ({
						path: pathToFileURL(join(root, "native/index.js")).href,
						external: true,
					}));
				},
			},
		],
	});
	return outfile;
}
