/** Numbers, sizes, times and states as people read them. */
import type { LoadStatus, Problem, Receipt } from "../flow.ts";

const number = new Intl.NumberFormat("en");
export const count = (value: number) => number.format(value);

const units = ["B", "kB", "MB", "GB", "TB"];
export function size(bytes: number): string {
	let value = bytes;
	let unit = 0;
	while (value >= 1000 && unit < units.length - 1) {
		value /= 1000;
		unit++;
	}
	return `${unit === 0 ? value : value.toFixed(1)} ${units[unit]}`;
}

export function span(ms: number): string {
	if (ms < 1000) return `${Math.round(ms)} ms`;
	if (ms < 60_000) return `${(ms / 1000).toFixed(1)} s`;
	return `${Math.floor(ms / 60_000)} min ${Math.round((ms % 60_000) / 1000)} s`;
}

export function moment(iso: string): string {
	return new Date(iso).toLocaleString(undefined, { dateStyle: "medium", timeStyle: "medium" });
}

export function rate(receipt: Receipt): string {
	if (receipt.duration_ms <= 0 || receipt.rows_inserted === 0) return "";
	return `${count(Math.round((receipt.rows_inserted * 1000) / receipt.duration_ms))} rows/s`;
}

export const statusWords: Record<LoadStatus, string> = {
	staged: "staged, waits for a loader",
	loading: "loading",
	committed: "committed",
	failed: "failed",
	dry_run: "dry run, nothing written",
};

/** Where a problem lies, in a sentence; empty where it lies nowhere. */
export function place({ column, batch, row }: Problem): string {
	const parts = [
		column === undefined ? "" : `column ${column}`,
		batch === undefined ? "" : `batch ${batch}`,
		row === undefined ? "" : `row ${row}`,
	].filter((part) => part !== "");
	return parts.length === 0 ? "" : `At ${parts.join(", ")}.`;
}

const crockford = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";
/** When the id was made: the first ten characters of a ULID are milliseconds. */
export function momentOfId(id: string): string {
	let ms = 0;
	for (const digit of id.slice(0, 10)) ms = ms * 32 + crockford.indexOf(digit);
	return new Date(ms).toISOString();
}
