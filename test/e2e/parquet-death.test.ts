/** The loader dies while it has the copy of a Parquet file: the file is there once, its copy is not. */
import { existsSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { afterAll, beforeAll, expect, it } from "vitest";
import { type Service, startService } from "../../functions/all.node.ts";
import { readConfig } from "../../src/config.ts";
import { silentLog } from "../../src/log.ts";
import { parquetOf } from "../contract/parquet-bytes.ts";
import { openFolderDrops } from "./folder-drops.ts";
import { query } from "./world.ts";

const folder = mkdtempSync(join(tmpdir(), "duckdock-parquet-death-"));
const copies = join(folder, "duckdock-parquet");
let service: Service;

beforeAll(() => {
	// Of the loader, which inherits it.
	process.env.TMPDIR = folder;
});
afterAll(async () => {
	await service?.close();
	rmSync(folder, { recursive: true, force: true });
});

const found = () =>
	existsSync(copies)
		? readdirSync(copies, { recursive: true })
				.map(String)
				.filter((name) => name.endsWith(".parquet"))
		: [];

it("a Parquet file whose loader dies is loaded once by the next one, which removes the copy", async () => {
	const bytes = await parquetOf(
		"SELECT range AS n, md5(range::VARCHAR) AS t FROM range(1500000)",
		", COMPRESSION ZSTD",
	);
	const { drop, receipts } = await openFolderDrops(folder);
	const id = await drop("main/t/x.parquet", bytes);
	const config = readConfig({
		DUCKDOCK_STORE: `file:${join(folder, "objects")}`,
		DUCKDOCK_TARGET: join(folder, "db/{tenant}.duckdb"),
		DUCKDOCK_LISTEN: "127.0.0.1:0",
		DUCKDOCK_FSYNC: "off",
	});
	service = await startService(config, { log: silentLog });
	let left: string[] = [];
	while (left.length === 0) {
		await new Promise((wake) => setTimeout(wake, 2));
		left = found();
	}
	const first = service.loaderPid()!;
	process.kill(first, "SIGKILL");
	const receipt = await receipts.waitFor("acme", id, AbortSignal.timeout(100_000));
	expect(receipt).toMatchObject({ status: "committed", rows_inserted: 1_500_000, attempts: 2 });
	expect(service.loaderPid()).not.toBe(first);
	await service.close();
	expect(found()).toEqual([]);
	expect(readdirSync(copies).some((name) => name.endsWith(`@${first}`))).toBe(false);
	const database = join(folder, "db/acme.duckdb");
	expect(await query(database, "SELECT count(*)::INT, count(DISTINCT n)::INT FROM t")).toEqual([
		[1_500_000, 1_500_000],
	]);
	expect(await query(database, "SELECT count(*)::INT FROM _duckdock.loads")).toEqual([[1]]);
});
