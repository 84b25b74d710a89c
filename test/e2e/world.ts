/**
 * The product as its users meet it: the CLI and the service as processes of their
 * own, in a folder of their own; rows are read by DuckDB in yet another process.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import process from "node:process";
import { parseKeyToken } from "../../src/tenant/key-token.ts";

export const root = resolve(import.meta.dirname, "../..");
const entry = join(root, "functions/duckdock.js");

// biome-ignore lint/suspicious/noExplicitAny: tests look at answers as their callers do
export type Json = any;

export interface Ran {
	code: number | null;
	stdout: string;
	stderr: string;
}

export interface RunOptions {
	env?: Record<string, string>;
	input?: string | Uint8Array;
	/** Called once it runs, for who wants to disturb it. */
	started?: (child: ChildProcess) => void;
}

export function runProcess(
	command: string,
	args: readonly string[],
	options: RunOptions = {},
): Promise<Ran> {
	return new Promise((resolvePromise, reject) => {
		const child = spawn(command, args, {
			cwd: root,
			env: { ...cleanEnv(), ...options.env },
			stdio: ["pipe", "pipe", "pipe"],
		});
		const ran: Ran = { code: null, stdout: "", stderr: "" };
		child.stdout.on("data", (chunk) => {
			ran.stdout += chunk;
		});
		child.stderr.on("data", (chunk) => {
			ran.stderr += chunk;
		});
		child.stdin.on("error", () => {});
		child.stdin.end(options.input ?? "");
		child.on("error", reject);
		child.on("close", (code) => resolvePromise({ ...ran, code }));
		options.started?.(child);
	});
}

/** What a developer has set must not change a test. */
function cleanEnv(): NodeJS.ProcessEnv {
	return Object.fromEntries(
		Object.entries(process.env).filter(([name]) => !name.startsWith("DUCKDOCK_")),
	);
}

export function cli(args: readonly string[], options: RunOptions = {}): Promise<Ran> {
	return runProcess(process.execPath, [entry, ...args], options);
}

/** The one JSON document that `--json` promises. */
export async function cliJson(
	args: readonly string[],
	options: RunOptions = {},
): Promise<{ code: number | null; json: Json }> {
	const ran = await cli([...args, "--json"], options);
	try {
		return { code: ran.code, json: JSON.parse(ran.stdout) };
	} catch {
		throw new Error(`not one JSON document (exit ${ran.code}): ${ran.stdout}\n${ran.stderr}`);
	}
}

/** Rows as JSON arrays, read by another process once the file is let go. */
export async function query(database: string, sql: string): Promise<unknown[][]> {
	const script = join(import.meta.dirname, "query.ts");
	const ran = await runProcess(process.execPath, [script, database, sql]);
	if (ran.code !== 0) throw new Error(ran.stderr);
	return JSON.parse(ran.stdout);
}

export interface World {
	folder: string;
	env: Record<string, string>;
	/** Only once `start` was called. */
	url: string;
	key: string;
	database: string;
	start(): Promise<void>;
	/** SIGTERM: it drains. */
	stop(): Promise<void>;
	/** SIGKILL of the service and its loader. */
	kill(): Promise<void>;
	/** Stops everything, removes the folder, and fails where a log line holds the key's secret. */
	end(): Promise<void>;
	/** Log lines so far. */
	log(): string;
}

export async function createWorld(settings: Record<string, string> = {}): Promise<World> {
	const folder = mkdtempSync(join(tmpdir(), "duckdock-e2e-"));
	const env: Record<string, string> = {
		DUCKDOCK_STORE: `file:${join(folder, "objects")}`,
		DUCKDOCK_TARGET: join(folder, "db/{tenant}.duckdb"),
		DUCKDOCK_LISTEN: "127.0.0.1:0",
		XDG_STATE_HOME: join(folder, "state"),
		...settings,
	};
	const created = await cliJson(
		["keys", "create", "--tenant", "acme", "--modes", "append,create,replace,add_columns,read"],
		{ env },
	);
	if (created.code !== 0) throw new Error(JSON.stringify(created));
	let child: ChildProcess | null = null;
	let log = "";
	const ended = async (signal: NodeJS.Signals) => {
		if (child === null || child.exitCode !== null || child.signalCode !== null) return;
		const closed = new Promise((done) => child!.once("close", done));
		if (signal === "SIGKILL") process.kill(-child.pid!, signal);
		else child.kill(signal);
		await closed;
	};
	const world: World = {
		folder,
		env,
		url: "",
		key: created.json.key,
		database: join(folder, "db/acme.duckdb"),
		async start() {
			const service = spawn(process.execPath, [entry, "serve", "--json"], {
				cwd: root,
				env: { ...cleanEnv(), ...env },
				stdio: ["ignore", "pipe", "pipe"],
				detached: true,
			});
			child = service;
			service.stderr.on("data", (chunk) => {
				log += chunk;
			});
			world.url = await new Promise((done, reject) => {
				let text = "";
				service.stdout.on("data", (chunk) => {
					text += chunk;
					if (text.includes("\n")) done(JSON.parse(text).url);
				});
				service.on("close", (code) => reject(new Error(`the service ended with ${code}: ${log}`)));
			});
			// The same address after a restart.
			env.DUCKDOCK_LISTEN = new URL(world.url).host;
			env.DUCKDOCK_URL = world.url;
			env.DUCKDOCK_KEY = world.key;
		},
		stop: () => ended("SIGTERM"),
		kill: () => ended("SIGKILL"),
		async end() {
			await ended("SIGKILL");
			rmSync(folder, { recursive: true, force: true });
			// Whatever the test was about: no line of any run holds a key's secret.
			const { secret } = parseKeyToken(created.json.key)!;
			const telling = log.split("\n").find((line) => line.includes(secret));
			if (telling !== undefined) throw new Error(`a log line holds a secret: ${telling}`);
		},
		log: () => log,
	};
	return world;
}

export function writeFile(world: World, name: string, bytes: Uint8Array | string): string {
	const path = join(world.folder, name);
	writeFileSync(path, bytes);
	return path;
}

/** A request as a script makes it; the body of the answer parsed where it is JSON. */
export async function call(
	world: World,
	method: string,
	path: string,
	options: { body?: Uint8Array | string; headers?: Record<string, string> } = {},
): Promise<{ status: number; headers: Headers; json: Json }> {
	const response = await fetch(world.url + path, {
		method,
		headers: {
			Authorization: `Bearer ${world.key}`,
			...(typeof options.body === "string" ? { "Content-Type": "application/json" } : {}),
			...options.headers,
		},
		body: (options.body as Uint8Array<ArrayBuffer> | string | undefined) ?? null,
	});
	const text = await response.text();
	return {
		status: response.status,
		headers: response.headers,
		json: text === "" ? null : JSON.parse(text),
	};
}
