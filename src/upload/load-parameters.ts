/** What a load may ask for, as query of `/v1/ingest` and as fields of `/v1/uploads`, in one meaning. */
import * as z from "zod";
import { IngestError } from "../errors.ts";
import { extraColumnPolicies, type LoadParameters, loadModes, type TableName } from "../flow.ts";
import { maxIdempotencyKeyChars } from "../limits.ts";
import { readIdempotencyHeader, readIdempotencyKey } from "./read-headers.ts";

const maxRows = Number.MAX_SAFE_INTEGER;

const mode = z.enum(loadModes);
const onExtraColumns = z.enum(extraColumnPolicies);

const descriptions = {
	mode: "append: the table must exist; create: it must not; replace: swapped in one step; create_append: either",
	on_extra_columns: "columns that the table lacks: an error, left out, or added to it",
	dry_run: "read, check and insert everything, then roll back",
	require_eos: "a stream without its end-of-stream marker is truncated_stream",
	rows: "rows there are; another number is row_count_mismatch",
	idempotency_key: "1 to 255 visible ASCII characters; the header Idempotency-Key says the same",
};

const word = z
	.enum(["true", "false", "1", "0"])
	.transform((text) => text === "true" || text === "1");

/** The quotes and their escapes are `readIdempotencyKey`'s. */
const key = z
	.string()
	.regex(/^[\x21-\x7e]+$/, "expected visible ASCII characters")
	.max(2 * maxIdempotencyKeyChars + 2);

export const loadQuerySchema = z.strictObject({
	mode: mode.default("create_append").describe(descriptions.mode),
	on_extra_columns: onExtraColumns.default("error").describe(descriptions.on_extra_columns),
	dry_run: word.optional().describe(descriptions.dry_run),
	require_eos: word.optional().describe(descriptions.require_eos),
	rows: z
		.string()
		.regex(/^\d{1,16}$/, "expected a whole number of rows")
		.transform(Number)
		.refine((rows) => rows <= maxRows, `expected at most ${maxRows}`)
		.optional()
		.describe(descriptions.rows),
	idempotency_key: key.optional().describe(descriptions.idempotency_key),
});

export const loadFieldsSchema = z.strictObject({
	table: z.string().min(1).describe('table or schema.table; "a.b" in quotes is one name'),
	mode: mode.nullish().describe(descriptions.mode),
	on_extra_columns: onExtraColumns.nullish().describe(descriptions.on_extra_columns),
	dry_run: z.boolean().nullish().describe(descriptions.dry_run),
	require_eos: z.boolean().nullish().describe(descriptions.require_eos),
	rows: z.int().min(0).max(maxRows).nullish().describe(descriptions.rows),
	idempotency_key: key.nullish().describe(descriptions.idempotency_key),
});

type LoadFields = Partial<Omit<z.output<typeof loadFieldsSchema>, "table">>;

/** `bad_request` for a key that is none, and for two keys that differ. */
export function loadParametersOf(
	table: TableName,
	fields: LoadFields,
	headers: Headers,
): LoadParameters {
	return {
		table,
		mode: fields.mode ?? "create_append",
		on_extra_columns: fields.on_extra_columns ?? "error",
		dry_run: fields.dry_run ?? false,
		require_eos: fields.require_eos ?? false,
		rows: fields.rows ?? null,
		idempotency_key: oneIdempotencyKey(headers, fields.idempotency_key ?? null),
	};
}

function oneIdempotencyKey(headers: Headers, field: string | null): string | null {
	const header = readIdempotencyHeader(headers);
	if (field === null) return header;
	const key = readIdempotencyKey(field, "idempotency_key");
	if (header === null || header === key) return key;
	throw new IngestError(
		"bad_request",
		"the header Idempotency-Key and the field idempotency_key are two different keys; send one",
	);
}
