/** A fuzzer that nobody here wrote, driven by our own OpenAPI document, against the running service. */
import { afterAll, beforeAll, expect, it } from "vitest";
import { cliJson, createWorld, runProcess, type World } from "../e2e/world.ts";
import { pythonWith } from "./python-venv.ts";

let world: World;
let key: string;
beforeAll(async () => {
	world = await createWorld({ DUCKDOCK_FSYNC: "off" });
	await world.start();
	const rights = "append,create,replace,add_columns,read,metrics";
	const created = await cliJson(["keys", "create", "--tenant", "acme", "--modes", rights], {
		env: world.env,
	});
	key = created.json.key;
});
afterAll(() => world?.end());

const otherwiseHere = [
	// Of an upload that was given up the state is still told: `aborted`.
	"use_after_free",
	// Whether bytes are Arrow, and whether an upload has these parts, no schema can say.
	"positive_data_acceptance",
].join(",");

it("finds no fault of ours and no answer that the document does not tell of", async () => {
	const python = pythonWith("schemathesis", ["schemathesis==4.32.5"]);
	const args = [
		"-m",
		"schemathesis.cli",
		"run",
		`${world.url}/openapi.json`,
		"--header",
		`Authorization: Bearer ${key}`,
		"--exclude-checks",
		otherwiseHere,
		"--max-examples",
		"40",
		"--suppress-health-check",
		"filter_too_much",
		"--seed",
		"20261130",
		"--continue-on-failure",
		"--request-timeout",
		"30",
		"--no-color",
	];
	const ran = await runProcess(python, args, {
		env: {
			SCHEMATHESIS_HOOKS: "schemathesis_hooks",
			PYTHONPATH: import.meta.dirname,
			PYTHONDONTWRITEBYTECODE: "1",
		},
	});
	const cases = /(\d+) generated/.exec(ran.stdout);
	console.log(`schemathesis: ${cases?.[0] ?? "no count"}`);
	if (ran.code !== 0) console.log(ran.stdout.slice(-20_000), ran.stderr.slice(-2_000));
	expect(ran.code).toBe(0);
	expect(Number(cases?.[1])).toBeGreaterThan(100);
}, 600_000);
