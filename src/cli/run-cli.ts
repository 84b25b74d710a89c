/**
 * Arguments in, exit code out.
 *
 * With `--json` standard output gets one document: the command's result or the
 * problem, also for a wrong flag. Everything else goes to standard error.
 */
import { Command, CommanderError } from "commander";
import type { CliDeps } from "./cli-deps.ts";
import { toProblem, UsageError } from "./cli-errors.ts";
import type { CommandContext } from "./command.ts";
import { completionCommand } from "./commands/completion.ts";
import { doctorCommand } from "./commands/doctor.ts";
import { dropCommand } from "./commands/drop.ts";
import { gcCommand } from "./commands/gc.ts";
import { historyCommand } from "./commands/history.ts";
import { keysCommand } from "./commands/keys.ts";
import { loadCommand } from "./commands/load.ts";
import { pushCommand } from "./commands/push.ts";
import { replayCommand } from "./commands/replay.ts";
import { serveCommand } from "./commands/serve.ts";
import { statusCommand } from "./commands/status.ts";
import { exitCodes } from "./exit-codes.ts";
import { type CommandResult, problemText } from "./print.ts";

/** `args` without the program's own name. */
export async function runCli(args: readonly string[], deps: CliDeps): Promise<number> {
	const context: CommandContext = { deps, outcome: { result: null } };
	const program = buildProgram(context);
	const asJson = args.includes("--json");
	try {
		await program.parseAsync([...args], { from: "user" });
		return print(context.outcome.result, asJson, deps);
	} catch (error) {
		return printFailure(error, asJson, deps);
	}
}

export function buildProgram(context: CommandContext): Command {
	const { deps } = context;
	const program = new Command("duckdock")
		.description("Arrow over plain HTTPS into DuckDB, exactly once.")
		.version(deps.version)
		.addHelpText(
			"after",
			"\nExample:\n  $ duckdock load sales.arrow --db sales.duckdb --table sales",
		);
	for (const make of [
		loadCommand,
		pushCommand,
		statusCommand,
		historyCommand,
		replayCommand,
		keysCommand,
		dropCommand,
		serveCommand,
		gcCommand,
		doctorCommand,
		completionCommand,
	]) {
		program.addCommand(make(context));
	}
	forEveryCommand(program, (command) => {
		command.exitOverride();
		command.configureOutput({
			writeOut: (text) => void deps.stdout.write(text),
			writeErr: (text) => void deps.stderr.write(text),
			outputError: () => {},
		});
	});
	return program;
}

function forEveryCommand(command: Command, visit: (command: Command) => void): void {
	visit(command);
	for (const child of command.commands) forEveryCommand(child, visit);
}

function print(result: CommandResult | null, asJson: boolean, deps: CliDeps): number {
	if (result === null) return exitCodes.fine;
	if (asJson) deps.stdout.write(`${JSON.stringify(result.json)}\n`);
	else if (result.text !== "") deps.stdout.write(`${result.text}\n`);
	return result.exitCode ?? exitCodes.fine;
}

function printFailure(error: unknown, asJson: boolean, deps: CliDeps): number {
	if (error instanceof CommanderError) {
		// Help and version were asked for and printed; help without being asked is a wrong call.
		if (error.code === "commander.helpDisplayed" || error.code === "commander.version") return 0;
		if (error.code === "commander.help") return exitCodes.usage;
		return printFailure(new UsageError(error.message.replace(/^error: /, "")), asJson, deps);
	}
	const { problem, exitCode } = toProblem(error);
	if (asJson) deps.stdout.write(`${JSON.stringify(problem)}\n`);
	deps.stderr.write(
		error instanceof UsageError
			? `duckdock: ${error.message}\n  to do: see duckdock --help, or --help of the command\n`
			: `${problemText(problem)}\n`,
	);
	return exitCode;
}
