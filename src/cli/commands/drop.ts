/** `duckdock drop allow`: files that appear under a tenant's `drop/` load by themselves from now on. */
import type { Command } from "commander";
import { UsageError } from "../cli-errors.ts";
import { type CommandContext, defineCommand, tablePatterns, tenantName } from "../command.ts";

const dropModes = ["append", "create", "replace"];

export function dropCommand(context: CommandContext): Command {
	const drop = defineCommand("drop", "rules for files that load when they appear in the bucket", [
		"drop allow --tenant acme --tables 'raw.*' --modes append,create",
	]);
	drop.addCommand(allowCommand(context));
	return drop;
}

function allowCommand({ deps, outcome }: CommandContext): Command {
	return defineCommand("allow", "let files under drop/{tenant}/ load into these tables", [
		"drop allow --tenant acme --tables 'raw.*' --modes append,create",
	])
		.requiredOption("--tenant <name>", "whose files", tenantName)
		.requiredOption("--tables <patterns>", "tables, * within one name", tablePatterns)
		.requiredOption("--modes <modes>", `of ${dropModes.join(", ")}`)
		.action(async (flags: { tenant: string; tables: string[]; modes: string }) => {
			const { tenant, tables } = flags;
			const modes = flags.modes.split(",").map((mode) => mode.trim());
			const unknown = modes.filter((mode) => !dropModes.includes(mode));
			if (unknown.length > 0) {
				throw new UsageError(
					`--modes has ${unknown.join(", ")}; known are ${dropModes.join(", ")}`,
				);
			}
			const store = await deps.openDropStore();
			const rule = new TextEncoder().encode(`${JSON.stringify({ tables, modes })}\n`);
			await store.put(`drop/${tenant}/drop.json`, rule);
			outcome.result = {
				json: { tenant, tables, modes },
				text: `files under drop/${tenant}/ load into ${tables.join(", ")} (${modes.join(", ")})`,
			};
		});
}
