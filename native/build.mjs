/**
 * Builds the addon with one compiler call: src/*.cc in, build/duckdb-arrow-scan.node out.
 *
 * Needs a C++17 compiler (`c++`, or what CXX names) and the npm package node-api-headers; no node-gyp, no
 * Python. Skipped when the sources, the flags and the compiler's name are those of the last build.
 * CXXFLAGS is appended. Plain JavaScript: runs at install on whatever Node (20 or newer) npm runs on.
 */
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import {
	existsSync,
	mkdirSync,
	readdirSync,
	readFileSync,
	renameSync,
	rmSync,
	writeFileSync,
} from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";

const here = dirname(fileURLToPath(import.meta.url));
const sourceFolder = join(here, "src");
const outputFolder = process.env.ARROW_SCAN_BUILD_DIR ?? join(here, "build");
const output = join(outputFolder, "duckdb-arrow-scan.node");
const stamp = join(outputFolder, "built-from.sha256");

/** Says what is wrong and how to mend it; the install fails with it. */
function giveUp(what, how) {
	console.error(`duckdb-arrow-scan: ${what}\n  ${how}`);
	process.exit(1);
}

if (process.platform === "win32") {
	console.warn(
		"duckdb-arrow-scan: Windows isn't supported; use Linux, macOS or WSL. Nothing was built.",
	);
	process.exit(0);
}

const require = createRequire(import.meta.url);
let headers;
try {
	headers = require("node-api-headers").include_dir;
} catch {
	giveUp(
		"the npm package node-api-headers isn't installed.",
		"Run `npm install` in the package's folder.",
	);
}
if (!existsSync(join(headers, "node_api.h"))) {
	giveUp(`node_api.h isn't in ${headers}.`, "Install the npm package node-api-headers again.");
}

const [compiler, ...compilerArguments] = (process.env.CXX || "c++").split(" ").filter(Boolean);
const flags = [
	...compilerArguments,
	"-std=c++17",
	"-O2",
	"-g1",
	"-fPIC",
	"-shared",
	"-pthread",
	"-fvisibility=hidden",
	"-Wall",
	"-Wextra",
	"-DNAPI_VERSION=8",
	"-DNODE_GYP_MODULE_NAME=duckdb_arrow_scan",
	...(process.platform === "darwin" ? ["-undefined", "dynamic_lookup"] : []),
	...(process.env.CXXFLAGS ?? "").split(" ").filter(Boolean),
];
const libraries = process.platform === "darwin" ? [] : ["-ldl"];

const files = readdirSync(sourceFolder).sort();
const sources = files
	.filter((name) => name.endsWith(".cc"))
	.map((name) => join(sourceFolder, name));
const hash = createHash("sha256");
hash.update(
	JSON.stringify([process.platform, process.arch, compiler, flags, libraries, "one unit"]),
);
for (const name of files)
	hash
		.update(name)
		.update("\0")
		.update(readFileSync(join(sourceFolder, name)));
hash.update(readFileSync(join(headers, "node_api.h")));
const wanted = hash.digest("hex");

if (existsSync(output) && existsSync(stamp) && readFileSync(stamp, "utf8") === wanted) {
	console.log("duckdb-arrow-scan: up to date");
	process.exit(0);
}

mkdirSync(outputFolder, { recursive: true });
// Renamed into place at the end: a process that has the old addon open keeps it.
const unfinished = `${output}.${process.pid}`;
const started = Date.now();
// One translation unit of all sources: the standard library's headers, most of the work, are read once.
const unit = sources.map((path) => `#include ${JSON.stringify(path)}\n`).join("");
const run = spawnSync(
	compiler,
	[...flags, "-isystem", headers, "-x", "c++", "-", "-o", unfinished, ...libraries],
	{ input: unit, stdio: ["pipe", "inherit", "inherit"] },
);
if (run.error !== undefined && run.status === null) {
	giveUp(
		`the C++ compiler \`${compiler}\` can't be run (${run.error.code ?? run.error.message}).`,
		"Install one (Debian, Ubuntu: apt install g++; Fedora: dnf install gcc-c++; Alpine: apk add g++; macOS: xcode-select --install) or name yours in the environment variable CXX.",
	);
}
if (run.status !== 0) {
	rmSync(unfinished, { force: true });
	giveUp(
		`\`${compiler}\` failed with status ${run.status ?? run.signal}.`,
		"Its messages are above. A compiler that knows C++17 is needed (GCC 8, Clang 7 or newer).",
	);
}
renameSync(unfinished, output);
writeFileSync(stamp, wanted);
console.log(`duckdb-arrow-scan: built in ${((Date.now() - started) / 1000).toFixed(1)} s`);
