/** src/client/python-recipes.md: every recipe as it stands, with libraries of today and of two years ago. */
import { copyFileSync, existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { superstore, superstorePath } from "../e2e/superstore.ts";
import { createWorld, root, runProcess, type World, writeFile } from "../e2e/world.ts";
import { librariesOfToday } from "./python-libraries.ts";
import { pythonWith } from "./python-venv.ts";

const page = readFileSync(join(root, "src/client/python-recipes.md"), "utf8");
const recipes = new Map(
	[...page.matchAll(/<!-- recipe: (\w+) -->\n```python\n([\s\S]*?)```/g)].map(([, name, code]) => [
		name!,
		code!,
	]),
);

const environments = {
	"libraries of today": librariesOfToday,
	"libraries of two years ago": [
		"pyarrow==18.0.0",
		"polars==1.14.0",
		"pandas==2.2.3",
		"numpy==2.1.3",
		"duckdb==1.1.3",
		"requests==2.32.3",
		"httpx==0.27.2",
	],
};
/** Reads what was loaded: an engine of its own, on the file that the service let go. */
const reader = ["duckdb==1.5.5"];

const expected: Record<string, { rows: number; sql: string; values: unknown[][] }> = {
	pyarrow_table: {
		rows: 3,
		sql: "SELECT id, name FROM from_pyarrow ORDER BY id",
		values: [
			[1, "a"],
			[2, "b"],
			[3, null],
		],
	},
	pyarrow_batches: {
		rows: 1_000_000,
		sql: "SELECT count(*), min(n), max(square)::BIGINT FROM squares",
		values: [[1_000_000, 0, 999_998_000_001]],
	},
	polars_frame: {
		rows: 2,
		sql: "SELECT day::VARCHAR, city, readings FROM raw.from_polars ORDER BY day",
		values: [
			["2026-11-29", "Zürich", [1.5, 2.5]],
			["2026-11-30", "Lyon", []],
		],
	},
	pandas_frame: {
		rows: 2,
		sql: 'SELECT "at"::VARCHAR, amount, kind FROM from_pandas ORDER BY "at"',
		values: [
			["2026-11-30 09:00:00", 12.5, "in"],
			["2026-11-30 10:00:00", null, "out"],
		],
	},
	duckdb_query: {
		rows: 200_000,
		sql: "SELECT count(*), sum(id)::BIGINT, count(*) FILTER (seventh), max(label) FROM from_duckdb",
		values: [[200_000, 19_999_900_000, 28_572, "row 99999"]],
	},
	resumable_upload: {
		rows: superstore.rows,
		sql: "SELECT count(*) FROM sales",
		values: [[superstore.rows]],
	},
};

it("src/client/python-recipes.md has a recipe for each expectation and none without", () => {
	expect([...recipes.keys()].sort()).toEqual(Object.keys(expected).sort());
});

describe.each(Object.entries(environments))("with %s", (name, requirements) => {
	let world: World;
	let python: string;
	let readerPython: string;
	beforeAll(async () => {
		python = pythonWith(name.replaceAll(" ", "-"), requirements);
		readerPython = pythonWith("reader", reader);
		world = await createWorld({ DUCKDOCK_PART_BYTES: "300KiB" });
		await world.start();
	});
	afterAll(() => world?.end());

	/** With DuckDB for Python, once the file is free. */
	async function read(sql: string): Promise<unknown[][]> {
		const code = `import duckdb, json, sys, time
for attempt in range(50):
    try:
        connection = duckdb.connect(sys.argv[1], read_only=True)
        break
    except duckdb.IOException:
        time.sleep(0.2)
print(json.dumps(connection.execute(sys.argv[2]).fetchall()))`;
		const ran = await runProcess(readerPython, ["-c", code, world.database, sql]);
		expect(ran.code, ran.stderr).toBe(0);
		return JSON.parse(ran.stdout);
	}

	it.each(Object.keys(expected).filter((recipe) => recipe !== "resumable_upload"))(
		"%s loads and reads back",
		async (recipe) => {
			const script = writeFile(world, `${recipe}.py`, recipes.get(recipe)!);
			const ran = await runProcess(python, [script], { env: world.env });
			expect(ran.code, ran.stderr).toBe(0);
			const { rows, sql, values } = expected[recipe]!;
			expect(Number(ran.stdout)).toBe(rows);
			expect(await read(sql)).toEqual(values);
		},
	);

	it("resumable_upload goes on where it was killed, and loads once", async () => {
		const script = writeFile(world, "resumable_upload.py", recipes.get("resumable_upload")!);
		const file = join(world.folder, "sales.arrow");
		copyFileSync(superstorePath, file);
		// Killed as soon as the upload exists; however far it came, the next run goes on.
		await runProcess(python, [script, file, "sales"], {
			env: world.env,
			started(child) {
				const timer = setInterval(() => {
					if (existsSync(`${file}.upload`)) child.kill("SIGKILL");
				}, 5);
				child.on("close", () => clearInterval(timer));
			},
		});
		const id = JSON.parse(readFileSync(`${file}.upload`, "utf8")).upload_id;
		const ran = await runProcess(python, [script, file, "sales"], { env: world.env });
		expect(ran.code, ran.stderr + world.log().slice(-3_000)).toBe(0);
		expect(Number(ran.stdout)).toBe(superstore.rows);
		expect(existsSync(`${file}.upload`)).toBe(false);
		expect(
			await read("SELECT load_id FROM _duckdock.loads WHERE \"table\" = 'main.sales'"),
		).toEqual([[id]]);
		expect(await read(expected.resumable_upload!.sql)).toEqual(expected.resumable_upload!.values);
	});
});
