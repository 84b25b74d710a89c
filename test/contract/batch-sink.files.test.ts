/** The database file: who may have it open and when, what an instance may reach beside it, and what is said when it can't be had. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { chmodSync, existsSync, mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { DuckDBConnection } from "@duckdb/node-api";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { systemClock } from "../../src/clock.ts";
import { IngestError } from "../../src/errors.ts";
import { createDuckdbSink } from "../../src/insert/duckdb/duckdb-sink.ts";
import { targetLingerMs } from "../../src/limits.ts";
import { silentLog } from "../../src/log.ts";
import { int32 } from "./arrow-columns.ts";
import { SinkFixture } from "./sink-fixture.ts";

let at: SinkFixture;
beforeEach(() => {
	at = new SinkFixture();
});
afterEach(() => at.remove());

const signal = () => AbortSignal.timeout(30_000);
const row = () => [int32("id", [1])];

/** A program of its own that opens the file, says so or why not, and keeps it until its input ends. */
function otherProgram(path: string, holdMs = 0) {
	const nodeApi = import.meta.resolve("@duckdb/node-api");
	const child = spawn(process.execPath, [
		"--input-type=module",
		"-e",
		`import { DuckDBInstance } from ${JSON.stringify(nodeApi)};
		 try {
			const instance = await DuckDBInstance.create(${JSON.stringify(path)});
			const connection = await instance.connect();
			const rows = await (await connection.run("SELECT count(*)::INTEGER FROM duckdb_tables()")).getRowsJS();
			console.log("tables", rows[0][0]);
			setTimeout(() => process.exit(0), ${holdMs});
		 } catch (error) { console.log(error.message); process.exit(0); }`,
	]);
	let output = "";
	const said = new Promise<string>((resolve) => {
		child.stdout.on("data", (chunk) => {
			output += chunk;
			resolve(output.trim());
		});
	});
	return { child, said, ended: once(child, "exit") };
}

describe("letting go", () => {
	test("soon after the last close another program opens the file, whole without its .wal", async () => {
		const sink = createDuckdbSink({ ...at.options, lingerMs: undefined });
		const database = await sink.open("acme", signal());
		await database.insert([(await import("./sink-fixture.ts")).jobOf({ columns: row() })], never);
		expect(await otherProgram(at.path).said).toContain("Could not set lock");
		await database.close();
		while (existsSync(`${at.path}.wal`)) await sleep(20);
		for (;;) {
			const said = await otherProgram(at.path).said;
			if (said.startsWith("tables 2")) break;
			expect(said).toContain("Could not set lock");
		}
		expect(readdirSync(at.folder)).toEqual(["acme.duckdb"]);
		// The promise is 2 s; how much later than its timer a busy machine is can't be held.
		expect(targetLingerMs).toBeLessThan(2_000);
		await sink.close();
	});

	test("it is opened again on demand, by a handle that stayed open too", async () => {
		const database = await at.database();
		await at.insert({ columns: row() });
		await database.close();
		await sleep(100);
		expect(await otherProgram(at.path).said).toBe("tables 2");
		expect((await database.describeTable("main", "t"))?.rows).toBe(1);
	});

	test("one handle closed does not take the file from another", async () => {
		const [first, second] = await Promise.all([
			at.sink().open("acme", signal()),
			at.sink().open("acme", signal()),
		]);
		await first!.close();
		await first!.close();
		const { jobOf } = await import("./sink-fixture.ts");
		const [outcome] = await second!.insert([jobOf({ columns: row() })], never);
		expect(outcome).toHaveProperty("receipt");
		await second!.close();
	});
});

