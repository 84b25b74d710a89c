/** The service as its users start it, in a folder of its own, with a key. */
import { spawn } from "node:child_process";
import { join } from "node:path";
import process from "node:process";
import { collectOutput, cpuMs, notePeaks, runChild } from "./child.ts";
import { root } from "./folders.ts";

export interface Service {
	url: string;
	key: string;
	databasePath: string;
	/** VmHWM so far: `main` is the HTTP side, `child` the loader. */
	peakBytes(): Record<string, number>;
	/** Processor time so far, likewise. */
	cpuMs(): Record<string, number>;
	stop(): Promise<void>;
}

const cli = join(root, "functions/duckdock.js");
const tenant = "bench";

export async function startService(
	folder: string,
	env: Record<string, string> = {},
): Promise<Service> {
	const settings = {
		DUCKDOCK_STORE: `file:${join(folder, "objects")}`,
		DUCKDOCK_TARGET: join(folder, "db/{tenant}.duckdb"),
		DUCKDOCK_LISTEN: "127.0.0.1:0",
		DUCKDOCK_LOG: "warn",
		...env,
	};
	const rights = "append,create,replace,read";
	const created = await runChild(
		process.execPath,
		[cli, "keys", "create", "--tenant", tenant, "--modes", rights, "--json"],
		settings,
	);
	const { key } = JSON.parse(created.stdout) as { key: string };
	const child = spawn(process.execPath, [cli, "serve", "--json"], {
		env: { ...process.env, ...settings },
		stdio: ["ignore", "pipe", "pipe"],
	});
	const output = collectOutput(child);
	const ended = new Promise<void>((resolve) => child.on("close", () => resolve()));
	const url = await new Promise<string>((resolve, reject) => {
		child.stdout.on("data", () => {
			if (output.stdout.includes("\n")) resolve(JSON.parse(output.stdout).url);
		});
		ended.then(() => reject(new Error(`the service ended: ${output.stderr.slice(-2000)}`)));
	});
	// Its start is no part of an upload: what is measured is a service that runs.
	while (!(await fetch(`${url}/readyz`)).ok) await new Promise((next) => setTimeout(next, 20));
	const peaks: Record<string, number> = {};
	return {
		url,
		key,
		databasePath: join(folder, `db/${tenant}.duckdb`),
		peakBytes() {
			notePeaks(child.pid!, peaks);
			return { ...peaks };
		},
		cpuMs: () => cpuMs(child.pid!),
		async stop() {
			child.kill("SIGTERM");
			await ended;
		},
	};
}
