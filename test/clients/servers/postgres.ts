/** A PostgreSQL of its own on loopback, from the machine's packages; null where there is none. */
import { execFileSync, spawnSync } from "node:child_process";
import { chmodSync, existsSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";

export interface PostgresServer {
	/** For one database of it, in libpq's words. */
	connection(database: string): string;
	createDatabase(name: string): void;
	stop(): void;
}

export async function startPostgres(): Promise<PostgresServer | null> {
	const bin = findBinaries();
	if (bin === null) return null;
	const folder = mkdtempSync(join(tmpdir(), "duckdock-postgres-"));
	const data = join(folder, "data");
	// The server refuses to run as root.
	const user = process.getuid?.() === 0 ? userOf("postgres") : {};
	if ("uid" in user) {
		chmodSync(folder, 0o777);
	}
	const run = (command: string, ...args: string[]) =>
		execFileSync(join(bin, command), args, { ...user, cwd: folder, stdio: "ignore" });
	run("initdb", "-D", data, "-U", "duckdock", "-A", "trust", "--no-sync");
	const port = await freePort();
	const options = `-c listen_addresses=127.0.0.1 -p ${port} -k ${folder} -F`;
	run("pg_ctl", "-D", data, "-o", options, "-w", "-l", join(folder, "log"), "start");
	return {
		connection: (database) => `host=127.0.0.1 port=${port} user=duckdock dbname=${database}`,
		createDatabase: (name) =>
			run("createdb", "-h", "127.0.0.1", "-p", String(port), "-U", "duckdock", name),
		stop() {
			run("pg_ctl", "-D", data, "-m", "immediate", "stop");
			rmSync(folder, { recursive: true, force: true });
		},
	};
}

function findBinaries(): string | null {
	const versions = "/usr/lib/postgresql";
	const folders = existsSync(versions)
		? readdirSync(versions).map((version) => join(versions, version, "bin"))
		: (process.env.PATH ?? "").split(":");
	return folders.find((folder) => existsSync(join(folder, "initdb"))) ?? null;
}

function userOf(name: string): { uid: number; gid: number } {
	const id = (flag: string) => Number(spawnSync("id", [flag, name], { encoding: "utf8" }).stdout);
	return { uid: id("-u"), gid: id("-g") };
}

function freePort(): Promise<number> {
	return new Promise((resolve) => {
		const server = createServer().listen(0, "127.0.0.1", () => {
			const { port } = server.address() as { port: number };
			server.close(() => resolve(port));
		});
	});
}
