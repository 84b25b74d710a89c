/** What the numbers were measured on. */
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { cpus, loadavg, platform, release, totalmem } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { root } from "./folders.ts";

export interface Machine {
	date: string;
	commit: string;
	cpu: string;
	cores: number;
	memoryGib: number;
	system: string;
	node: string;
	duckdb: string;
	/** One minute's load average before the bench ended: above the cores, others ran too. */
	load: number;
	fsync: string;
}

export function describeMachine(): Machine {
	const git = (...args: string[]) =>
		execFileSync("git", args, { cwd: root, encoding: "utf8" }).trim();
	const manifest = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
	const changed =
		git("status", "--porcelain", "src", "native", "functions") === "" ? "" : " (with changes)";
	return {
		date: new Date().toISOString(),
		commit: git("rev-parse", "--short", "HEAD") + changed,
		cpu: cpus()[0]?.model ?? "unknown",
		cores: cpus().length,
		memoryGib: Math.round(totalmem() / 2 ** 30),
		system: `${platform()} ${release()}`,
		node: process.version,
		duckdb: manifest.dependencies["@duckdb/node-api"],
		load: Number(loadavg()[0]!.toFixed(1)),
		fsync: process.env.DUCKDOCK_FSYNC ?? "on",
	};
}