describe("a file that can't be had", () => {
	test("held by another program for a while: the load waits and is committed", async () => {
		const other = otherProgram(at.path, 700);
		await other.said;
		const patient = new SinkFixture({ ...at.options, lockWaitMs: 20_000 });
		expect((await patient.insert({ columns: row() })).status).toBe("committed");
		expect(existsSync(`${at.path}.waiting`)).toBe(false);
		await patient.remove();
		await other.ended;
	});

	test("held for longer than it waits: target_unavailable that says who, without the path", async () => {
		const other = otherProgram(at.path, 5_000);
		await other.said;
		const error = await at
			.sink()
			.open("acme", signal())
			.catch((reason) => reason);
		expect(error).toBeInstanceOf(IngestError);
		expect(error.code).toBe("target_unavailable");
		expect(error.message).toContain(`PID ${other.child.pid}`);
		expect(error.message).not.toContain(at.folder);
		expect(existsSync(`${at.path}.waiting`)).toBe(false);
		other.child.kill("SIGKILL");
		await other.ended;
	});

	test("held by another sink of this process, under another spelling of its path, counts as held", async () => {
		await at.insert({ columns: row() });
		const target = join(at.folder, "..", at.folder.split("/").pop()!, "{tenant}.duckdb");
		const second = createDuckdbSink({ ...at.options, target });
		const error = await second.open("acme", signal()).catch((reason) => reason);
		expect(error.code).toBe("target_unavailable");
		await at.close();
		const database = await second.open("acme", signal());
		expect((await database.describeTable("main", "t"))?.rows).toBe(1);
		await database.close();
		await second.close();
	});

	test("many who wait for it at once all wait that long, not one after the other", {
		retry: 4,
	}, async () => {
		const other = otherProgram(at.path, 10_000);
		await other.said;
		const startedAt = Date.now();
		const all = Array.from({ length: 5 }, () => at.sink().open("acme", signal()));
		for (const one of await Promise.allSettled(all)) {
			expect((one as PromiseRejectedResult).reason.code).toBe("target_unavailable");
		}
		expect(Date.now() - startedAt).toBeLessThan(5 * 300);
		other.child.kill("SIGKILL");
		await other.ended;
	});

	test("an abort ends the waiting with its reason", async () => {
		const other = otherProgram(at.path, 5_000);
		await other.said;
		const reason = new IngestError("timeout", "enough");
		const abort = new AbortController();
		const opening = createDuckdbSink({ ...at.options, lockWaitMs: 60_000 }).open(
			"acme",
			abort.signal,
		);
		setTimeout(() => abort.abort(reason), 150);
		await expect(opening).rejects.toBe(reason);
		other.child.kill("SIGKILL");
		await other.ended;
	});

	test.each([
		[
			"is no database",
			(path: string) => writeFileSync(path, "x".repeat(10_000)),
			/no DuckDB database/,
		],
		["is a folder", (path: string) => mkdirSync(path), /no DuckDB database/],
	])("a file that %s is target_unavailable with the reason", async (_, make, reason) => {
		make(at.path);
		const error = await at
			.sink()
			.open("acme", signal())
			.catch((failure) => failure);
		expect(error.code).toBe("target_unavailable");
		expect(error.message).toMatch(reason);
		expect(error.message).not.toContain(at.folder);
	});

	test("a folder that is missing is made, one that can't be is target_unavailable", async () => {
		const deep = new SinkFixture({ target: join(at.folder, "a/b/{tenant}.duckdb") });
		await deep.insert({ columns: row() });
		expect(existsSync(join(at.folder, "a/b/acme.duckdb"))).toBe(true);
		await deep.remove();
		writeFileSync(join(at.folder, "file"), "");
		const wrong = createDuckdbSink({
			...at.options,
			target: join(at.folder, "file/{tenant}.duckdb"),
		});
		const database = await wrong.open("acme", signal());
		const { jobOf } = await import("./sink-fixture.ts");
		const [outcome] = await database.insert([jobOf({ columns: row() })], never);
		expect(outcome).toMatchObject({ error: { code: "target_unavailable" } });
		await database.close();
		await wrong.close();
	});

	test("every tenant has a file of its own, and no name leads to another's", async () => {
		const sink = at.sink();
		for (const name of ["../acme", "Acme", "a/b", "", "a'b", "acme.duckdb", "x".repeat(64)]) {
			const error = await sink.open(name, signal()).catch((reason) => reason);
			expect([name, error.code]).toEqual([name, "bad_request"]);
		}
		const other = await sink.open("other", signal());
		await at.insert({ columns: row() });
		expect(await other.describeTable("main", "t")).toBeNull();
		await other.close();
	});

	test("a target without {tenant} serves one tenant alone", async () => {
		const sink = createDuckdbSink({ ...at.options, target: at.path, singleTenant: "acme" });
		await expect(sink.open("other", signal())).rejects.toMatchObject({
			code: "target_unavailable",
		});
		await (await sink.open("acme", signal())).close();
		await sink.close();
	});
});

