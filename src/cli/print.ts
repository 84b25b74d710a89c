/** What a command says: one JSON document, or lines for a person. */

import type { Problem, Receipt } from "../flow.ts";
import { advice } from "./advice.ts";
import { toDisplayBytes, toDisplayCount, toDisplayDuration } from "./display.ts";

export interface CommandResult {
	json: unknown;
	/** Lines for standard output. */
	text: string;
	exitCode?: number;
}

export function receiptText(receipt: Receipt): string {
	const lines = [`${receipt.status} ${receipt.load_id}`];
	const row = (name: string, value: string) => lines.push(`  ${name.padEnd(10)}${value}`);
	row("table", `${receipt.table} (${receipt.mode}${receipt.created_table ? ", created" : ""})`);
	row("rows", toDisplayCount(receipt.rows_inserted));
	row(
		"bytes",
		`${toDisplayBytes(receipt.bytes)} in ${plural(receipt.batches, "batch", "batches")}`,
	);
	row("took", toDisplayDuration(receipt.duration_ms));
	if (receipt.columns_added.length > 0) row("added", receipt.columns_added.join(", "));
	if (receipt.columns_defaulted.length > 0) row("defaulted", receipt.columns_defaulted.join(", "));
	for (const statement of receipt.ddl ?? []) row("would run", statement);
	for (const warning of receipt.warnings) {
		row(
			"warning",
			`${warning.code}${warning.column ? ` ${warning.column}` : ""}: ${warning.detail}`,
		);
	}
	if (receipt.error) lines.push(problemText(receipt.error));
	return lines.join("\n");
}

export function problemText(problem: Problem): string {
	const place = (["column", "batch", "row", "arrow_type", "target_type", "load_id"] as const)
		.filter((name) => problem[name] !== undefined)
		.map((name) => `${name} ${problem[name]}`);
	return [
		`duckdock: ${problem.code}: ${problem.detail}`,
		...(place.length > 0 ? [`  at: ${place.join(", ")}`] : []),
		`  to do: ${advice[problem.code] ?? "Look at the service's log."}`,
	].join("\n");
}

/** Rows of cells as aligned columns, the first row the heads. */
export function tableText(rows: readonly (readonly string[])[]): string {
	const widths: number[] = [];
	for (const row of rows) {
		row.forEach((cell, at) => {
			widths[at] = Math.max(widths[at] ?? 0, cell.length);
		});
	}
	return rows
		.map((row) =>
			row
				.map((cell, at) => cell.padEnd(widths[at]!))
				.join("  ")
				.trimEnd(),
		)
		.join("\n");
}

function plural(count: number, one: string, many: string): string {
	return `${toDisplayCount(count)} ${count === 1 ? one : many}`;
}
