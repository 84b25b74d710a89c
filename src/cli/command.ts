/**
 * The frame of a command: `--json`, an example in its help, its result printed, its
 * failure told.
 */
import { Command, Option } from "commander";
import type { HttpOptions } from "../client/http-client.ts";
import { createIngestClient, type IngestClient } from "../client/ingest-client.ts";
import { IngestError } from "../errors.ts";
import { type ExtraColumnPolicy, extraColumnPolicies, type LoadMode, loadModes } from "../flow.ts";
import { splitTablePatterns } from "../tenant/table-patterns.ts";
import { assertTenantName } from "../tenant/tenant-name.ts";
import { parseBytes } from "../units.ts";
import type { CliDeps } from "./cli-deps.ts";
import { UsageError } from "./cli-errors.ts";
import { nodeClient } from "./node-client.ts";
import type { CommandResult } from "./print.ts";

/** Set by a command's action; printed by `run-cli.ts`. */
export interface Outcome {
	result: CommandResult | null;
}

/** What every command is made with. */
export interface CommandContext {
	deps: CliDeps;
	outcome: Outcome;
}

export function defineCommand(
	name: string,
	description: string,
	examples: readonly string[],
): Command {
	const lines = examples.map((example) => `  $ duckdock ${example}`).join("\n");
	return new Command(name)
		.description(description)
		.addOption(new Option("--json", "print one JSON document on standard output"))
		.addHelpText("after", `\nExample${examples.length > 1 ? "s" : ""}:\n${lines}`);
}

export interface LoadFlags {
	table: string;
	mode: LoadMode;
	onExtraColumns: ExtraColumnPolicy;
	dryRun?: true;
	requireEos?: true;
	rows?: number;
	idempotencyKey?: string;
}

/** The parameters of a load, which `load` and `push` share. */
export function addLoadOptions(command: Command): Command {
	return command
		.requiredOption("--table <name>", "table or schema.table; a name with a dot in double quotes")
		.addOption(
			new Option("--mode <mode>", "what to do with the table")
				.choices(loadModes)
				.default("create_append"),
		)
		.addOption(
			new Option("--on-extra-columns <policy>", "columns that the table lacks")
				.choices(extraColumnPolicies)
				.default("error"),
		)
		.option("--dry-run", "check everything, write nothing")
		.option("--require-eos", "refuse a stream without its end-of-stream marker")
		.option("--rows <n>", "rows there should be; another number is an error", wholeNumber(0))
		.option("--idempotency-key <key>", "the same key and content are one load");
}

/** A client of the service that `--url` and `--key`, or the environment, name. */
export function addServiceOptions(command: Command): Command {
	return command
		.option("--url <url>", "the service; or DUCKDOCK_URL")
		.option("--key <key>", "dk_…; or DUCKDOCK_KEY, which no process list shows");
}

export function connect(
	deps: CliDeps,
	flags: { url?: string; key?: string },
	onRetry: NonNullable<HttpOptions["onRetry"]>,
): { url: string; client: IngestClient } {
	const url = flags.url ?? deps.url;
	if (url === undefined || url === "") {
		throw new UsageError("which service? Give --url http://127.0.0.1:8787 or set DUCKDOCK_URL");
	}
	if (!/^https?:\/\/[^/]/.test(url) || !URL.canParse(url)) {
		throw new UsageError(`--url is http://HOST[:PORT] or https://…, not ${JSON.stringify(url)}`);
	}
	const key = flags.key ?? deps.key;
	if (key === undefined || key === "") {
		throw new IngestError("unauthenticated", "no key given: use --key or set DUCKDOCK_KEY");
	}
	return { url, client: createIngestClient({ ...nodeClient, url, key, onRetry, maxTries: 6 }) };
}

/** Retries as lines on standard error. */
export function tellRetries(deps: CliDeps): NonNullable<HttpOptions["onRetry"]> {
	return (event) => {
		deps.stderr.write(
			`${event.request}: ${event.reason}; again in ${(event.delayMs / 1000).toFixed(1)} s (try ${event.attempt + 1})\n`,
		);
	};
}

export function wholeNumber(min: number): (text: string) => number {
	return (text) => {
		const value = Number(text);
		if (!/^\d+$/.test(text) || !Number.isSafeInteger(value) || value < min) {
			throw new UsageError(`${JSON.stringify(text)} is no whole number of at least ${min}`);
		}
		return value;
	};
}

export function byteSize(text: string): number {
	const bytes = parseBytes(text);
	if (bytes === null || bytes < 1) {
		throw new UsageError(`${JSON.stringify(text)} is no size: write 8MiB, 95MB or 1048576`);
	}
	return bytes;
}

export const tenantName = flagValue("--tenant", assertTenantName);
export const tablePatterns = flagValue("--tables", splitTablePatterns);

/** What a reader of the service refuses is a wrong flag here. */
function flagValue<T>(flag: string, read: (text: string) => T): (text: string) => T {
	return (text) => {
		try {
			return read(text);
		} catch (error) {
			if (error instanceof IngestError) throw new UsageError(`${flag}: ${error.message}`);
			throw error;
		}
	};
}
