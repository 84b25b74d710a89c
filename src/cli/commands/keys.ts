/** `duckdock keys create | list | revoke`: on the object store; the secret is printed once. */
import type { Command } from "commander";
import { createKey, listKeys, revokeKey } from "../../tenant/keys.ts";
import { rights, rightsOfWords } from "../../tenant/rights.ts";
import { parseDurationMs } from "../../units.ts";
import { UsageError } from "../cli-errors.ts";
import { type CommandContext, defineCommand, tablePatterns, tenantName } from "../command.ts";
import { tableText } from "../print.ts";

export function keysCommand(context: CommandContext): Command {
	const keys = defineCommand("keys", "make, list and revoke keys, on the object store", [
		"keys create --tenant acme",
	]);
	keys.addCommand(createCommand(context));
	keys.addCommand(listCommand(context));
	keys.addCommand(revokeCommand(context));
	return keys;
}

interface CreateFlags {
	tenant: string;
	tables?: string[];
	modes?: string;
	expires?: number;
}

function createCommand({ deps, outcome }: CommandContext): Command {
	return defineCommand("create", "make a key; its secret is printed this once", [
		"keys create --tenant acme --tables 'events,raw.*' --modes append,read --expires 90d",
	])
		.requiredOption("--tenant <name>", "1 to 63 characters of a-z, 0-9, _ and -", tenantName)
		.option(
			"--tables <patterns>",
			"tables it holds, * within one name; default: all",
			tablePatterns,
		)
		.option("--modes <rights>", `of ${rights.join(", ")}; default: append,create,read`)
		.option("--expires <span>", "such as 90d or 12h; default: never", span)
		.action(async (flags: CreateFlags) => {
			const { tables, modes, expires } = flags;
			const created = await createKey(await deps.openKeysStore(), deps.clock, {
				tenant: flags.tenant,
				...(tables === undefined ? {} : { tables }),
				...(modes === undefined ? {} : { rights: parseRights(modes) }),
				...(expires === undefined ? {} : { expiresInMs: expires }),
			});
			const text = [
				created.key,
				`  key id   ${created.key_id}`,
				`  tenant   ${created.tenant}`,
				`  tables   ${created.tables.join(", ")}`,
				`  modes    ${created.modes.join(", ")}`,
				`  expires  ${created.expires_at ?? "never"}`,
				"  Keep it now: it can't be shown again.",
			].join("\n");
			outcome.result = { json: created, text };
		});
}

function listCommand({ deps, outcome }: CommandContext): Command {
	return defineCommand("list", "list keys, without their secrets", ["keys list --tenant acme"])
		.option("--tenant <name>", "of this tenant alone", tenantName)
		.action(async (flags: { tenant?: string }) => {
			const keys = await listKeys(await deps.openKeysStore(), flags);
			const rows = keys.map((key) => [
				key.key_id,
				key.tenant,
				key.tables.join(","),
				key.rights.join(","),
				key.revoked_at ? "revoked" : (key.expires_at ?? "never"),
				key.last_used_at ?? "not yet",
			]);
			const heads = ["key", "tenant", "tables", "modes", "expires", "last used"];
			const json = keys.map(({ rights: modes, ...key }) => ({ ...key, modes }));
			outcome.result = { json, text: keys.length === 0 ? "no keys" : tableText([heads, ...rows]) };
		});
}

function revokeCommand({ deps, outcome }: CommandContext): Command {
	return defineCommand("revoke", "end a key; services see it within their cache's time", [
		"keys revoke abcdefghijklmnop",
	])
		.argument("<keyid>", "the 16 characters between dk_ and the secret")
		.action(async (keyId: string) => {
			if (!(await revokeKey(await deps.openKeysStore(), deps.clock, keyId))) {
				throw new UsageError(`there is no key ${keyId}; duckdock keys list shows those there are`);
			}
			outcome.result = { json: { key_id: keyId, revoked: true }, text: `revoked ${keyId}` };
		});
}

export function parseRights(words: string): (typeof rights)[number][] {
	const list = words.split(",").map((word) => word.trim());
	const parsed = rightsOfWords(list);
	if (parsed.unknown.length > 0) {
		throw new UsageError(
			`--modes has ${JSON.stringify(parsed.unknown.join(","))}; known are ${rights.join(", ")} and create_append`,
		);
	}
	return parsed.rights;
}

function span(text: string): number {
	const ms = parseDurationMs(text);
	if (ms === null || ms <= 0) {
		throw new UsageError(
			`--expires is a span such as 90d, 12h or 30m, not ${JSON.stringify(text)}`,
		);
	}
	return ms;
}
