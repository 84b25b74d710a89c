/** `duckdock status ID`: one load as it is now. */
import type { Command } from "commander";
import {
	addServiceOptions,
	type CommandContext,
	connect,
	defineCommand,
	tellRetries,
} from "../command.ts";
import { exitCodeOfProblem, exitCodes } from "../exit-codes.ts";
import { receiptText } from "../print.ts";

export function statusCommand({ deps, outcome }: CommandContext): Command {
	const command = defineCommand("status", "show one load: its receipt, or where it is", [
		"status 01JZX0Q3T8M3V5W7X9YABCDEFG",
	]).argument("<id>", "the load's id, which is the upload's");
	return addServiceOptions(command).action(
		async (id: string, flags: { url?: string; key?: string }) => {
			const { client } = connect(deps, flags, tellRetries(deps));
			const receipt = await client.load(id, deps.signal);
			const exitCode = receipt.error ? exitCodeOfProblem(receipt.error) : exitCodes.fine;
			outcome.result = { json: receipt, text: receiptText(receipt), exitCode };
		},
	);
}