describe("locked down", () => {
	const secret = "top secret of another tenant";

	async function attempt(...statements: string[]) {
		writeFileSync(join(at.folder, "secret.txt"), secret);
		return await at.sql(...statements);
	}

	test("no view in the database makes an instance read a file", async () => {
		await attempt(
			`CREATE VIEW leak AS SELECT content FROM read_text('${at.folder}/secret.txt')`,
			"CREATE VIEW passwd AS SELECT content FROM read_text('/etc/passwd')",
			"CREATE MACRO steal() AS (SELECT content FROM read_text('/etc/passwd'))",
		);
		for (const [view, kind] of [
			["leak", "table_exists"],
			["passwd", "table_exists"],
		] as const) {
			expect((await at.refusal({ table: view, columns: row() })).code).toBe(kind);
		}
	});

	test("a default that reads a file fails the load and inserts nothing", async () => {
		await attempt(
			`CREATE MACRO steal() AS (SELECT content FROM read_text('${at.folder}/secret.txt'))`,
			"CREATE TABLE t(id INTEGER)",
		);
		// DuckDB refuses subqueries in defaults; what it takes must not reach a file either.
		await expect(at.sql("ALTER TABLE t ADD COLUMN x VARCHAR DEFAULT (steal())")).rejects.toThrow();
		await at.sql("ALTER TABLE t ADD COLUMN x VARCHAR DEFAULT (getvariable('home'))");
		await at.insert({ columns: row() });
		expect(await at.sql("FROM t")).toEqual([[1, null]]);
	});

	test("a CHECK or a generated column can't reach a file or an extension", async () => {
		await expect(
			at.sql(
				"CREATE TABLE c(id INTEGER CHECK (id < (SELECT count(*) FROM read_text('/etc/passwd'))))",
			),
		).rejects.toThrow();
	});

	test.each([
		"SELECT * FROM read_text('/etc/passwd')",
		"SELECT * FROM read_csv('/etc/passwd')",
		"SELECT * FROM '/etc/passwd'",
		"SELECT * FROM glob('/*')",
		"COPY (SELECT 1) TO '/tmp/duckdock-lockdown.csv'",
		"ATTACH '/tmp/duckdock-lockdown.duckdb' AS other",
		"INSTALL httpfs",
		"LOAD httpfs",
		"LOAD '/tmp/evil.duckdb_extension'",
		"SET GLOBAL enable_external_access = true",
		"SET enable_external_access = true",
		"SET GLOBAL allowed_paths = ['/etc/passwd']",
		"SET GLOBAL TimeZone = 'America/New_York'",
		"RESET GLOBAL lock_configuration",
		"SET GLOBAL allowed_configs = ['lock_configuration']",
		"SET GLOBAL memory_limit = '1GB'",
		"CREATE PERSISTENT SECRET s (TYPE s3)",
	])("an instance refuses: %s", async (statement) => {
		const { attachDatabase } = await import("../../src/insert/duckdb/attached-database.ts");
		const { tenantTarget } = await import("../../src/insert/duckdb/targets.ts");
		const { parseTarget } = await import("../../src/target-template.ts");
		const attached = await attachDatabase(
			tenantTarget(parseTarget(at.options.target), "acme"),
			{ clock: systemClock, log: silentLog, lockWaitMs: 100 },
			signal(),
		);
		const connection = await attached.connect();
		await expect(connection.run(statement)).rejects.toThrow(
			/disabled|locked|Cannot|does not exist/,
		);
		connection.closeSync();
		await attached.close();
	});

	test("DuckDB has one thread, and all while a load is in work that may be much", async () => {
		const said: string[] = [];
		const { run } = DuckDBConnection.prototype;
		vi.spyOn(DuckDBConnection.prototype, "run").mockImplementation(function (
			this: DuckDBConnection,
			...call: Parameters<typeof run>
		) {
			if (/threads|^INSERT|^COMMIT/.test(call[0])) said.push(call[0].replace(/ "[\s\S]*/, ""));
			return run.apply(this, call);
		});
		try {
			await at.insert({ columns: row(), bytes: 1_000 });
			await at.insert({ columns: row() });
			await at.insert({ columns: row(), bytes: 1_000 });
		} finally {
			vi.restoreAllMocks();
		}
		const transaction = ["INSERT INTO", "INSERT INTO", "COMMIT"];
		expect(said.slice(said.indexOf("SET GLOBAL threads = 1"))).toEqual([
			"SET GLOBAL threads = 1",
			// Which makes the ledger first.
			"COMMIT",
			...transaction,
			"SET GLOBAL threads = 2",
			...transaction,
			"SET GLOBAL threads = 1",
			...transaction,
		]);
	});

	test("a table named as a file is a table, and none is read", async () => {
		writeFileSync(join(at.folder, "data.csv"), "id\n7\n");
		for (const name of ["data.csv", `${at.folder}/data.csv`, "/etc/passwd", "s3://b/k.parquet"]) {
			const table = `"${name}"`;
			expect((await at.refusal({ table, mode: "append", columns: row() })).code).toBe(
				"table_not_found",
			);
			expect(await (await at.database()).describeTable("main", name)).toBeNull();
			await at.insert({ table, columns: row() });
		}
	});

	test("a load larger than the memory limit goes through, and nothing is left beside the file", async () => {
		const small = new SinkFixture({ target: at.options.target, memoryLimit: "40MB" });
		const ids = Array.from({ length: 50_000 }, (_, n) => n);
		const receipt = await small.insert({
			batches: Array.from({ length: 40 }, () => [int32("id", ids)]),
		});
		expect(receipt.rows_inserted).toBe(2_000_000);
		await small.remove();
		expect(readdirSync(at.folder).filter((name) => !name.startsWith("acme.duckdb"))).toEqual([]);
	});
});

/** Runs a script in a Node of its own, with `jobOf`, the columns and a sink on this fixture's files at hand. */
async function inProcess(
	script: string,
	{ env = {}, before = "", prelude = "" } = {},
): Promise<string> {
	const source = `
		import { createDuckdbSink } from "./src/insert/duckdb/duckdb-sink.ts";
		import { systemClock } from "./src/clock.ts";
		import { silentLog } from "./src/log.ts";
		import { jobOf } from "./test/contract/sink-fixture.ts";
		import { int32, timestamp, utf8 } from "./test/contract/arrow-columns.ts";
		${prelude}
		const sink = createDuckdbSink({ target: ${JSON.stringify(at.options.target)}, clock: systemClock, log: silentLog });
		const database = await sink.open("acme", AbortSignal.timeout(30000));
		${script}
		await database.close();
		await sink.close();`;
	const file = join(at.folder, "script.ts");
	const root = new URL("../..", import.meta.url).pathname;
	writeFileSync(file, source.replaceAll('from "./', `from "${root}`));
	const child = spawn("/bin/sh", ["-c", `${before} exec "$0" "$1"`, process.execPath, file], {
		env: { ...process.env, ...env },
	});
	let output = "";
	for (const stream of [child.stdout, child.stderr]) {
		stream.on("data", (chunk) => {
			output += chunk;
		});
	}
	await once(child, "close");
	return output;
}

describe("a file that may not be written", () => {
	test("is target_unavailable, and its rows stay as they were", async () => {
		await at.insert({ columns: row() });
		await at.close();
		chmodSync(at.folder, 0o755);
		chmodSync(at.path, 0o444);
		const output = await inProcess("", {
			// Root may write everything: nobody else may.
			prelude: `if (process.getuid() === 0) process.setuid(65534);
				process.on("uncaughtException", (error) => console.log(error.code + ": " + error.message));`,
		});
		expect(output).toMatch(/^target_unavailable: .*Permission denied/);
		expect(output).not.toContain(at.folder);
		expect(await at.sql("FROM t")).toEqual([[1]]);
	});
});

describe("a disk that is full", () => {
	test("is target_unavailable, nothing of the load stays, and smaller loads go on", async () => {
		const output = await inProcess(
			`const batch = (n) => [int32("id", Array.from({ length: 10000 }, (_, i) => (i * 7919 * n) % 1000003)),
				utf8("s", Array.from({ length: 10000 }, () => Math.random().toString(36)))];
			for (const batches of [1, 60, 1, 1]) {
				const load = () => jobOf({ batches: Array.from({ length: batches }, (_, n) => batch(n + 1)) });
				const [outcome] = await database.insert([load()], async () => load());
				console.log(outcome.receipt?.rows_inserted ?? outcome.error.code + ": " + outcome.error.message);
			}`,
			{ before: "ulimit -f 4096;" },
		);
		expect(output.trim().split("\n")).toEqual([
			"10000",
			"target_unavailable: the disk of the database is full",
			"10000",
			"10000",
		]);
		expect(await at.sql("SELECT count(*) FROM t")).toEqual([["30000"]]);
		expect(await at.sql("SELECT count(*) FROM _duckdock.loads")).toEqual([["3"]]);
	});
});

describe("time zones", () => {
	test.each(["UTC", "America/New_York", "Asia/Kathmandu"])(
		"the loader's TZ=%s changes no value of a timestamp, with zone or without, in any target column",
		async (zone) => {
			await at.sql(
				"CREATE TABLE t(plain TIMESTAMP, aware TIMESTAMPTZ, day DATE, plain_of_aware TIMESTAMP)",
			);
			const micros = 1_700_000_000_123_456n;
			const output = await inProcess(
				`const at = [${micros}n];
				const columns = [
					timestamp("plain", null, at), timestamp("aware", "Europe/Berlin", at),
					timestamp("day", "America/New_York", at), timestamp("plain_of_aware", "Asia/Tokyo", at),
				];
				const [outcome] = await database.insert([jobOf({ columns })]);
				console.log(outcome.receipt?.status ?? outcome.error);`,
				{ env: { TZ: zone } },
			);
			expect(output.trim()).toBe("committed");
			expect(
				await at.sql(
					"SELECT epoch_us(plain), epoch_us(aware), day, epoch_us(plain_of_aware) FROM t",
				),
			).toEqual([[String(micros), String(micros), "2023-11-14", String(micros)]]);
		},
	);
});

const never = () => Promise.reject(new Error("no second try is needed"));
