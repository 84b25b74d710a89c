/** `duckdock gc`: removes staged bytes whose time is over, and says which. */
import type { Command } from "commander";
import { type CommandContext, defineCommand } from "../command.ts";

export function gcCommand({ deps, outcome }: CommandContext): Command {
	return defineCommand("gc", "remove staged bytes whose time is over", ["gc --json"]).action(
		async () => {
			const removed = await deps.collectGarbage(deps.signal);
			const text =
				removed.length === 0
					? "nothing to remove"
					: [...removed, `removed ${removed.length} objects`].join("\n");
			outcome.result = { json: { removed }, text };
		},
	);
}
