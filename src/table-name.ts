/**
 * Names of tables as callers write them: text in, `{schema, table}` out, and back.
 *
 * `table` or `schema.table`: the first dot separates; a part in double quotes may
 * hold dots, and a quote written twice. No dot is schema `main`. Nothing is SQL
 * here: names are taken as they are and quoted where a statement is made
 * (`insert/duckdb/sql-names.ts`). Names compare ASCII-case-insensitively, as
 * DuckDB compares them; other letters compare as they are.
 */

import { IngestError } from "./errors.ts";
import type { TableName } from "./flow.ts";
import { maxNameBytes } from "./limits.ts";

export const defaultSchema = "main";

/** Schemas that belong to the engine or to us; nobody loads into them, however they are written. */
const reservedSchemas: readonly string[] = [
	"_duckdock",
	"information_schema",
	"pg_catalog",
	"temp",
];

/** `bad_request` for a name that is empty, too long, holds NUL or is malformed. */
export function parseTableName(text: string): TableName {
	const first = readPart(text, 0, true);
	if (first.end === text.length) {
		return { schema: defaultSchema, table: checkPart(first.name, "table", text) };
	}
	const second = readPart(text, first.end + 1, false);
	return {
		schema: checkPart(first.name, "schema", text),
		table: checkPart(second.name, "table", text),
	};
}

/** `schema.table`, a part in quotes where it holds a dot or a quote: `parseTableName` gives it back. */
export function formatTableName(name: TableName): string {
	return `${formatPart(name.schema)}.${formatPart(name.table)}`;
}

/** One form for all spellings of a name: for maps and sets. */
export function foldName(name: string): string {
	return /[A-Z]/.test(name) ? name.replace(/[A-Z]+/g, (letters) => letters.toLowerCase()) : name;
}

/** One form for all spellings of a table's name. */
export function tableKey(name: TableName): string {
	return foldName(formatTableName(name));
}

export function sameName(a: string, b: string): boolean {
	return a === b || (a.length === b.length && foldName(a) === foldName(b));
}

export function sameTable(a: TableName, b: TableName): boolean {
	return sameName(a.schema, b.schema) && sameName(a.table, b.table);
}

/** `forbidden_table` for a schema that nobody may write, `bad_request` for a name that is none. */
export function assertWritable(name: TableName): void {
	checkPart(name.schema, "schema", name.schema);
	checkPart(name.table, "table", name.table);
	if (reservedSchemas.includes(foldName(name.schema))) {
		throw new IngestError(
			"forbidden_table",
			`nobody may write to schema ${JSON.stringify(name.schema)}; reserved are ${reservedSchemas.join(", ")}`,
		);
	}
}

/** The part that starts at `start`; `end` is the position of the dot after it, or the end of the text. */
function readPart(text: string, start: number, dotEnds: boolean): { name: string; end: number } {
	if (text[start] !== '"') {
		const dot = dotEnds ? text.indexOf(".", start) : -1;
		const end = dot < 0 ? text.length : dot;
		return { name: text.slice(start, end), end };
	}
	let name = "";
	for (let at = start + 1; at < text.length; at++) {
		if (text[at] !== '"') {
			name += text[at];
		} else if (text[at + 1] === '"') {
			name += '"';
			at++;
		} else {
			const end = at + 1;
			if (end === text.length || (dotEnds && text[end] === ".")) return { name, end };
			throw bad(text, `has text after the closing quote at position ${at}`);
		}
	}
	throw bad(text, `has no quote that closes the one at position ${start}`);
}

function checkPart(name: string, what: "schema" | "table", text: string): string {
	if (name === "") throw bad(text, `has an empty ${what}`);
	if (name.includes("\0")) throw bad(text, `has a NUL in its ${what}`);
	if (!name.isWellFormed()) throw bad(text, `is not Unicode text in its ${what}`);
	const bytes = new TextEncoder().encode(name).length;
	if (bytes > maxNameBytes) {
		throw bad(text, `has a ${what} of ${bytes} bytes, ${maxNameBytes} are the most`);
	}
	return name;
}

function formatPart(part: string): string {
	return /[."]/.test(part) ? `"${part.replaceAll('"', '""')}"` : part;
}

function bad(text: string, fault: string): IngestError {
	const shown = text.length > 300 ? `${text.slice(0, 300)}…` : text;
	return new IngestError("bad_request", `table name ${JSON.stringify(shown)} ${fault}`);
}
