/**
 * src/client/go-recipes.md and rust-recipes.md: every program as it stands, built with
 * the toolchain that is here. Where there is none, its recipes are skipped aloud.
 */
import { spawnSync } from "node:child_process";
import { copyFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { superstore, superstorePath } from "../e2e/superstore.ts";
import { createWorld, query, root, runProcess, type World } from "../e2e/world.ts";

/** Kept beside the repository's other caches: arrow takes a minute or more to build. */
const cache = join(root, "node_modules/.cache/duckdock-recipes");
/** On two cores that others use too. */
const buildMs = 900_000;

function recipesOf(page: string): Map<string, string> {
	const text = readFileSync(join(root, "src/client", page), "utf8");
	const found = text.matchAll(/<!-- recipe: (\w+) -->\n```\w+\n([\s\S]*?)```/g);
	return new Map([...found].map(([, name, code]) => [name!, code!]));
}

function hasTool(tool: string, recipes: string): boolean {
	const there = spawnSync(tool, ["version"]).error === undefined;
	if (!there) console.warn(`${recipes} is SKIPPED: no ${tool} here`);
	return there;
}

function project(name: string, files: Record<string, string>): string {
	const folder = join(cache, name);
	for (const [path, content] of Object.entries(files)) {
		mkdirSync(join(folder, path, ".."), { recursive: true });
		const file = join(folder, path);
		if (!existsSync(file) || readFileSync(file, "utf8") !== content) writeFileSync(file, content);
	}
	return folder;
}

async function build(command: string, args: string[], env: Record<string, string> = {}) {
	const ran = await runProcess(command, args, { env });
	expect(ran.code, ran.stderr).toBe(0);
}

let world: World;
beforeAll(async () => {
	world = await createWorld({ DUCKDOCK_PART_BYTES: "300KiB" });
	await world.start();
});
afterAll(() => world?.end());

const aMillion = async (program: string, table: string) => {
	const ran = await runProcess(program, [], { env: world.env });
	expect([ran.code, ran.stdout], ran.stderr).toEqual([0, "1000000\n"]);
	const sql = `SELECT count(*)::INT, max(square)::BIGINT::VARCHAR, count(label)::INT FROM ${table}`;
	expect(await query(world.database, sql)).toEqual([[1_000_000, "999998000001", 500_000]]);
	// The same key again: the same receipt, and not a row more.
	const again = await runProcess(program, [], { env: world.env });
	expect([again.code, again.stdout], again.stderr).toEqual([0, "1000000\n"]);
	expect(await query(world.database, `SELECT count(*)::INT FROM ${table}`)).toEqual([[1_000_000]]);
};

describe.skipIf(!hasTool("go", "src/client/go-recipes.md"))("src/client/go-recipes.md", () => {
	const recipes = recipesOf("go-recipes.md");
	const env = { GOFLAGS: "-mod=mod", GOTOOLCHAIN: "local" };
	const version = /go get (\S+)@(v\S+?)`/.exec(
		readFileSync(join(root, "src/client/go-recipes.md"), "utf8"),
	)!;
	const goMod = (name: string, requires: string) =>
		`module example.com/${name}\n\ngo 1.25\n${requires}`;

	it("has the recipes that are run", () => {
		expect([...recipes.keys()]).toEqual(["batches", "resumable"]);
	});

	it("batches builds, loads while it writes, and reads back", { timeout: buildMs }, async () => {
		const folder = project("go-batches", {
			"main.go": recipes.get("batches")!,
			"go.mod": goMod("batches", `\nrequire ${version[1]} ${version[2]}\n`),
		});
		await build("go", ["-C", folder, "build", "-o", "program", "."], env);
		await aMillion(join(folder, "program"), "from_go");
	});

	it("resumable goes on where it was killed, and loads once", { timeout: buildMs }, async () => {
		const folder = project("go-resumable", {
			"main.go": recipes.get("resumable")!,
			"go.mod": goMod("resumable", ""),
		});
		await build("go", ["-C", folder, "build", "-o", "program", "."], env);
		const program = join(folder, "program");
		const file = join(world.folder, "sales.arrow");
		copyFileSync(superstorePath, file);
		// Killed as soon as the upload exists; however far it came, the next run goes on.
		await runProcess(program, [file, "sales"], {
			env: world.env,
			started(child) {
				const timer = setInterval(() => {
					if (existsSync(`${file}.upload`)) child.kill("SIGKILL");
				}, 2);
				child.on("close", () => clearInterval(timer));
			},
		});
		const upload = readFileSync(`${file}.upload`, "utf8");
		const ran = await runProcess(program, [file, "sales"], { env: world.env });
		expect([ran.code, ran.stdout], ran.stderr).toEqual([0, `${superstore.rows}\n`]);
		expect(existsSync(`${file}.upload`)).toBe(false);
		const loads = `SELECT load_id FROM _duckdock.loads WHERE "table" = 'main.sales'`;
		expect(await query(world.database, loads)).toEqual([[upload.split("/").at(-1)]]);
		expect(await query(world.database, "SELECT count(*)::INT FROM sales")).toEqual([
			[superstore.rows],
		]);
	});
});

describe.skipIf(!hasTool("cargo", "src/client/rust-recipes.md"))(
	"src/client/rust-recipes.md",
	() => {
		const recipes = recipesOf("rust-recipes.md");

		it("batches builds, loads while it writes, and reads back", { timeout: buildMs }, async () => {
			const folder = project("rust-batches", {
				"src/main.rs": recipes.get("batches")!,
				"Cargo.toml": [
					'[package]\nname = "batches"\nversion = "0.1.0"\nedition = "2024"\n',
					recipes.get("dependencies")!,
					"[profile.dev]\nopt-level = 0\ndebug = false\n",
				].join("\n"),
			});
			await build("cargo", ["build", "--quiet", "--manifest-path", join(folder, "Cargo.toml")]);
			await aMillion(join(folder, "target/debug/batches"), "from_rust");
		});
	},
);
