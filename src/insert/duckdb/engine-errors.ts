/**
 * What DuckDB says, as one of our codes.
 *
 * In: the error of a statement and what is known of the load. Out: an IngestError
 * with the column where DuckDB names one, or a verdict that the transaction lost
 * a race and may be tried again. DuckDB's texts begin with their class
 * (`Constraint Error: …`), which is all that node-api passes on.
 */

import type { ErrorPlace } from "../../errors.ts";
import { IngestError } from "../../errors.ts";
import { sameName } from "../../table-name.ts";

/** Lost a race against another transaction: nothing is wrong with the data. */
export class TransactionConflict extends Error {
	override readonly name = "TransactionConflict";
}

export interface EngineErrorContext {
	/** Name of the table, without schema, as the statement had it. */
	table?: string;
	/** Columns of the upload with their types, for `arrow_type` and `target_type`. */
	columns?: readonly { name: string; arrow_type: string; duckdb_type: string }[];
	/** Path that must not reach a caller. */
	path?: string;
}

/** `Constraint Error`, `IO Error`, …; empty when the text has no class. */
export function errorClass(message: string): string {
	return /^([A-Za-z]+(?: [A-Za-z]+)*) Error: /.exec(message)?.[1] ?? "";
}

/** Anchored: what follows may quote a value of the upload. */
const diskError =
	/^(?:IO Error: |FATAL Error: |TransactionContext Error: Failed to commit: (?:Could not (?:write|read|sync|truncate)|No space left))/;

/** After one of these the instance must be closed: of the disk, or one that DuckDB doesn't recover from. */
export function isInstanceLost(error: unknown): boolean {
	for (let at = error; at instanceof Error; at = at.cause) {
		if (diskError.test(at.message) || /^INTERNAL Error: /.test(at.message)) return true;
	}
	return false;
}

export function toIngestError(
	error: unknown,
	context: EngineErrorContext = {},
): IngestError | TransactionConflict {
	if (error instanceof IngestError || error instanceof TransactionConflict) return error;
	const raw = error instanceof Error ? error.message : String(error);
	const text = tidy(raw, context.path);
	const options = { cause: error };

	if (diskError.test(text)) {
		return new IngestError("target_unavailable", reasonOf(text), options);
	}
	if (/constraint/i.test(text) && /^(Constraint|TransactionContext) Error/.test(text)) {
		return new IngestError("constraint_violation", withoutClass(text), {
			...options,
			...placeOf(constraintColumn(text, context), context),
		});
	}
	if (/conflict/i.test(text) && /^(TransactionContext|Transaction|Catalog) Error/.test(text)) {
		return new TransactionConflict(withoutClass(text), options);
	}
	switch (errorClass(text)) {
		case "Out of Range":
		case "Conversion": {
			const column = conversionColumn(text, context);
			return new IngestError("cast_failed", withoutClass(text), {
				...options,
				...placeOf(column, context),
			});
		}
		case "Dependency":
			return new IngestError("constraint_violation", withoutClass(text), options);
		case "Out of Memory":
		case "Permission":
		case "Connection":
		case "HTTP":
			return new IngestError("target_unavailable", reasonOf(text), options);
	}
	if (/read-only mode/i.test(text)) {
		return new IngestError("target_unavailable", "the database is read-only", options);
	}
	if (/not supported in storage versions? prior/i.test(text)) {
		return new IngestError("unsupported_type", withoutClass(text), options);
	}
	const lacked = /Failed to convert DuckDB type to DuckLake - unsupported type (.+)$/s.exec(
		text,
	)?.[1];
	if (lacked !== undefined) {
		const column = context.columns?.find(({ duckdb_type }) => duckdb_type.includes(lacked))?.name;
		return new IngestError("unsupported_type", `DuckLake has no type ${lacked}`, {
			...options,
			...placeOf(column, context),
		});
	}
	return new IngestError("internal", text, options);
}

/** One line, without the quoted statement that DuckDB appends and without the file's path. */
function tidy(message: string, path?: string): string {
	const text = message
		.split(/\n\s*LINE \d+:/)[0]!
		.trim()
		.replace(/\s*\n\s*/g, " ");
	return path
		? text.replaceAll(`"${path}"`, "the database file").replaceAll(path, "the database file")
		: text;
}

/** What it says, without saying of which class it is. */
export function withoutClass(text: string): string {
	return text
		.replace(/^[A-Za-z]+(?: [A-Za-z]+)* Error: /, "")
		.replace(/^Failed to commit: /, "at commit: ");
}

function reasonOf(text: string): string {
	const detail = withoutClass(text);
	if (/no space left|disk quota|file too large/i.test(detail))
		return "the disk of the database is full";
	return detail;
}

/** The column that a constraint error names, if it names just one. */
function constraintColumn(text: string, context: EngineErrorContext): string | undefined {
	const notNull = /NOT NULL constraint failed: (.+)$/s.exec(text)?.[1];
	if (notNull !== undefined) {
		const prefix = `${context.table ?? ""}.`;
		if (sameName(notNull.slice(0, prefix.length), prefix)) return notNull.slice(prefix.length);
		return notNull.slice(notNull.indexOf(".") + 1);
	}
	// `Duplicate key "id: 1" …`; several columns are separated by commas, as are values.
	const key = /(?:[Dd]uplicate key|because key) "(.*?): /s.exec(text)?.[1];
	if (key === undefined) return undefined;
	const several = /(?:[Dd]uplicate key|because key) "[^"]*?: [^"]*, [^"]*: /s.test(text);
	return several ? undefined : key;
}

function conversionColumn(text: string, context: EngineErrorContext): string | undefined {
	const named = /when casting from source column (.+)$/s.exec(text)?.[1];
	if (named !== undefined) return named;
	return context.columns?.length === 1 ? context.columns[0]!.name : undefined;
}

function placeOf(column: string | undefined, context: EngineErrorContext): ErrorPlace {
	if (column === undefined) return {};
	const known = context.columns?.find((entry) => sameName(entry.name, column));
	if (!known) return { column };
	return { column: known.name, arrow_type: known.arrow_type, target_type: known.duckdb_type };
}

/** node-api throws plain Errors whose text begins with DuckDB's class. */
export function fromEngine(error: unknown): boolean {
	return error instanceof Error && error.name === "Error" && / Error: /.test(error.message);
}
