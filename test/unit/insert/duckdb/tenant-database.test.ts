/** When the file is attached and let go, on a clock that the test moves and a real DuckDB in memory. */
import { describe, expect, test } from "vitest";
import type { Clock } from "../../../../src/clock.ts";
import type { TenantTarget } from "../../../../src/insert/duckdb/targets.ts";
import { createTenantDatabase } from "../../../../src/insert/duckdb/tenant-database.ts";
import { silentLog } from "../../../../src/log.ts";

function handClock() {
	let now = 0;
	const sleepers: { until: number; wake: () => void }[] = [];
	const clock: Clock = {
		now: () => now,
		sleep: (ms, signal) =>
			new Promise((resolve, reject) => {
				sleepers.push({ until: now + ms, wake: resolve });
				signal?.addEventListener("abort", () => reject(signal.reason), { once: true });
			}),
	};
	const pass = async (ms: number) => {
		now += ms;
		for (const { until, wake } of sleepers) if (until <= now) wake();
		await new Promise((resolve) => setTimeout(resolve, 30));
	};
	return { clock, pass };
}

const target: TenantTarget = {
	tenant: "acme",
	kind: "file",
	catalog: "target",
	location: ":memory:",
	filePath: null,
	extensions: [],
	can: { primaryKeys: true, beAlone: true },
};
const signal = new AbortController().signal;

/** Rows of a table that goes with the instance: 0 means that it was opened anew. */
function setUp() {
	const { clock, pass } = handClock();
	const database = createTenantDatabase(target, {
		clock,
		log: silentLog,
		lockWaitMs: 0,
		lingerMs: 1_500,
		turnMs: 2_000,
		giveWay() {},
	});
	const visit = () =>
		database.use(signal, "create", async (connection) => {
			await connection.run("CREATE TABLE IF NOT EXISTS target.main.visits(n INTEGER)");
			await connection.run("INSERT INTO target.main.visits VALUES (1)");
			const result = await connection.run("SELECT count(*)::INTEGER FROM target.main.visits");
			return (await result.getRowsJS())[0]![0];
		});
	return { database, pass, visit };
}

describe("a tenant's database", () => {
	test("stays attached between handles that follow each other soon", async () => {
		const { database, pass, visit } = setUp();
		for (let n = 1; n <= 3; n++) {
			database.retain();
			expect(await visit()).toBe(n);
			database.release();
			await pass(1_400);
		}
		await database.close();
	});

	test("is let go 1.5 s after the last handle, not after the first", async () => {
		const { database, pass, visit } = setUp();
		database.retain();
		database.retain();
		await visit();
		database.release();
		await pass(5_000);
		expect(await visit()).toBe(2);
		database.release();
		await pass(1_500);
		expect(await visit()).toBe(1);
		await database.close();
	});

	test("is let go after an operation that outlives its handle, never under it", async () => {
		const { database, pass, visit } = setUp();
		database.retain();
		await visit();
		const end = Promise.withResolvers<void>();
		const long = database.use(signal, "create", async (connection) => {
			await end.promise;
			await connection.run("FROM target.main.visits");
		});
		database.release();
		await pass(5_000);
		end.resolve();
		await long;
		expect(await visit()).toBe(2);
		await pass(1_500);
		expect(await visit()).toBe(1);
		await database.close();
	});

	test("after an error of the engine itself is opened anew, when those who use it have ended", async () => {
		const { database, visit } = setUp();
		database.retain();
		await visit();
		const end = Promise.withResolvers<void>();
		const other = database.use(signal, "create", async (connection) => {
			await end.promise;
			await connection.run("FROM target.main.visits");
			return "unharmed";
		});
		const fault = new Error("INTERNAL Error: a fault of the engine");
		await expect(database.use(signal, "create", () => Promise.reject(fault))).rejects.toBe(fault);
		const next = visit();
		end.resolve();
		expect(await other).toBe("unharmed");
		expect(await next).toBe(1);
		await database.close();
	});

	test("closing waits for what runs", async () => {
		const { database, visit } = setUp();
		database.retain();
		await visit();
		let ended = false;
		const long = database.use(signal, "create", async (connection) => {
			await new Promise((resolve) => setTimeout(resolve, 50));
			await connection.run("FROM target.main.visits");
			ended = true;
		});
		await new Promise((resolve) => setTimeout(resolve, 10));
		await database.close();
		expect(ended).toBe(true);
		await long;
	});
});
