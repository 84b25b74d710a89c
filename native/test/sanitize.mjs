/**
 * Runs the addon under memory and thread checkers. In: asan, valgrind or threads. Out: what they say, and a
 * line in sanitizers.txt. Linux; needs the compiler's sanitizer libraries, or valgrind.
 *
 *   asan      the addon with AddressSanitizer and UndefinedBehaviorSanitizer under the whole test suite; first
 *             a canary with a known fault, so that silence means something
 *   valgrind  every layout and every way a load ends, in copies that end where their memory ends, so that a
 *             reader (DuckDB too) that goes one byte too far shows
 *   threads   the stream without Node under ThreadSanitizer: producers, readers, late releases, every end
 */
import { spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { stripVTControlCharacters } from "node:util";

const here = dirname(fileURLToPath(import.meta.url));
const root = join(here, "../..");
const folder = mkdtempSync(join(tmpdir(), "arrow-scan-sanitize-"));
const compiler = process.env.CXX || "c++";

/** Runs a command, shows its output as it comes if asked to, and gives it back. */
function run(command, args, env = {}, show = true) {
	const child = spawnSync(command, args, {
		cwd: root,
		env: { ...process.env, ...env },
		encoding: "utf8",
		maxBuffer: 1 << 28,
	});
	const output = `${child.stdout ?? ""}${child.stderr ?? ""}`;
	if (show) process.stdout.write(output);
	return { ok: child.status === 0, output };
}

function fail(what) {
	console.error(what);
	rmSync(folder, { recursive: true, force: true });
	process.exit(1);
}

/** Builds the addon with more flags; gives back what tests need to use it. */
function build(flags) {
	const output = join(folder, "addon");
	const env = { ARROW_SCAN_BUILD_DIR: output, CXXFLAGS: flags };
	if (!run(process.execPath, [join(root, "native/build.mjs")], env).ok) fail("the build failed");
	return { DUCKDB_ARROW_SCAN_ADDON: join(output, "duckdb-arrow-scan.node") };
}

const checks = {
	asan() {
		const flags =
			"-O1 -fno-omit-frame-pointer -fsanitize=address,undefined -fno-sanitize-recover=all";
		const env = {
			...build(`${flags} -DARROW_SCAN_EXACT_COPIES`),
			LD_PRELOAD: run(compiler, ["-print-file-name=libasan.so"], {}, false).output.trim(),
			// Node and DuckDB keep what they need to their end: leaks are for the test of memory.
			ASAN_OPTIONS: "detect_leaks=0",
		};
		const canary = join(folder, "canary.node");
		const headers = join(root, "node_modules/node-api-headers/include");
		writeFileSync(
			join(folder, "canary.cc"),
			"#include <node_api.h>\n#include <cstdlib>\n" +
				"NAPI_MODULE_INIT() { volatile char* byte = static_cast<char*>(malloc(1)); byte[1] = 1; (void)env; return exports; }\n",
		);
		const canaryArgs = [...flags.split(" "), "-std=c++17", "-fPIC", "-shared", "-isystem", headers];
		const built = run(compiler, [...canaryArgs, join(folder, "canary.cc"), "-o", canary]);
		if (!built.ok) fail("the canary doesn't build");
		const { NODE_OPTIONS: _, ...plain } = env;
		const died = run(process.execPath, ["-e", `require(${JSON.stringify(canary)})`], plain, false);
		if (died.ok || !/heap-buffer-overflow|insufficient space/.test(died.output)) {
			fail(`the canary lives: the sanitizers aren't at work\n${died.output}`);
		}
		console.log("canary: one byte past its memory was found, as it should be");
		const kinds = run(process.execPath, ["--expose-gc", join(here, "programs/all-kinds.ts")], env);
		const suite = run(
			process.execPath,
			[
				join(root, "node_modules/vitest/vitest.mjs"),
				"run",
				"--config",
				"test/vitest.config.ts",
				"native/test",
				// Freed memory stays in quarantine: how much there is says nothing.
				"-t",
				"^(?!.*memory stays flat)",
			],
			env,
		);
		const tests = /Tests .*?(\d+) passed/.exec(stripVTControlCharacters(suite.output))?.[1];
		const clean =
			kinds.ok &&
			suite.ok &&
			!/ERROR: AddressSanitizer|runtime error:/.test(kinds.output + suite.output);
		return { clean, detail: `canary found; all layouts and ends; ${tests ?? "no"} tests passed` };
	},
	valgrind() {
		const env = build("-O1 -DARROW_SCAN_EXACT_COPIES");
		const log = join(folder, "valgrind.log");
		const { ok, output } = run(
			"valgrind",
			[
				"--error-exitcode=99",
				`--suppressions=${join(here, "valgrind.supp")}`,
				`--log-file=${log}`,
				"--num-callers=40",
				process.execPath,
				"--expose-gc",
				join(here, "programs/all-kinds.ts"),
			],
			env,
		);
		const text = existsSync(log) ? readFileSync(log, "utf8") : "";
		const summary = /ERROR SUMMARY: .*/.exec(text)?.[0] ?? "no summary";
		if (!ok) process.stdout.write(text);
		return { clean: ok && output.includes("fine"), detail: `all layouts and ends; ${summary}` };
	},
	threads() {
		const program = join(folder, "threads");
		const sources = ["record_batch", "record_batch_stream", "schema_tree", "column_layout"];
		const built = run(compiler, [
			...["-std=c++17", "-O1", "-g", "-fsanitize=thread", "-pthread", "-Wall", "-Wextra"],
			join(here, "threads.cc"),
			...sources.map((name) => join(root, "native/src", `${name}.cc`)),
			...["-o", program],
		]);
		if (!built.ok) fail("threads.cc doesn't build");
		const { ok, output } = run(program, ["3000"]);
		return { clean: ok && !output.includes("WARNING"), detail: output.trim().split("\n").at(-1) };
	},
};

const check = process.argv[2];
if (!(check in checks)) fail(`which check? ${Object.keys(checks).join(", ")}`);
const { clean, detail } = checks[check]();
const line = `${check.padEnd(9)} ${clean ? "clean" : "NOT CLEAN"}: ${detail}`;
console.log(line);
const record = join(here, "sanitizers.txt");
const others = existsSync(record)
	? readFileSync(record, "utf8")
			.split("\n")
			.filter((each) => each !== "" && !each.startsWith(check) && !each.startsWith("#"))
	: [];
const compilerName = run(compiler, ["--version"], {}, false).output.split("\n")[0];
writeFileSync(
	record,
	`# Written by sanitize.mjs: the last run of each. ${compilerName}, Node ${process.version}, ${process.platform}-${process.arch}\n${[...others, line].sort().join("\n")}\n`,
);
rmSync(folder, { recursive: true, force: true });
process.exitCode = clean ? 0 : 1;
