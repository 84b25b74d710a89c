/** For OpenAPI: what each document of the wire looks like, by its schema's id. A test holds them to the schemas. */
const loadId = "01M8PF23EV96MRM9A3TEJ96F5N";

const receipt = {
	load_id: loadId,
	status: "committed",
	tenant: "acme",
	table: "main.events",
	mode: "append",
	rows_streamed: 6_001_215,
	rows_inserted: 6_001_215,
	batches: 121,
	parts: 18,
	bytes: 1_130_000_000,
	repr_digest: "sha-256=:HZfQQ7kZPSc76WxusebkuJ/i6HT43pz0AJlPV6XmLJc=:",
	created_table: false,
	columns: [
		{ name: "id", arrow_type: "int64", duckdb_type: "BIGINT" },
		{ name: "ts", arrow_type: "timestamp[ns, tz=UTC]", duckdb_type: "TIMESTAMP WITH TIME ZONE" },
	],
	columns_defaulted: [],
	columns_added: [],
	warnings: [
		{
			code: "timestamp_ns_tz_truncated",
			column: "ts",
			detail: "nanoseconds of a time with a zone are kept as microseconds",
		},
	],
	source: { kind: "http" },
	attempts: 1,
	started_at: "2026-11-30T12:00:00.000Z",
	committed_at: "2026-11-30T12:00:07.120Z",
	duration_ms: 7_120,
	engine: "duckdb v1.5.5",
};

const table = {
	schema: "main",
	table: "events",
	columns: [{ name: "id", type: "BIGINT", nullable: true }],
	rows: 6_001_215,
};

const expires_at = "2026-12-01T12:00:00.000Z";
const max_bytes = 68_719_476_736;

export const answerExamples: Readonly<Record<string, unknown>> = {
	Receipt: receipt,
	Accepted: { load_id: loadId, status: "staged" },
	OpenUpload: {
		upload_id: loadId,
		part_size: 8_388_608,
		max_parts: 10_000,
		max_bytes,
		expires_at,
		parts: "proxy",
	},
	BegunUpload: { upload_id: loadId, offset: 1_000_000, max_bytes, expires_at },
	UploadState: {
		upload_id: loadId,
		state: "open",
		parts: [
			{
				n: 1,
				size: 8_388_608,
				sha256: "1d97d043b9193d273be96c6eb1e6e4b89fe2e874f8de9cf400994f57a5e62c97",
			},
		],
		expires_at,
	},
	PartUrls: {
		urls: [
			{
				n: 1,
				url: "https://bucket.s3.example.com/uploads/acme/part?X-Amz-Signature=…",
				headers: { "x-amz-checksum-sha256": "HZfQQ7kZPSc76WxusebkuJ/i6HT43pz0AJlPV6XmLJc=" },
				expires_at: "2026-11-30T13:00:00.000Z",
			},
		],
	},
	History: { loads: [receipt], cursor: null },
	Table: table,
	Tables: { tables: [table], cursor: null },
	Health: { status: "ok" },
};
