/** A service as a program: the environment in; it runs until SIGINT or SIGTERM and drains then. */
import process from "node:process";
import { type Config, readConfig } from "../src/config.ts";
import { createLog, type Log } from "../src/log.ts";

/** Exit code 2 and the reason on standard error where it can't start. */
export async function runUntilStopped(
	start: (config: Config, log: Log) => Promise<{ close(): Promise<void> }>,
): Promise<void> {
	try {
		const config = readConfig(process.env);
		const log = createLog(config.logLevel, (line) => process.stderr.write(`${line}\n`));
		const service = await start(config, log);
		for (const signal of ["SIGINT", "SIGTERM"] as const) {
			process.once(signal, () => service.close().then(() => process.exit(0)));
		}
	} catch (error) {
		process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
		process.exit(2);
	}
}
