import { Writable } from "node:stream";
import { beforeEach, describe, expect, it } from "vitest";
import type { CliDeps } from "../../../src/cli/cli-deps.ts";
import { exitCodeOfError } from "../../../src/cli/exit-codes.ts";
import { buildProgram, runCli } from "../../../src/cli/run-cli.ts";
import { systemClock } from "../../../src/clock.ts";
import { type ErrorCode, errorCodes, IngestError } from "../../../src/errors.ts";
import { createMemoryStore } from "../../../src/stage/stores/memory-store.ts";
import { problemKinds } from "../../../src/upload/problem-json.ts";

function collect() {
	const chunks: string[] = [];
	const stream = new Writable({
		write(chunk, _encoding, done) {
			chunks.push(String(chunk));
			done();
		},
	});
	return { stream, text: () => chunks.join("") };
}

function createWorld() {
	const store = createMemoryStore();
	const out = collect();
	const err = collect();
	const deps: CliDeps = {
		clock: systemClock,
		signal: new AbortController().signal,
		stdin: (async function* () {})(),
		stdout: out.stream,
		stderr: err.stream,
		url: undefined,
		key: undefined,
		stateFolder: "/nowhere",
		version: "1.2.3",
		openStore: async () => store,
		openKeysStore: async () => store,
		openDropStore: async () => store,
		loadFiles: async () => {
			throw new IngestError("invalid_arrow", "offset 5 is before offset 7", {
				column: "a.b",
				batch: 2,
				row: 9,
			});
		},
		serve: async () => ({ url: "http://127.0.0.1:1", stopped: Promise.resolve() }),
		collectGarbage: async () => ["uploads/a/b/parts/00001"],
		doctorChecks: () => [
			{ name: "node", run: async () => "v24", fix: "install Node 24" },
			{
				name: "store",
				run: async () => {
					throw new Error("permission denied");
				},
				fix: "chmod the folder",
			},
		],
	};
	return { deps, store, out, err };
}

let world: ReturnType<typeof createWorld>;
beforeEach(() => {
	world = createWorld();
});
const run = (...args: string[]) => runCli(args, world.deps);
const json = () => JSON.parse(world.out.text());

describe("the exit codes", () => {
	it("are those of the contract for every code", () => {
		const contract: Record<number, string> = {
			1: "internal row_count_mismatch",
			66: "upload_not_found load_not_found",
			69: "store_unavailable target_unavailable",
			73: "table_exists table_not_found constraint_violation superseded upload_completed offset_mismatch",
			75: "load_in_progress rate_limited quota_exceeded busy timeout",
			77: "unauthenticated key_expired forbidden_table forbidden_mode",
		};
		for (const code of Object.keys(errorCodes) as ErrorCode[]) {
			const listed = Object.entries(contract).find(([, codes]) => codes.split(" ").includes(code));
			expect(`${code} ${exitCodeOfError[code]}`).toBe(`${code} ${listed?.[0] ?? 65}`);
			const { status } = problemKinds[code];
			if (exitCodeOfError[code] === 65) expect([400, 410, 413, 415, 422]).toContain(status);
		}
	});
});

describe("a database that can't be opened", () => {
	it("is worth another try only where another program holds it", async () => {
		const fail = (extra: Record<string, unknown>) => {
			world.deps.loadFiles = async () => {
				throw new IngestError("target_unavailable", "no", { extra });
			};
			return run("load", import.meta.filename, "--db", "x.duckdb", "--table", "t");
		};
		expect(await fail({})).toBe(69);
		expect(await fail({ reason: "locked" })).toBe(75);
	});

	it("is worth none where something else lies at its path", async () => {
		world.deps.loadFiles = async () => {
			throw new IngestError("target_unavailable", "no", { extra: { reason: "no_database" } });
		};
		const args = ["load", import.meta.filename, "--db", "x.duckdb", "--table", "t", "--json"];
		expect(await run(...args)).toBe(69);
		expect(json()).toMatchObject({ code: "target_unavailable", retryable: false });
	});
});

