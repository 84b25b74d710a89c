/**
 * The Lambda functions as folders that are ready to be zipped: `node infra/bundle.ts [OUT]`.
 *
 *   upload/index.mjs                       one file
 *   upload/assets/                         the pages
 *   replay/index.mjs                       one file, and beside it what can't be in one:
 *   replay/native/                         the addon, built for this platform
 *   replay/node_modules/@duckdb/           DuckDB
 *
 * Lambda's Linux (AL2023) has glibc 2.34: build on that or an older one.
 */
import { cpSync, mkdirSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import process from "node:process";
import { build, type Plugin } from "esbuild";
import { buildAssets } from "../functions/build-assets.node.ts";

const root = resolve(import.meta.dirname, "..");
/** https://docs.aws.amazon.com/lambda/latest/dg/gettingstarted-limits.html */
const maxUnpackedBytes = 250 * 1024 * 1024;

/** Code that some package still asks for by `require`. */
const banner =
	'import { createRequire as __createRequire } from "node:module"; const require = __createRequire(import.meta.url);';

/** The addon's own files stay as they are, beside the bundle. */
const addonBeside: Plugin = {
	name: "addon-beside",
	setup({ onResolve }) {
		onResolve({ filter: /native\/index\.js$/ }, () => ({
			path: "./native/index.js",
			external: true,
		}));
	},
};

async function bundle(entry: string, folder: string): Promise<void> {
	rmSync(folder, { recursive: true, force: true });
	mkdirSync(folder, { recursive: true });
	await build({
		entryPoints: [join(root, entry)],
		outfile: join(folder, "index.mjs"),
		bundle: true,
		platform: "node",
		target: "node24",
		format: "esm",
		minify: true,
		keepNames: true,
		legalComments: "none",
		external: ["@duckdb/*"],
		plugins: [addonBeside],
		banner: { js: banner },
		logLevel: "error",
	});
}

export interface Bundles {
	upload: { folder: string; bytes: number };
	replay: { folder: string; bytes: number };
}

export async function bundleLambdas(out = join(root, "infra/dist/lambda")): Promise<Bundles> {
	const upload = join(out, "upload");
	const replay = join(out, "replay");
	await bundle("functions/upload.lambda.ts", upload);
	await buildAssets(join(upload, "assets"));
	await bundle("functions/replay.lambda.ts", replay);
	const platform = `${process.platform}-${process.arch}`;
	for (const name of ["node-api", "node-bindings", `node-bindings-${platform}`]) {
		cpSync(join(root, "node_modules/@duckdb", name), join(replay, "node_modules/@duckdb", name), {
			recursive: true,
			filter: (path) => !/\.(d\.ts|map|md)$/.test(path),
		});
	}
	for (const file of ["index.js", "binding.js", "LICENSE", "build/duckdb-arrow-scan.node"]) {
		cpSync(join(root, "native", file), join(replay, "native", file));
	}
	writeFileSync(join(replay, "native/package.json"), '{"type":"module"}\n');
	const sizes = {
		upload: { folder: upload, bytes: bytesUnder(upload) },
		replay: { folder: replay, bytes: bytesUnder(replay) },
	};
	for (const [name, { bytes }] of Object.entries(sizes)) {
		if (bytes > maxUnpackedBytes) {
			throw new Error(`${name} has ${bytes} bytes unpacked; Lambda takes ${maxUnpackedBytes}`);
		}
	}
	return sizes;
}

function bytesUnder(folder: string): number {
	let sum = 0;
	for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
		if (entry.isFile()) sum += statSync(join(entry.parentPath, entry.name)).size;
	}
	return sum;
}

if (import.meta.main) {
	for (const [name, { folder, bytes }] of Object.entries(await bundleLambdas(process.argv[2]))) {
		console.log(`${name}: ${folder}, ${(bytes / 1e6).toFixed(1)} MB`);
	}
}
