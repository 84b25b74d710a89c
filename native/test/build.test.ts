import { spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { afterAll, expect, test } from "vitest";

const folder = mkdtempSync(join(tmpdir(), "arrow-scan-build-"));
afterAll(() => rmSync(folder, { recursive: true }));

function build(env: Record<string, string>) {
	const child = spawnSync(process.execPath, [join(import.meta.dirname, "../build.mjs")], {
		encoding: "utf8",
		env: { ...process.env, ...env },
	});
	return { status: child.status, out: child.stdout, err: child.stderr };
}

test("the build that is there is up to date and isn't made again", () => {
	expect(build({})).toEqual({ status: 0, out: "duckdb-arrow-scan: up to date\n", err: "" });
});

test("a missing compiler is named, with the way to one", () => {
	const { status, err } = build({ CXX: "no-such-compiler", ARROW_SCAN_BUILD_DIR: folder });
	expect(status).toBe(1);
	expect(err).toContain("the C++ compiler `no-such-compiler` can't be run (ENOENT)");
	expect(err).toContain("apt install g++");
});

test("a compiler that fails fails the build and leaves nothing behind", () => {
	const { status, err } = build({ CXX: "false", ARROW_SCAN_BUILD_DIR: folder });
	expect(status).toBe(1);
	expect(err).toContain("`false` failed with status 1");
	expect(existsSync(join(folder, "duckdb-arrow-scan.node"))).toBe(false);
});
