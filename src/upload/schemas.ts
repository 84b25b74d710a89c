/** Every JSON document that goes over the wire, as zod schemas: for validation, OpenAPI and tests. */
import * as z from "zod";
import { type ErrorCode, errorCodes } from "../errors.ts";
import { loadModes, loadStatuses, warningCodes } from "../flow.ts";
import { loadFieldsSchema } from "./load-parameters.ts";

export const noQuery = z.strictObject({});
export const noFields = z.strictObject({});

const count = z.int().min(0);
const time = z.iso.datetime();
const ulid = z.string().regex(/^[0-7][0-9A-HJKMNP-TV-Z]{25}$/);
const sha256 = z.string().regex(/^[0-9a-f]{64}$/);
const partNumber = z.int().min(1).max(10_000);

export const problemSchema = z
	.looseObject({
		type: z.string(),
		title: z.string(),
		status: z.int(),
		detail: z.string(),
		instance: z.string().optional(),
		code: z.enum(Object.keys(errorCodes) as [ErrorCode, ...ErrorCode[]]),
		retryable: z.boolean().describe("Whether the same request may succeed later"),
		request_id: z.string().optional(),
		load_id: z.string().optional(),
		column: z.string().optional(),
		batch: count.optional(),
		row: count.optional(),
		arrow_type: z.string().optional(),
		target_type: z.string().optional(),
	})
	.meta({ id: "Problem", description: "RFC 9457" });

export const receiptSchema = z
	.looseObject({
		load_id: ulid,
		status: z.enum(loadStatuses),
		tenant: z.string(),
		table: z.string(),
		mode: z.enum(loadModes),
		rows_streamed: count,
		rows_inserted: count,
		batches: count,
		parts: count,
		bytes: count,
		repr_digest: z.string(),
		created_table: z.boolean(),
		columns: z.array(
			z.looseObject({ name: z.string(), arrow_type: z.string(), duckdb_type: z.string() }),
		),
		columns_defaulted: z.array(z.string()),
		columns_added: z.array(z.string()),
		warnings: z.array(
			z.looseObject({
				code: z.enum(warningCodes),
				column: z.string().optional(),
				detail: z.string(),
			}),
		),
		source: z.looseObject({ kind: z.enum(["http", "file", "drop"]) }),
		attempts: count,
		started_at: time,
		committed_at: time.nullable(),
		duration_ms: z.number().min(0),
		engine: z.string(),
		error: problemSchema.optional(),
		ddl: z.array(z.string()).optional(),
	})
	.meta({ id: "Receipt" });

export const acceptedSchema = z
	.looseObject({ load_id: ulid, status: z.literal("staged") })
	.meta({ id: "Accepted" });

export const openUploadSchema = z
	.looseObject({
		upload_id: ulid,
		part_size: count.describe("Bytes that a part should have"),
		max_parts: count,
		max_bytes: count.describe("Arrow bytes of all parts together"),
		expires_at: time,
		parts: z.enum(["proxy", "direct"]),
	})
	.meta({ id: "OpenUpload" });

export const begunUploadSchema = z
	.looseObject({
		upload_id: ulid,
		offset: count.describe("Bytes that are durable"),
		max_bytes: count,
		expires_at: time,
	})
	.meta({ id: "BegunUpload" });

export const uploadStateSchema = z
	.looseObject({
		upload_id: ulid,
		state: z.enum(["open", "completed", "aborted", "expired"]),
		parts: z.array(z.looseObject({ n: partNumber, size: count, sha256: sha256.nullable() })),
		load_id: ulid.optional(),
		expires_at: time,
	})
	.meta({ id: "UploadState" });

export const wantedPartsSchema = z.strictObject({
	parts: z
		.array(z.strictObject({ n: partNumber, size: count, sha256 }))
		.min(1)
		.max(1_000),
});

export const partUrlsSchema = z
	.looseObject({
		urls: z.array(
			z.looseObject({
				n: partNumber,
				url: z.url(),
				headers: z.record(z.string(), z.string()),
				expires_at: time,
			}),
		),
	})
	.meta({ id: "PartUrls" });

export const completeFieldsSchema = z.strictObject({
	parts: z.int().min(0).max(1_000_000).describe("N: parts 1 to N are the upload"),
	rows: loadFieldsSchema.shape.rows,
	repr_digest: z
		.string()
		.regex(/^sha-256=:[A-Za-z0-9+/]{43}=:$/, "expected sha-256=:…:")
		.nullish()
		.describe("Of all Arrow bytes, as receipts have it"),
});

export const historyQuerySchema = z.strictObject({
	table: z.string().min(1).optional(),
	status: z.enum(loadStatuses).optional(),
	cursor: ulid.optional(),
	limit: z
		.string()
		.regex(/^([1-9]\d{0,2}|1000)$/, "expected a number from 1 to 1000")
		.transform(Number)
		.default(100),
});

export const historySchema = z
	.looseObject({ loads: z.array(receiptSchema), cursor: z.string().nullable() })
	.meta({ id: "History" });

export const tablesQuerySchema = z.strictObject({
	cursor: z.string().min(1).max(1_000).optional(),
	limit: historyQuerySchema.shape.limit,
});

export const tableSchema = z
	.looseObject({
		schema: z.string(),
		table: z.string(),
		columns: z.array(z.looseObject({ name: z.string(), type: z.string(), nullable: z.boolean() })),
		rows: count.describe("As of the last load"),
	})
	.meta({ id: "Table" });
/** `tables/{tenant}/{schema}/{table}.json`, as the loader leaves it. */
export type TableDocument = z.infer<typeof tableSchema>;

export const tablesSchema = z
	.looseObject({ tables: z.array(tableSchema), cursor: z.string().nullable() })
	.meta({ id: "Tables" });

export const healthSchema = z.looseObject({ status: z.string() }).meta({ id: "Health" });
