/**
 * What small loads cost, counted and not timed: calls of the file system, syncs, statements of
 * DuckDB. The numbers are what they are today; a change that needs more says why here.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DuckDBConnection, DuckDBInstance } from "@duckdb/node-api";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { createFsStore } from "../../src/stage/stores/fs-store.ts";
import { arrowNumbers } from "./arrow-bytes.ts";
import { ReplayWorld } from "./replay-world.ts";

const calls = vi.hoisted(() => new Map<string, number>());

/** Counts calls by name, those that make a file as `create`. */
function counting(module: Record<string, unknown>): Record<string, unknown> {
	return Object.fromEntries(
		Object.entries(module).map(([name, member]) => {
			if (typeof member !== "function" || !/^[a-z]/.test(name)) return [name, member];
			const call = (...args: unknown[]) => {
				const plain = args[1] === "wx" ? "create" : name.replace(/Sync$/, "");
				calls.set(plain, (calls.get(plain) ?? 0) + 1);
				return member(...args);
			};
			return [name, Object.assign(call, member)];
		}),
	);
}
vi.mock("node:fs", async (original) => counting(await original()));
vi.mock("node:fs/promises", async (original) => counting(await original()));

const statements: string[] = [];
/** Since `forget` was called. */
const sum = (...names: string[]) => names.reduce((all, name) => all + (calls.get(name) ?? 0), 0);
function forget(): void {
	calls.clear();
	statements.length = 0;
}

let folder: string;
let world: ReplayWorld;
const originals = {
	run: DuckDBConnection.prototype.run,
	prepare: DuckDBConnection.prototype.prepare,
	connect: DuckDBInstance.prototype.connect,
};
beforeAll(async () => {
	const { run, prepare, connect } = originals;
	DuckDBConnection.prototype.run = function (sql, ...more) {
		// Once a process the ledger's last page is held against the history; each of our starts is one.
		if (!sql.includes("ORDER BY load_id DESC")) statements.push(sql);
		return run.call(this, sql, ...more);
	};
	DuckDBConnection.prototype.prepare = function (sql) {
		statements.push(`PREPARE ${sql}`);
		return prepare.call(this, sql);
	};
	DuckDBInstance.prototype.connect = function () {
		statements.push("connect");
		return connect.call(this);
	};
	folder = mkdtempSync(join(tmpdir(), "duckdock-costs-"));
	const store = await createFsStore({ folder: join(folder, "objects") });
	world = new ReplayWorld(() => store);
	// Keeps the database attached, as loads do that follow each other.
	await world.fixture.database();
	world.start();
	for (let n = 0; n < 3; n++) await world.receipt(await world.ingest(arrowNumbers()));
	await world.stop();
});
afterAll(async () => {
	await world.end();
	Object.assign(DuckDBConnection.prototype, { run: originals.run, prepare: originals.prepare });
	DuckDBInstance.prototype.connect = originals.connect;
	rmSync(folder, { recursive: true, force: true });
});

/** `count` loads that wait together, until all that they leave behind is written. */
async function load(count: number): Promise<void> {
	const ids = [];
	for (let n = 0; n < count; n++) ids.push(await world.ingest(arrowNumbers()));
	world.start();
	for (const id of ids) expect((await world.receipt(id)).status).toBe("committed");
	await world.stop();
}

describe("to be staged in one request, a small body costs", () => {
	it("three files, two folders for them, and a sync of each and of the folders above", async () => {
		forget();
		await world.ingest(arrowNumbers());
		expect(sum("create")).toBe(3);
		expect(sum("mkdir")).toBeLessThanOrEqual(2);
		// Request and part, their folders and the tenant's, once more where one makes a folder that the
		// other was about to; the manifest and the upload's folder.
		expect(sum("fsync")).toBeLessThanOrEqual(9);
		// What a put if absent leaves aside is a second name of the file.
		expect([sum("link"), sum("unlink")]).toEqual([3, 2]);
		// The request's, tried first as if its folder were there.
		expect(sum("rename")).toBe(2);
		expect(sum("readdir", "readFile", "rm", "rmdir")).toBe(0);
		await load(0);
	});
});

describe("to be loaded", () => {
	it("alone, a small load costs six statements of DuckDB", async () => {
		await load(1);
		forget();
		await load(1);
		expect(statements.map((sql) => sql.trim().split(/\s+/).slice(0, 2).join(" "))).toEqual([
			"BEGIN TRANSACTION",
			"INSERT INTO",
			"INSERT INTO",
			"COMMIT",
			"SELECT load_id",
			"DROP VIEW",
		]);
	});

	it("sixteen that wait together cost no more statements than one", async () => {
		forget();
		await load(16);
		expect(statements).toHaveLength(6);
	});

	it("each costs one file, its receipt, a sync of it, and a share of what all of them write", async () => {
		forget();
		const ids = [];
		for (let n = 0; n < 16; n++) ids.push(await world.ingest(arrowNumbers()));
		forget();
		world.start();
		for (const id of ids) await world.receipt(id);
		await world.stop();
		// The receipt. Leases are names of one file, so are index entries; the table's description is one for all.
		expect(sum("create")).toBeLessThanOrEqual(16 + 3);
		// Lease, index entry and receipt, and the lease once more without its folder.
		expect(sum("link")).toBeLessThanOrEqual(4 * 16 + 1);
		// The receipts, and their folder: once for the first and for all that came meanwhile, and so on.
		expect(sum("fsync")).toBeLessThanOrEqual(16 + 16 / 2);
		// The lease's folder, tried first without.
		expect(sum("mkdir")).toBeLessThanOrEqual(16);
		// Read are the manifest, the part, the lease before COMMIT and, by who waits here, the receipt.
		expect(sum("open")).toBeLessThanOrEqual(4 * 16 + 4);
		// Looked for are those, and before them a receipt and a next lease that aren't there.
		expect(sum("stat")).toBeLessThanOrEqual(6 * 16 + 4);
		// The lease, and the other name of what became the receipt.
		expect(sum("unlink")).toBeLessThanOrEqual(2 * 16 + 4);
		expect(sum("readdir")).toBe(0);
	});
});
