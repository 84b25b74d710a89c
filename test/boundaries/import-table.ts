/**
 * Who may import whom, as a table: the arrows of the house point inward.
 *
 * functions → steps → arrow → flow, errors, limits. A step knows another step's
 * interfaces, never its drivers. A row that is missing is a folder that may
 * import nothing.
 */

export interface Row {
	/** Files of `src` by folder, or one file. A folder stands for what lies directly in it; drivers have rows of their own. */
	files: readonly string[];
	/** Packages by name; `pkg/` with a slash: any of its subpaths. */
	packages: readonly string[];
	/** `node:` modules. */
	node: boolean;
}

/** Types, numbers, errors and the few small tools that everybody has. */
const words = [
	"src/flow.ts",
	"src/errors.ts",
	"src/limits.ts",
	"src/clock.ts",
	"src/log.ts",
	"src/table-name.ts",
	"src/target-template.ts",
	"src/units.ts",
	"src/config-values.ts",
	"src/collect-bytes.ts",
];

/** Bytes to checked record batches: the way lies in `src/arrow`, its parts in folders that only it opens. */
const arrowParts: Row = {
	files: [
		"src/arrow",
		"src/arrow/wire",
		"src/arrow/array",
		"src/arrow/check",
		"src/arrow/form",
		"src/arrow/geo",
		...words,
	],
	packages: ["apache-arrow/", "flatbuffers"],
	node: false,
};

export const importTable: Readonly<Record<string, Row>> = {
	src: { files: [...words, "src/tenant"], packages: ["zod"], node: false },
	"src/arrow": arrowParts,
	"src/arrow/wire": arrowParts,
	"src/arrow/array": arrowParts,
	"src/arrow/check": arrowParts,
	"src/arrow/form": arrowParts,
	"src/arrow/geo": arrowParts,
	"src/stage": {
		files: ["src/stage", "src/arrow", "src/tenant", ...words],
		packages: ["ulid", "zod"],
		node: false,
	},
	"src/stage/stores": {
		files: ["src/stage", "src/stage/stores", ...words],
		packages: ["@aws-sdk/", "@smithy/", "aws4fetch"],
		node: false,
	},
	"src/trigger": {
		files: [
			"src/trigger",
			"src/stage",
			"src/receipt",
			"src/tenant",
			"src/upload/problem-json.ts",
			...words,
		],
		packages: ["zod"],
		node: false,
	},
	"src/trigger/queues": {
		files: ["src/trigger", "src/trigger/queues", ...words],
		packages: ["@aws-sdk/"],
		node: false,
	},
	"src/receipt": {
		files: ["src/receipt", "src/stage", "src/tenant", "src/upload/problem-json.ts", ...words],
		packages: ["zod"],
		node: false,
	},
	"src/tenant": {
		files: ["src/tenant", "src/stage", ...words],
		packages: ["zod"],
		node: false,
	},
	"src/upload": {
		files: [
			"src/upload",
			"src/stage",
			"src/trigger",
			"src/receipt",
			"src/tenant",
			"src/arrow",
			"src/config.ts",
			...words,
		],
		packages: ["hono", "hono/", "zod", "ulid", "@hono/zod-openapi"],
		node: false,
	},
	"src/parquet": { files: ["src/parquet", ...words], packages: [], node: false },
	"src/insert": {
		files: ["src/insert", "src/arrow", "src/parquet", ...words],
		packages: [],
		node: false,
	},
	"src/insert/duckdb": {
		files: [
			"src/insert",
			"src/insert/duckdb",
			"src/arrow",
			"src/parquet",
			"src/tenant",
			"native",
			...words,
		],
		packages: ["@duckdb/"],
		node: true,
	},
	"src/replay": {
		files: [
			"src/replay",
			"src/insert",
			"src/arrow",
			"src/arrow/wire/lz4-frame.ts",
			"src/parquet",
			"src/stage",
			"src/trigger",
			"src/receipt",
			"src/tenant",
			"src/upload/problem-json.ts",
			...words,
		],
		packages: ["ulid", "zod"],
		node: true,
	},
	"src/client": {
		files: ["src/client", "src/flow.ts", "src/errors.ts"],
		packages: [],
		node: false,
	},
	"src/cli": {
		files: [
			"src/cli",
			"src/client",
			"src/replay",
			"src/insert",
			"src/stage",
			"src/trigger",
			"src/tenant",
			"src/arrow",
			"src/config.ts",
			"src/upload/problem-json.ts",
			...words,
		],
		packages: ["commander", "cli-progress", "ulid", "zod"],
		node: true,
	},
	"src/console": { files: ["src/console", "src/client", ...words], packages: [], node: false },
	"src/docs": {
		files: ["src/docs", "src/upload/problem-json.ts", ...words],
		packages: [],
		node: false,
	},
	native: {
		files: ["native"],
		packages: ["@duckdb/node-bindings", "node-api-headers"],
		node: true,
	},
};

/** Files that need more than their folder's row, each with its reason. */
export const exceptions: Readonly<Record<string, Partial<Row> & { reason: string }>> = {
	"src/stage/stores/fs-store.ts": { node: true, reason: "it is the file system's driver" },
	"src/stage/stores/fs-folders.ts": { node: true, reason: "it makes and syncs folders" },
	"src/stage/stores/fs-lock.ts": { node: true, reason: "its lock is a file" },
	"src/stage/stores/fs-read.ts": { node: true, reason: "it reads files" },
	"src/stage/stores/fs-twins.ts": { node: true, reason: "it removes the files that it kept" },
	"src/stage/stores/fs-write.ts": { node: true, reason: "it writes files" },
	"src/stage/stores/fs-list.ts": {
		node: true,
		reason: "the file system's driver lists folders with it",
	},
	"src/stage/stores/s3-store.ts": { node: true, reason: "the AWS client runs on Node only" },
	"src/stage/stores/node-body.ts": { node: true, reason: "its bodies are Node streams" },
};

/** Only `functions/`, tests and their own folder construct these. */
export const driverFolders = ["src/stage/stores", "src/trigger/queues", "src/insert/duckdb"];

/** Folders whose code runs anywhere, without Node's globals. */
export const runtimeFreeFolders = [
	"src/arrow",
	"src/parquet",
	"src/upload",
	"src/tenant",
	"src/stage",
	"src/trigger",
	"src/receipt",
	"src/client",
	"src/console",
	"src/docs",
];

/** Folders that never reach the engine, however indirectly. */
export const engineFreeFolders = [
	"src/upload",
	"src/tenant",
	"src/stage",
	"src/trigger",
	"src/arrow",
	"src/parquet",
];

export function isEngine(target: string): boolean {
	return target.startsWith("@duckdb/") || target.startsWith("native/") || target.endsWith(".node");
}
