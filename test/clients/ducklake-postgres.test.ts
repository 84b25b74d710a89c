/** DuckLake as it runs in earnest: catalog in PostgreSQL, data on an S3 server, two loaders at once. */
import { rmSync } from "node:fs";
import { DuckDBInstance } from "@duckdb/node-api";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { arrowNumbers } from "../contract/arrow-bytes.ts";
import { call, createWorld, type World } from "../e2e/world.ts";
import { extensionFolder } from "./duckdb-extensions.ts";
import { type PostgresServer, startPostgres } from "./servers/postgres.ts";
import { type S3Server, startSeaweedfs } from "./servers/seaweedfs.ts";

const postgres: PostgresServer | null = await startPostgres();
if (postgres === null) console.warn("skipped: DuckLake on PostgreSQL, for PostgreSQL is not here");

let bucket: S3Server;
let extensions: string;
const worlds: World[] = [];
const loadsEach = 12;

beforeAll(async () => {
	if (postgres === null) return;
	bucket = await startSeaweedfs();
	extensions = await extensionFolder();
	postgres.createDatabase("acme");
	for (let n = 0; n < 2; n++) {
		const world = await createWorld({
			...bucket.env,
			DUCKDOCK_TARGET: `ducklake:postgres:${postgres.connection("{tenant}")}`,
			DUCKDOCK_LAKE_DATA: `s3://${bucket.bucket}/lake/{tenant}/`,
			DUCKDOCK_EXTENSIONS: extensions,
		});
		await world.start();
		worlds.push(world);
	}
});
afterAll(async () => {
	for (const world of worlds) await world.end();
	await bucket?.stop();
	postgres?.stop();
	if (extensions) rmSync(extensions, { recursive: true, force: true });
});

const ingest = (world: World, table: string, body: Uint8Array, query = "") =>
	call(world, "POST", `/v1/ingest/${table}${query}`, {
		body,
		headers: { "Content-Type": "application/octet-stream" },
	});

/** By an instance of its own. */
async function sql(statement: string): Promise<unknown[][]> {
	const instance = await DuckDBInstance.create(":memory:", { extension_directory: extensions });
	const connection = await instance.connect();
	try {
		for (const name of ["ducklake", "postgres_scanner", "httpfs"]) {
			await connection.run(`LOAD ${name}`);
		}
		const { AWS_ACCESS_KEY_ID: id, AWS_SECRET_ACCESS_KEY: secret } = bucket.env;
		await connection.run(
			`CREATE SECRET (TYPE s3, KEY_ID '${id}', SECRET '${secret}', REGION 'us-east-1',
			 ENDPOINT '${new URL(bucket.endpoint).host}', URL_STYLE 'path', USE_SSL false)`,
		);
		await connection.run(
			`ATTACH 'ducklake:postgres:${postgres!.connection("acme")}' AS lake (READ_ONLY)`,
		);
		return await (await connection.run(statement)).getRowsJS();
	} finally {
		connection.closeSync();
		instance.closeSync();
	}
}

describe.skipIf(postgres === null)("DuckLake on PostgreSQL and S3", () => {
	it("takes a load, whose data lie in the bucket", async () => {
		const { json } = await ingest(worlds[0]!, "events", arrowNumbers(100));
		expect(json).toMatchObject({ status: "committed", rows_inserted: 100, created_table: true });
		expect(await sql("SELECT count(*)::INT FROM lake.events")).toEqual([[100]]);
		expect(
			await sql("SELECT count(*)::INT FROM lake._duckdock.loads WHERE rows_inserted = 100"),
		).toEqual([[1]]);
	});

	it("is written by two loader processes at once, each load there once", async () => {
		const answers = await Promise.all(
			worlds.flatMap((world, which) =>
				Array.from({ length: loadsEach }, (_, n) =>
					ingest(world, "shared", arrowNumbers(50, 1_000 * (which * loadsEach + n))),
				),
			),
		);
		const failures = answers.filter(({ json }) => json.status !== "committed");
		expect(failures.map(({ json }) => json)).toEqual([]);
		const loads = 2 * loadsEach;
		expect(await sql("SELECT count(*)::INT, count(DISTINCT id)::INT FROM lake.shared")).toEqual([
			[50 * loads, 50 * loads],
		]);
		expect(
			await sql(`SELECT count(*)::INT, count(DISTINCT load_id)::INT FROM lake._duckdock.loads
				WHERE "table" = 'main.shared'`),
		).toEqual([[loads, loads]]);
	});
});
