/** `duckdock replay ID`: a failed load once more, from what is staged. */
import type { Command } from "commander";
import {
	addServiceOptions,
	type CommandContext,
	connect,
	defineCommand,
	tellRetries,
} from "../command.ts";
import { receiptText } from "../print.ts";

export function replayCommand({ deps, outcome }: CommandContext): Command {
	const command = defineCommand(
		"replay",
		"run a failed load again from its staged bytes and wait for it",
		["replay 01JZX0Q3T8M3V5W7X9YABCDEFG"],
	).argument("<id>", "the load's id");
	return addServiceOptions(command).action(
		async (id: string, flags: { url?: string; key?: string }) => {
			const { client } = connect(deps, flags, tellRetries(deps));
			const receipt = await client.replay(id, deps.signal);
			outcome.result = { json: receipt, text: receiptText(receipt) };
		},
	);
}
