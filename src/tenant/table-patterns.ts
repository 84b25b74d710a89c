/**
 * Which tables a key holds: `events`, `raw.*`, `raw_*.part-*`, `"a.b"`.
 *
 * A pattern is a table name (`table-name.ts`) in which `*` stands for any
 * characters within one name; in quotes it stands for itself. No dot is schema
 * `main`, so all tables of all schemas are `*.*`. Matching is ASCII-case-insensitive,
 * as names are, and takes time linear in name and pattern.
 */
import { IngestError } from "../errors.ts";
import type { TableName } from "../flow.ts";
import { foldName, parseTableName } from "../table-name.ts";

export const allTables = "*.*";

/** Each part is the folded literals between stars: one literal is an exact name. */
export interface TablePattern {
	schema: readonly string[];
	table: readonly string[];
}

/** `bad_request` for text that is no pattern. */
export function parseTablePattern(text: string): TablePattern {
	const name = parseTableName(text);
	const quotedSchema = text.startsWith('"');
	const afterSchema = quotedSchema ? endOfQuotes(text) : text.indexOf(".");
	const hasSchema = afterSchema >= 0 && afterSchema < text.length;
	const tableText = hasSchema ? text.slice(afterSchema + 1) : text;
	return {
		schema: literals(name.schema, hasSchema && quotedSchema),
		table: literals(name.table, tableText.startsWith('"')),
	};
}

export function holdsTable(patterns: readonly TablePattern[], name: TableName): boolean {
	const schema = foldName(name.schema);
	const table = foldName(name.table);
	return patterns.some(
		(pattern) => matches(pattern.schema, schema) && matches(pattern.table, table),
	);
}

/** Patterns of a list such as `events,raw.*`; commas inside quotes belong to a name. */
export function splitTablePatterns(list: string): string[] {
	const parts: string[] = [];
	let from = 0;
	let quoted = false;
	for (let at = 0; at <= list.length; at++) {
		if (list[at] === '"') quoted = !quoted;
		if (at < list.length && (quoted || list[at] !== ",")) continue;
		const part = list.slice(from, at).trim();
		if (part === "") throw new IngestError("bad_request", `an empty table pattern in ${list}`);
		parseTablePattern(part);
		parts.push(part);
		from = at + 1;
	}
	return parts;
}

/** Position after the closing quote of a text that begins with a quote; the text was parsed before. */
function endOfQuotes(text: string): number {
	let at = 1;
	while (at < text.length) {
		if (text[at] !== '"') at++;
		else if (text[at + 1] === '"') at += 2;
		else return at + 1;
	}
	return at;
}

function literals(name: string, quoted: boolean): string[] {
	return quoted ? [foldName(name)] : foldName(name).split("*");
}

function matches(parts: readonly string[], name: string): boolean {
	const first = parts[0]!;
	if (parts.length === 1) return name === first;
	const last = parts[parts.length - 1]!;
	if (name.length < first.length + last.length) return false;
	if (!name.startsWith(first) || !name.endsWith(last)) return false;
	const end = name.length - last.length;
	let at = first.length;
	for (const part of parts.slice(1, -1)) {
		const found = name.indexOf(part, at);
		if (found < 0 || found + part.length > end) return false;
		at = found + part.length;
	}
	return true;
}
