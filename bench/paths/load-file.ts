/**
 * `duckdock load` without the command line around it: the time to the receipt, and
 * to the file let go. `load-file.ts FILE DB TABLE`
 */
import "../../functions/young-generation.node.ts";
import { statSync } from "node:fs";
import process from "node:process";
import { loadLocalFiles } from "../../functions/load-files.node.ts";
import { systemClock } from "../../src/clock.ts";

const [path, dbPath, table] = process.argv.slice(2);
const started = performance.now();
let seconds = 0;
const receipt = await loadLocalFiles(
	{
		files: [{ path: path!, size: statSync(path!).size }],
		open: () => process.stdin,
		dbPath: dbPath!,
		parameters: {
			table: { schema: "main", table: table! },
			mode: "create",
			on_extra_columns: "error",
			dry_run: false,
			require_eos: false,
			rows: null,
			idempotency_key: null,
		},
		signal: new AbortController().signal,
		onReceipt() {
			seconds = (performance.now() - started) / 1000;
		},
	},
	{ env: process.env, clock: systemClock },
);
const closed = (performance.now() - started) / 1000;
const { user, system } = process.cpuUsage();
console.log(
	JSON.stringify({
		seconds,
		rows: receipt.rows_inserted,
		extra: { "until closed s": closed, "CPU s": (user + system) / 1e6 },
	}),
);
