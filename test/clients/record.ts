/**
 * The long runs of these suites, once, with what they came to written beside them:
 *
 *   node test/clients/record.ts [files] [events]
 *
 * writes test/clients/RECORD.md; what is not run again stays there as it is.
 *
 * A thousand files in one drop folder with a loader that is killed now and then, and a
 * thousand events of one object. The server that sends the events looks through its
 * whole queue for every message that it hands out, which is where most of the time goes.
 */
import { spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { availableParallelism, cpus, tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { root } from "../e2e/world.ts";

const runs = [
	{
		name: "files",
		file: "test/clients/drop-folder.test.ts",
		test: "files are loaded once each",
		env: { DUCKDOCK_FILES: process.env.DUCKDOCK_FILES ?? "1000" },
	},
	{
		name: "events",
		file: "test/clients/s3-events.test.ts",
		test: "more events of the same object",
		env: { DUCKDOCK_EVENTS: process.env.DUCKDOCK_EVENTS ?? "1000" },
	},
];

interface Report {
	testResults: {
		assertionResults: {
			fullName: string;
			status: string;
			duration?: number;
			failureMessages: string[];
		}[];
	}[];
}

const folder = mkdtempSync(join(tmpdir(), "duckdock-record-"));
const path = join(root, "test/clients/RECORD.md");
const asked = process.argv.slice(2);
const machine = `${availableParallelism()} cores of ${cpus()[0]!.model}`;
const sections = new Map<string, string>();
if (existsSync(path)) {
	for (const section of readFileSync(path, "utf8")
		.split(/^(?=## )/m)
		.slice(1)) {
		sections.set(section.slice(3, section.indexOf("\n")), section);
	}
}
for (const { name, file, test, env } of runs) {
	if (asked.length > 0 && !asked.includes(name)) continue;
	const report = join(folder, "report.json");
	const settings = Object.entries(env).map(([name, value]) => `${name}=${value}`);
	const ran = spawnSync(
		process.execPath,
		[
			join(root, "node_modules/vitest/vitest.mjs"),
			"run",
			"--config=test/clients/vitest.config.ts",
			"--reporter=default",
			"--reporter=json",
			`--outputFile.json=${report}`,
			file,
			"-t",
			// The rule that lets files load is made by the test before.
			file.includes("s3-events") ? `a file under drop/|${test}` : test,
		],
		{ cwd: root, env: { ...process.env, ...env }, encoding: "utf8", maxBuffer: 2 ** 28 },
	);
	const { testResults } = JSON.parse(readFileSync(report, "utf8")) as Report;
	const found = testResults
		.flatMap(({ assertionResults }) => assertionResults)
		.find(({ fullName }) => fullName.includes(test));
	const seconds = Math.round((found?.duration ?? 0) / 1_000);
	const said = /\d+ files, \d+ kills.*/.exec(`${ran.stdout}\n${ran.stderr}`)?.[0];
	const title = settings.join(" ");
	const lines = [
		`## ${title}`,
		"",
		`${new Date().toISOString().slice(0, 10)}, Node ${process.version}, ${machine}.`,
		"",
		`\`${file}\`: ${found?.fullName ?? test}`,
		"",
		`${found?.status ?? "not run"}, ${seconds} s${said === undefined ? "" : `; ${said}`}`,
		...(found?.failureMessages ?? []).map((message) => `\n    ${message.split("\n", 1)[0]}`),
		"",
	];
	sections.set(title, lines.join("\n"));
}
rmSync(folder, { recursive: true });
const head = [
	"# A thousand files, a thousand events",
	"",
	"`node test/clients/record.ts`; S3's events and SQS by moto.",
	"",
];
writeFileSync(path, [...head, ...sections.values()].join("\n"));
console.log([...sections.values()].join("\n"));
