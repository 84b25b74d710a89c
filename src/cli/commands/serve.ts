/** `duckdock serve`: the service, until Ctrl-C or SIGTERM; then it drains. */
import type { Command } from "commander";
import { type CommandContext, defineCommand } from "../command.ts";

export function serveCommand({ deps }: CommandContext): Command {
	return defineCommand("serve", "run the service: HTTP, staging and the loader, until Ctrl-C", [
		"serve",
	]).action(async (flags: { json?: true }) => {
		const service = await deps.serve(deps.signal);
		// Said once it listens, not when it has stopped.
		deps.stdout.write(
			flags.json
				? `${JSON.stringify({ url: service.url })}\n`
				: `duckdock listens on ${service.url}\n`,
		);
		await service.stopped;
	});
}