describe("runCli", () => {
	it("prints the problem as the one JSON document and its place on standard error", async () => {
		const here = import.meta.filename;
		expect(await run("load", here, "--db", "x.duckdb", "--table", "t", "--json")).toBe(65);
		expect(json()).toMatchObject({
			code: "invalid_arrow",
			status: 422,
			column: "a.b",
			batch: 2,
			row: 9,
		});
		expect(world.err.text()).toContain("at: column a.b, batch 2, row 9");
		expect(world.err.text()).toContain("to do: ");
	});

	it("ends with 66 when a FILE is not there, before anything is opened", async () => {
		expect(await run("load", "no-such.arrow", "--db", "x.duckdb", "--table", "t", "--json")).toBe(
			66,
		);
		expect(json().detail).toContain("cannot read no-such.arrow");
	});

	it.each([
		["load", "x.arrow", "--table", "t"],
		["load", "x.arrow", "--db", "d", "--table", "t", "--mode", "upsert"],
		["load", "x.arrow", "--db", "d", "--table", "t", "--rows", "-1"],
		["push", import.meta.filename, "--table", "t"],
		["push", import.meta.filename, "--table", "t", "--url", "ftp://x"],
		[
			"push",
			import.meta.filename,
			"--table",
			"t",
			"--url",
			"http://x",
			"--part-size",
			"8 elephants",
		],
		["keys", "create"],
		["keys", "create", "--tenant", "acme", "--modes", "append,everything"],
		["keys", "create", "--tenant", "acme", "--expires", "soon"],
		["keys", "create", "--tenant", "../acme"],
		["keys", "create", "--tenant", "acme", "--tables", ""],
		["keys", "create", "--tenant", "acme", "--tables", "a,,b"],
		["keys", "list", "--tenant", "Acme"],
		["keys", "revoke", "aaaaaaaaaaaaaaaa"],
		["drop", "allow", "--tenant", "", "--tables", "*", "--modes", "append"],
		["drop", "allow", "--tenant", "acme", "--tables", "*", "--modes", "truncate"],
		["no-such-command"],
		["status"],
		["status", "one", "two", "--url", "http://x"],
	])("ends with 2 and a JSON problem for the wrong call %j %j %j %j", async (...args) => {
		expect(await run(...args, "--json")).toBe(2);
		expect(json().code).toBe("bad_request");
	});

	it("ends with 2 and shows its help when it is called with nothing", async () => {
		expect(await run()).toBe(2);
		expect(world.err.text()).toContain("Usage: duckdock");
	});

	it("makes a key, lists it without its secret, and revokes it", async () => {
		const args = [
			"--tenant",
			"acme",
			"--tables",
			"events,raw.*",
			"--modes",
			"append,read",
			"--expires",
			"90d",
			"--json",
		];
		expect(await run("keys", "create", ...args)).toBe(0);
		const created = json();
		expect(Object.keys(created)).toEqual([
			"key_id",
			"key",
			"tenant",
			"tables",
			"modes",
			"expires_at",
		]);
		expect(created.key).toMatch(/^dk_[a-z2-7]{16}_[a-z2-7]{52}$/);
		expect(created).toMatchObject({
			tenant: "acme",
			tables: ["events", "raw.*"],
			modes: ["append", "read"],
		});
		expect((Date.parse(created.expires_at) - Date.now()) / 86_400_000).toBeCloseTo(90, 2);

		const { deps, store } = world;
		const again = createWorld();
		again.deps.openKeysStore = async () => store;
		expect(await runCli(["keys", "list", "--json"], again.deps)).toBe(0);
		expect(JSON.parse(again.out.text())).toMatchObject([
			{ key_id: created.key_id, modes: ["append", "read"] },
		]);
		expect(again.out.text()).not.toContain(created.key.slice(-52));

		expect(await runCli(["keys", "revoke", created.key_id], deps)).toBe(0);
	});

	it("says that no key was given, before it asks anybody", async () => {
		for (const key of [undefined, ""]) {
			world = createWorld();
			world.deps.key = key;
			expect(await run("status", "01JZX0Q3T8M3V5W7X9YABCDEFG", "--url", "http://x", "--json")).toBe(
				77,
			);
			expect(json()).toMatchObject({
				code: "unauthenticated",
				detail: "no key given: use --key or set DUCKDOCK_KEY",
			});
		}
	});

	it("tells what stands in the way of several checks of the doctor once", async () => {
		const wrong = () => {
			throw Object.assign(new Error("DUCKDOCK_THREADS is no number"), { name: "ConfigError" });
		};
		world.deps.doctorChecks = () => [
			{ name: "configuration", run: async () => wrong(), fix: "set the variables" },
			{ name: "store", run: async () => wrong(), fix: "look at the store" },
			{ name: "target", run: async () => "fine", fix: "look at the target" },
		];
		expect(await run("doctor", "--json")).toBe(69);
		expect(json().checks).toEqual([
			{
				name: "configuration",
				ok: false,
				detail: "DUCKDOCK_THREADS is no number",
				fix: "set the variables",
			},
			{
				name: "store",
				ok: false,
				detail: "not tried: see the configuration above",
				fix: "mend the configuration",
			},
			{ name: "target", ok: true, detail: "fine", fix: null },
		]);
	});

	it("writes the rule of a drop folder", async () => {
		expect(
			await run(
				"drop",
				"allow",
				"--tenant",
				"acme",
				"--tables",
				"raw.*",
				"--modes",
				"append,create",
			),
		).toBe(0);
		const rule = await world.store.get("drop/acme/drop.json");
		expect(
			await new Response(rule!.body as ReadableStream<Uint8Array<ArrayBuffer>>).json(),
		).toEqual({
			tables: ["raw.*"],
			modes: ["append", "create"],
		});
	});

	it("runs every check of the doctor, says how to mend what fails, and ends with 69", async () => {
		expect(await run("doctor", "--json")).toBe(69);
		expect(json()).toEqual({
			ok: false,
			checks: [
				{ name: "node", ok: true, detail: "v24", fix: null },
				{ name: "store", ok: false, detail: "permission denied", fix: "chmod the folder" },
			],
		});
	});

	it("says what gc removed", async () => {
		expect(await run("gc", "--json")).toBe(0);
		expect(json()).toEqual({ removed: ["uploads/a/b/parts/00001"] });
	});

	it("prints its version and help on standard output", async () => {
		expect(await run("--version")).toBe(0);
		expect(world.out.text()).toBe("1.2.3\n");
		expect(await run("push", "--help")).toBe(0);
		expect(world.out.text()).toContain("$ duckdock push ");
	});

	it("has an example in the help of every command", () => {
		const program = buildProgram({ deps: world.deps, outcome: { result: null } });
		const all = [
			program,
			...program.commands,
			...program.commands.flatMap((command) => command.commands),
		];
		expect(all.length).toBeGreaterThan(14);
		for (const command of all) {
			const lines: string[] = [];
			command.configureOutput({ writeOut: (text) => lines.push(text) });
			command.outputHelp();
			expect(lines.join(""), command.name()).toMatch(/Examples?:\n {2}\$ duckdock /);
		}
	});
});
