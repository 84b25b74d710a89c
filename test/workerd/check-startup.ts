/** `wrangler check startup`: the bundle as it is deployed, read and initialised in workerd under a profiler, several times. */
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";

export interface Startup {
	gzipKiB: number;
	/** Milliseconds of the profile in which the isolate ran, the least of all: others keep the machine busy too. */
	activeMs: number;
}

const times = 5;

export function checkStartup(root: string): Startup {
	const all = Array.from({ length: times }, () => checkOnce(root));
	return all.reduce((least, one) => (one.activeMs < least.activeMs ? one : least));
}

function checkOnce(root: string): Startup {
	const folder = mkdtempSync(join(tmpdir(), "duckdock-startup-"));
	try {
		const wrangler = join(root, "node_modules/wrangler/bin/wrangler.js");
		const said = execFileSync(
			process.execPath,
			[wrangler, "check", "startup", "--args=--minify", "--outfile", join(folder, "profile")],
			{ cwd: root, stdio: ["ignore", "pipe", "pipe"] },
		).toString();
		const [, gzipKiB] = /gzip: ([\d.]+) KiB/.exec(said) ?? [];
		const [, activeMs] = /Active: ([\d.]+) ms/.exec(said) ?? [];
		if (gzipKiB === undefined || activeMs === undefined) throw new Error(said);
		return { gzipKiB: Math.round(Number(gzipKiB)), activeMs: Math.round(Number(activeMs)) };
	} finally {
		rmSync(folder, { recursive: true, force: true });
	}
}
