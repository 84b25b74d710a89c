/** `duckdock history`: loads, newest first. */
import { type Command, Option } from "commander";
import { type LoadStatus, loadStatuses, type Receipt } from "../../flow.ts";
import {
	addServiceOptions,
	type CommandContext,
	connect,
	defineCommand,
	tellRetries,
	wholeNumber,
} from "../command.ts";
import { tableText } from "../print.ts";

interface HistoryFlags {
	url?: string;
	key?: string;
	table?: string;
	status?: LoadStatus;
	limit: number;
}

export function historyCommand({ deps, outcome }: CommandContext): Command {
	const command = defineCommand("history", "list loads, newest first", [
		"history --table raw.sales --status failed",
	])
		.option("--table <name>", "of this table alone")
		.addOption(new Option("--status <status>", "in this state alone").choices(loadStatuses))
		.option("--limit <n>", "loads at most", wholeNumber(1), 100);
	return addServiceOptions(command).action(async (flags: HistoryFlags) => {
		const { client } = connect(deps, flags, tellRetries(deps));
		const { table, status, limit } = flags;
		const receipts: Receipt[] = [];
		const options = {
			limit,
			...(table && { table }),
			...(status && { status }),
			signal: deps.signal,
		};
		for await (const receipt of client.loads(options)) receipts.push(receipt);
		const rows = receipts.map((receipt) => [
			receipt.load_id,
			receipt.status,
			receipt.table,
			String(receipt.rows_inserted),
			receipt.committed_at ?? receipt.started_at,
			receipt.error?.code ?? "",
		]);
		const text =
			receipts.length === 0
				? "no loads"
				: tableText([["load", "status", "table", "rows", "at", "error"], ...rows]);
		outcome.result = { json: receipts, text };
	});
}
