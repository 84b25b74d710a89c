/** `duckdock load FILE… --db PATH --table T`: files straight into a DuckDB file, no server. */
import { createReadStream } from "node:fs";
import type { Command } from "commander";
import { assertWritable, parseTableName } from "../../table-name.ts";
import { addLoadOptions, type CommandContext, defineCommand, type LoadFlags } from "../command.ts";
import { findFiles } from "../input-files.ts";
import { receiptText } from "../print.ts";
import { createProgress } from "../progress.ts";

export function loadCommand({ deps, outcome }: CommandContext): Command {
	const command = defineCommand(
		"load",
		"load Arrow files straight into a DuckDB file, without a server",
		[
			"load sales.arrow --db sales.duckdb --table sales",
			"load part-*.arrow --db sales.duckdb --table raw.sales --mode replace",
			"query --to-arrow | duckdock load - --db sales.duckdb --table sales",
		],
	)
		.argument("<file...>", "Arrow IPC streams or files; - is standard input; several are one load")
		.requiredOption("--db <path>", "the DuckDB file; it is made if it isn't there");
	return addLoadOptions(command).action(
		async (paths: string[], flags: LoadFlags & { db: string }) => {
			const parameters = {
				table: parseTableName(flags.table),
				mode: flags.mode,
				on_extra_columns: flags.onExtraColumns,
				dry_run: flags.dryRun ?? false,
				require_eos: flags.requireEos ?? false,
				rows: flags.rows ?? null,
				idempotency_key: flags.idempotencyKey ?? null,
			};
			assertWritable(parameters.table);
			const files = await findFiles(paths);
			const progress = createProgress({
				stderr: deps.stderr,
				clock: deps.clock,
				total: flags.rows ?? null,
				label: "load",
				unit: "rows",
			});
			try {
				const receipt = await deps.loadFiles({
					files,
					open: (path) => (path === "-" ? deps.stdin : createReadStream(path)),
					dbPath: flags.db,
					parameters,
					signal: deps.signal,
					onRows: (rows) => progress.update(rows, ""),
				});
				outcome.result = { json: receipt, text: receiptText(receipt) };
			} finally {
				progress.stop();
			}
		},
	);
}
