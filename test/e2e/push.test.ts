import { copyFileSync, readdirSync, readFileSync } from "node:fs";
import { createServer, request, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { tableFromArrays, tableToIPC } from "apache-arrow";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { superstore, superstorePath } from "./superstore.ts";
import { cli, cliJson, createWorld, query, type World, writeFile } from "./world.ts";

let world: World;
beforeAll(async () => {
	world = await createWorld();
	await world.start();
});
afterAll(() => world.end());

const push = (args: string[], env: Record<string, string> = {}) =>
	cliJson(["push", ...args], { env: { ...world.env, ...env } });

/** Passes everything on, and counts; `disturb` may answer in the service's place by destroying the socket. */
async function startProxy(disturb: (name: string, count: number) => "cut" | "stop" | undefined) {
	const seen: string[] = [];
	const server: Server = createServer((incoming, answer) => {
		const name = `${incoming.method} ${incoming.url}`;
		seen.push(name);
		const what = disturb(name, seen.filter((one) => one === name).length);
		if (what === "cut") return void incoming.socket.destroy();
		if (what === "stop") return;
		const passed = request(
			world.url + incoming.url,
			{ method: incoming.method, headers: incoming.headers },
			(response) => {
				answer.writeHead(response.statusCode!, response.headers);
				response.pipe(answer);
			},
		);
		passed.on("error", () => incoming.socket.destroy());
		incoming.pipe(passed);
	});
	await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
	const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
	const close = () => {
		server.closeAllConnections();
		return new Promise((done) => server.close(done));
	};
	return { url, seen, close };
}

describe("duckdock push", () => {
	it("uploads in parts and prints the receipt, which status and history show too", async () => {
		const { code, json } = await push([
			superstorePath,
			"--table",
			"sales",
			"--part-size",
			"300KiB",
		]);
		expect(code).toBe(0);
		expect(json).toMatchObject({
			status: "committed",
			table: "main.sales",
			rows_inserted: superstore.rows,
			parts: 7,
		});
		const status = await cliJson(["status", json.load_id], { env: world.env });
		expect(status).toEqual({ code: 0, json });
		const history = await cliJson(["history", "--table", "sales"], { env: world.env });
		expect(history.json.map((one: { load_id: string }) => one.load_id)).toContain(json.load_id);
		expect(await query(world.database, "SELECT count(*)::INT FROM sales")).toEqual([
			[superstore.rows],
		]);
	});

	it("tells its progress as plain lines and the receipt as text when no one asks for JSON", async () => {
		const ran = await cli(["push", superstorePath, "--table", "sales_text"], { env: world.env });
		expect(ran.code).toBe(0);
		expect(ran.stdout).toMatch(/^committed [0-9A-Z]{26}\n {2}table {5}main\.sales_text/);
		expect(ran.stdout + ran.stderr).not.toContain("\x1b[");
	});

	it("goes through with parts that are cut on the way", async () => {
		const proxy = await startProxy((name, count) =>
			name.startsWith("PUT") && count === 1 ? "cut" : undefined,
		);
		const { code, json } = await push([
			superstorePath,
			"--table",
			"cut",
			"--part-size",
			"500KiB",
			"--url",
			proxy.url,
		]);
		await proxy.close();
		expect([code, json.rows_inserted]).toEqual([0, superstore.rows]);
		expect(proxy.seen.filter((name) => name.startsWith("PUT")).length).toBe(2 * json.parts);
		expect(await query(world.database, "SELECT count(*)::INT FROM cut")).toEqual([
			[superstore.rows],
		]);
	});

	it("goes on by itself where Ctrl-C stopped it when the same file is pushed again", async () => {
		const file = join(world.folder, "resumed.arrow");
		copyFileSync(superstorePath, file);
		let killed = (_: string) => {};
		let sent = 0;
		const proxy = await startProxy((name) => {
			if (!name.startsWith("PUT")) return undefined;
			sent += 1;
			if (sent <= 3) return undefined;
			killed(name);
			return "stop";
		});
		const args = [
			"push",
			file,
			"--table",
			"resumed",
			"--part-size",
			"300KiB",
			"--parallel",
			"1",
			"--url",
			proxy.url,
		];
		const first = await cli(args, {
			env: world.env,
			started: (child) => {
				killed = () => child.kill("SIGINT");
			},
		});
		expect(first.code).not.toBe(0);
		expect(first.stderr).toContain("push the same files again");
		sent = Number.NEGATIVE_INFINITY;
		const before = proxy.seen.length;
		const second = await cliJson(args, { env: world.env });
		await proxy.close();
		expect(second.code).toBe(0);
		expect(second.json).toMatchObject({ rows_inserted: superstore.rows, parts: 7 });
		const again = proxy.seen.slice(before);
		expect(again.filter((name) => name.startsWith("PUT")).length).toBe(4);
		expect(again.filter((name) => name === "POST /v1/uploads")).toEqual([]);
		expect(await query(world.database, "SELECT count(*)::INT FROM resumed")).toEqual([
			[superstore.rows],
		]);
		expect(readdirSync(join(world.folder, "state/duckdock/uploads"))).toEqual([]);
	});

	it("goes on where SIGKILL ended it, by itself and by the id that --resume names", async () => {
		for (const named of [false, true]) {
			const table = named ? "resumed_named" : "resumed_killed";
			const file = join(world.folder, `${table}.arrow`);
			copyFileSync(superstorePath, file);
			let kill = () => {};
			let sent = 0;
			const proxy = await startProxy((name) => {
				if (!name.startsWith("PUT") || ++sent <= 3) return undefined;
				kill();
				return "stop";
			});
			const args = ["push", file, "--table", table, "--part-size", "300KiB", "--url", proxy.url];
			const first = await cli([...args, "--parallel", "1"], {
				env: world.env,
				started: (child) => {
					kill = () => void child.kill("SIGKILL");
				},
			});
			expect(first.code).toBeNull();
			sent = Number.NEGATIVE_INFINITY;
			const before = proxy.seen.length;
			const id = /uploads\/([0-9A-Z]{26})\//.exec(proxy.seen.join(" "))![1]!;
			// What this machine remembers of it is not asked for where an id is named.
			const second = await cliJson(named ? [...args, "--resume", id] : args, {
				env: named ? { ...world.env, XDG_STATE_HOME: join(world.folder, "empty") } : world.env,
			});
			await proxy.close();
			expect([second.code, second.json.load_id]).toEqual([0, id]);
			expect(second.json).toMatchObject({ rows_inserted: superstore.rows, parts: 7 });
			const again = proxy.seen.slice(before);
			expect(again.filter((name) => name.startsWith("PUT")).length).toBe(4);
			expect(await query(world.database, `SELECT count(*)::INT FROM ${table}`)).toEqual([
				[superstore.rows],
			]);
		}
	});

	it("pushes several files and standard input as one load", async () => {
		const stream = (id: number) => tableToIPC(tableFromArrays({ id: Int32Array.of(id) }), "stream");
		const paths = [1, 2].map((id) => writeFile(world, `many-${id}.arrow`, stream(id)));
		const { json } = await push([...paths, "--table", "many"]);
		expect(json).toMatchObject({ status: "committed", rows_inserted: 2 });
		const piped = await cliJson(["push", "-", "--table", "many"], {
			env: world.env,
			input: readFileSync(paths[0]!),
		});
		expect(piped.json).toMatchObject({ status: "committed", rows_inserted: 1 });
		const glob = await push([join(world.folder, "many-*.arrow"), "--table", "many"]);
		expect(glob.json).toMatchObject({ rows_inserted: 2 });
		expect(
			await query(world.database, "SELECT id::INT, count(*)::INT FROM many GROUP BY 1 ORDER BY 1"),
		).toEqual([
			[1, 3],
			[2, 2],
		]);
	});

	it("ends with the exit code of the problem", async () => {
		const good = writeFile(
			world,
			"good.arrow",
			tableToIPC(tableFromArrays({ id: Int32Array.of(1) }), "stream"),
		);
		const csv = writeFile(world, "bad.csv", "a,b\n1,2\n");
		const cases: [string[], Record<string, string>, number, string][] = [
			[[csv, "--table", "t"], {}, 65, "not_arrow"],
			[[good, "--table", "none", "--mode", "append"], {}, 73, "table_not_found"],
			[[good, "--table", "information_schema.t"], {}, 77, "forbidden_table"],
			[
				[good, "--table", "t"],
				{ DUCKDOCK_KEY: `dk_${"a".repeat(16)}_${"b".repeat(52)}` },
				77,
				"unauthenticated",
			],
			[[good, "--table", "t"], { DUCKDOCK_KEY: "" }, 77, "unauthenticated"],
			[
				[good, "--table", "t", "--resume", "01JZX0Q3T8M3V5W7X9YABCDEFG"],
				{},
				66,
				"upload_not_found",
			],
		];
		for (const [args, env, code, problem] of cases) {
			const ran = await push(args, env);
			expect([args[2], ran.code, ran.json.code]).toEqual([args[2], code, problem]);
		}
		const missing = await cliJson(["status", "01JZX0Q3T8M3V5W7X9YABCDEFG"], { env: world.env });
		expect([missing.code, missing.json.code]).toEqual([66, "load_not_found"]);
	});

	it("ends with 69 when nobody answers", async () => {
		const good = writeFile(
			world,
			"nobody.arrow",
			tableToIPC(tableFromArrays({ id: Int32Array.of(1) }), "stream"),
		);
		const gone = await startProxy(() => undefined);
		await gone.close();
		const { code, json } = await push([good, "--table", "t", "--url", gone.url]);
		expect(code).toBe(69);
		expect(json.detail).toContain("no connection");
		expect(json.detail).toContain("ECONNREFUSED");
	});

	it("replays a failed load once its table is there", async () => {
		const good = writeFile(
			world,
			"late.arrow",
			tableToIPC(tableFromArrays({ id: Int32Array.of(7) }), "stream"),
		);
		const failed = await push([good, "--table", "late", "--mode", "append"]);
		expect([failed.code, failed.json.code]).toEqual([73, "table_not_found"]);
		const id = failed.json.load_id;
		expect((await push([good, "--table", "late", "--mode", "create"])).code).toBe(0);
		const replayed = await cliJson(["replay", id], { env: world.env });
		expect(replayed.code).toBe(0);
		expect(replayed.json).toMatchObject({ load_id: id, status: "committed", rows_inserted: 1 });
		expect(await query(world.database, "SELECT id::INT FROM late")).toEqual([[7], [7]]);
	});
});
