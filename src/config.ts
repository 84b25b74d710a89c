/**
 * The environment in, a configuration out, or one error that names every problem.
 *
 * Pure: nothing is read but the record that is handed in, no file is looked at,
 * relative paths stay relative. README and API.md have the table of names.
 */
import * as z from "zod";
import {
	bytes,
	count,
	duration,
	flag,
	isEndpoint,
	listen,
	origins,
	type StoreParts,
	store,
} from "./config-values.ts";
import { defaultLimits, type Limits } from "./limits.ts";
import { type LogLevel, logLevels } from "./log.ts";
import { type EngineTarget, parseTarget } from "./target-template.ts";
import { isTenantName } from "./tenant/tenant-name.ts";

export type StoreConfig =
	| { kind: "file"; path: string }
	| { kind: "s3"; bucket: string; prefix: string; endpoint: string | null };

export interface Config {
	store: StoreConfig;
	/** Null: in `store`. */
	keysStore: StoreConfig | null;
	dropStore: StoreConfig | null;
	target: EngineTarget;
	/** Only this tenant is served. */
	singleTenant: string | null;
	listen: { host: string; port: number };
	/** Paths of PEM files. */
	tls: { certPath: string; keyPath: string } | null;
	/** A proxy ends TLS before us and tells the caller's address. */
	behindProxy: boolean;
	engine: {
		memoryLimit: string | null;
		threads: number | null;
		/** Where DuckDB finds extensions; null: its own default. */
		extensionFolder: string | null;
		/** Where new lakes keep their data, `{tenant}` in it; null: beside the catalog. */
		lakeData: string | null;
	};
	limits: Limits;
	quotas: {
		/** Per tenant and day (UTC); null: none. */
		bytesPerDay: number | null;
		rowsPerDay: number | null;
		/** Per tenant; null: none. */
		openUploads: number | null;
		parallelLoads: number | null;
		/** Per key and process; null: none. */
		requestsPerMinute: number | null;
	};
	/** What the platform before us takes in one request; null: no less than the limits. */
	maxRequestBytes: number | null;
	/** Queue of the bucket's events on AWS; null: none. */
	sqsQueueUrl: string | null;
	/** Parts go straight to the store, where it hands out URLs. */
	directParts: boolean;
	/** Origins that may call from a browser; `*` is any. */
	corsOrigins: string[];
	logLevel: LogLevel;
	fsync: boolean;
	/** `DUCKDOCK_…` names that mean nothing: typing errors, most likely. */
	unknownNames: string[];
}

/** All problems of a configuration, each with its name first. */
export class ConfigError extends Error {
	override readonly name = "ConfigError";
	readonly problems: readonly string[];

	constructor(problems: readonly string[]) {
		super(`the configuration cannot be used:\n${problems.map((line) => `  ${line}`).join("\n")}`);
		this.problems = problems;
	}
}

export type Environment = Readonly<Record<string, string | undefined>>;

const text = z.string();

const environmentSchema = z.object({
	DUCKDOCK_STORE: store.prefault("file:./data/objects"),
	DUCKDOCK_KEYS_STORE: store.optional(),
	DUCKDOCK_DROP_STORE: store.optional(),
	DUCKDOCK_S3_ENDPOINT: z.string().refine(isEndpoint, "is http(s)://HOST[:PORT][/PATH]").optional(),
	DUCKDOCK_SQS_QUEUE_URL: z.url("is the URL of an SQS queue").optional(),
	DUCKDOCK_TARGET: text.prefault("./data/db/{tenant}.duckdb"),
	DUCKDOCK_SINGLE_TENANT: z
		.string()
		.refine(isTenantName, "is a tenant: 1 to 63 characters of a-z, 0-9, _ and -")
		.optional(),
	DUCKDOCK_EPHEMERAL_DISK: flag.optional(),
	DUCKDOCK_PERSISTENT_DIR: text.optional(),
	DUCKDOCK_LISTEN: listen.prefault("127.0.0.1:8787"),
	DUCKDOCK_TLS_CERT: text.optional(),
	DUCKDOCK_TLS_KEY: text.optional(),
	DUCKDOCK_BEHIND_PROXY: flag.optional(),
	DUCKDOCK_MEMORY_LIMIT: z
		.string()
		.regex(/^\d+(\.\d+)?\s*([KMGT]i?B|%)$/i, "is a size as DuckDB writes it, such as 4GB, or 80%")
		.optional(),
	DUCKDOCK_THREADS: count(1, 1024).optional(),
	DUCKDOCK_EXTENSIONS: text.optional(),
	DUCKDOCK_LAKE_DATA: z.string().includes("{tenant}", "has no {tenant}").optional(),
	DUCKDOCK_PART_BYTES: bytes().optional(),
	DUCKDOCK_MAX_PART_BYTES: bytes().optional(),
	DUCKDOCK_MAX_PARTS: count(1, 10_000).optional(),
	DUCKDOCK_MAX_UPLOAD_BYTES: bytes().optional(),
	DUCKDOCK_MAX_BATCH_BYTES: bytes().optional(),
	DUCKDOCK_MAX_COLUMNS: count(1, 1_000_000).optional(),
	DUCKDOCK_MAX_NESTING: count(1, 256).optional(),
	DUCKDOCK_MAX_METADATA_BYTES: bytes(1024).optional(),
	DUCKDOCK_UPLOAD_TTL: duration.optional(),
	DUCKDOCK_QUOTA_BYTES_PER_DAY: bytes().optional(),
	DUCKDOCK_QUOTA_ROWS_PER_DAY: count(1, 1e15 - 1).optional(),
	DUCKDOCK_QUOTA_OPEN_UPLOADS: count(1, 1_000_000).optional(),
	DUCKDOCK_QUOTA_PARALLEL_LOADS: count(1, 1_000_000).optional(),
	DUCKDOCK_QUOTA_REQUESTS_PER_MINUTE: count(1, 1_000_000_000).optional(),
	DUCKDOCK_MAX_REQUEST_BYTES: bytes().optional(),
	DUCKDOCK_DIRECT_PARTS: flag.prefault("off"),
	DUCKDOCK_CORS_ORIGINS: origins.optional(),
	DUCKDOCK_LOG: z.enum(logLevels, `is one of ${logLevels.join(", ")}`).prefault("info"),
	DUCKDOCK_FSYNC: flag.prefault("on"),
});

/** Read elsewhere: by the CLI as a client, by the addon, by the loader's supervisor. */
const otherNames = ["DUCKDOCK_SHARE", "DUCKDOCK_URL", "DUCKDOCK_KEY", "DUCKDOCK_ARROW_COPY"];

/** Throws `ConfigError` with every problem. An empty value is as good as none. */
export function readConfig(environment: Environment): Config {
	const given = Object.fromEntries(
		Object.entries(environment).filter(([, value]) => value !== undefined && value.trim() !== ""),
	);
	const parsed = environmentSchema.safeParse(given);
	const problems = (parsed.error?.issues ?? []).map(
		(issue) =>
			`${issue.path.join(".")} ${issue.message} (it is ${quoted(given[String(issue.path[0])])})`,
	);
	// Rules across names look at what could be read, so that one bad value hides no other problem.
	const wrong = new Set(parsed.error?.issues.map((issue) => issue.path[0]));
	const readable = parsed.success
		? parsed.data
		: environmentSchema.parse(
				Object.fromEntries(Object.entries(given).filter(([name]) => !wrong.has(name))),
			);
	const config = configOf(readable, given);
	problems.push(...targetProblems(config, readable, given), ...listenProblems(readable, wrong));
	problems.push(...limitProblems(config.limits));
	if (problems.length > 0) throw new ConfigError(problems);
	return config;
}

type Readable = z.infer<typeof environmentSchema>;

function configOf(read: Readable, given: Environment): Config {
	const withEndpoint = (parts: StoreParts): StoreConfig =>
		parts.kind === "s3" ? { ...parts, endpoint: read.DUCKDOCK_S3_ENDPOINT ?? null } : parts;
	const orDefault = <K extends keyof Limits>(name: K, value: number | undefined) =>
		value ?? defaultLimits[name];
	const maxPartBytes = orDefault("maxPartBytes", read.DUCKDOCK_MAX_PART_BYTES);
	return {
		store: withEndpoint(read.DUCKDOCK_STORE),
		keysStore: read.DUCKDOCK_KEYS_STORE ? withEndpoint(read.DUCKDOCK_KEYS_STORE) : null,
		dropStore: read.DUCKDOCK_DROP_STORE ? withEndpoint(read.DUCKDOCK_DROP_STORE) : null,
		target: parseTarget(read.DUCKDOCK_TARGET),
		singleTenant: read.DUCKDOCK_SINGLE_TENANT ?? null,
		listen: read.DUCKDOCK_LISTEN,
		tls:
			read.DUCKDOCK_TLS_CERT && read.DUCKDOCK_TLS_KEY
				? { certPath: read.DUCKDOCK_TLS_CERT, keyPath: read.DUCKDOCK_TLS_KEY }
				: null,
		behindProxy: read.DUCKDOCK_BEHIND_PROXY ?? false,
		engine: {
			memoryLimit: read.DUCKDOCK_MEMORY_LIMIT ?? null,
			threads: read.DUCKDOCK_THREADS ?? null,
			extensionFolder: read.DUCKDOCK_EXTENSIONS ?? null,
			lakeData: read.DUCKDOCK_LAKE_DATA ?? null,
		},
		limits: {
			// Who only lowers the most that a part may have means the usual size too.
			partBytes: read.DUCKDOCK_PART_BYTES ?? Math.min(defaultLimits.partBytes, maxPartBytes),
			maxPartBytes,
			maxParts: orDefault("maxParts", read.DUCKDOCK_MAX_PARTS),
			maxUploadBytes: orDefault("maxUploadBytes", read.DUCKDOCK_MAX_UPLOAD_BYTES),
			maxBatchBytes: orDefault("maxBatchBytes", read.DUCKDOCK_MAX_BATCH_BYTES),
			maxColumns: orDefault("maxColumns", read.DUCKDOCK_MAX_COLUMNS),
			maxNesting: orDefault("maxNesting", read.DUCKDOCK_MAX_NESTING),
			maxMetadataBytes: orDefault("maxMetadataBytes", read.DUCKDOCK_MAX_METADATA_BYTES),
			uploadTtlMs: orDefault("uploadTtlMs", read.DUCKDOCK_UPLOAD_TTL),
		},
		quotas: {
			bytesPerDay: read.DUCKDOCK_QUOTA_BYTES_PER_DAY ?? null,
			rowsPerDay: read.DUCKDOCK_QUOTA_ROWS_PER_DAY ?? null,
			openUploads: read.DUCKDOCK_QUOTA_OPEN_UPLOADS ?? null,
			parallelLoads: read.DUCKDOCK_QUOTA_PARALLEL_LOADS ?? null,
			requestsPerMinute: read.DUCKDOCK_QUOTA_REQUESTS_PER_MINUTE ?? null,
		},
		maxRequestBytes: read.DUCKDOCK_MAX_REQUEST_BYTES ?? null,
		sqsQueueUrl: read.DUCKDOCK_SQS_QUEUE_URL ?? null,
		directParts: read.DUCKDOCK_DIRECT_PARTS,
		corsOrigins: read.DUCKDOCK_CORS_ORIGINS ?? [],
		logLevel: read.DUCKDOCK_LOG,
		fsync: read.DUCKDOCK_FSYNC,
		unknownNames: Object.keys(given).filter(
			(name) =>
				name.startsWith("DUCKDOCK_") &&
				!Object.hasOwn(environmentSchema.shape, name) &&
				!otherNames.includes(name),
		),
	};
}

function targetProblems(config: Config, read: Readable, given: Environment): string[] {
	const problems: string[] = [];
	const { template, localPath } = config.target;
	if (!template.includes("{tenant}") && config.singleTenant === null) {
		problems.push(
			`DUCKDOCK_TARGET has no {tenant}: every tenant would share ${quoted(template)}; ` +
				"put {tenant} in, or serve one tenant alone with DUCKDOCK_SINGLE_TENANT=name",
		);
	}
	const ephemeral = given.AWS_LAMBDA_FUNCTION_NAME
		? "on Lambda"
		: read.DUCKDOCK_EPHEMERAL_DISK
			? "with DUCKDOCK_EPHEMERAL_DISK=1"
			: null;
	const persistent = read.DUCKDOCK_PERSISTENT_DIR;
	if (ephemeral && localPath !== null && !(persistent && isUnder(localPath, persistent))) {
		problems.push(
			`DUCKDOCK_TARGET is the local file ${quoted(localPath)}, which is lost ${ephemeral}: ` +
				(persistent
					? `put it under DUCKDOCK_PERSISTENT_DIR (${quoted(persistent)})`
					: "use md:{tenant} or ducklake:…, or name a mounted folder in DUCKDOCK_PERSISTENT_DIR"),
		);
	}
	return problems;
}

function listenProblems(read: Readable, wrong: ReadonlySet<unknown>): string[] {
	const problems: string[] = [];
	const { DUCKDOCK_TLS_CERT: cert, DUCKDOCK_TLS_KEY: key } = read;
	if (cert && !key) problems.push("DUCKDOCK_TLS_KEY is missing, DUCKDOCK_TLS_CERT is there");
	if (key && !cert) problems.push("DUCKDOCK_TLS_CERT is missing, DUCKDOCK_TLS_KEY is there");
	const { host, port } = read.DUCKDOCK_LISTEN;
	if (
		!isLoopback(host) &&
		!cert &&
		!key &&
		!read.DUCKDOCK_BEHIND_PROXY &&
		!wrong.has("DUCKDOCK_BEHIND_PROXY")
	) {
		problems.push(
			`DUCKDOCK_LISTEN is ${host}:${port}, beyond loopback, and keys would cross the network in the clear: ` +
				"set DUCKDOCK_TLS_CERT and DUCKDOCK_TLS_KEY, or DUCKDOCK_BEHIND_PROXY=1 where a proxy ends TLS",
		);
	}
	return problems;
}

function limitProblems(limits: Limits): string[] {
	if (limits.partBytes <= limits.maxPartBytes) return [];
	return [
		`DUCKDOCK_PART_BYTES is ${limits.partBytes}, more than DUCKDOCK_MAX_PART_BYTES (${limits.maxPartBytes})`,
	];
}

/** Addresses that no other machine reaches: 127.0.0.0/8, ::1 and the name for them. */
export function isLoopback(host: string): boolean {
	const plain = host.toLowerCase().replace(/^::ffff:(?=\d+\.)/, "");
	return plain === "localhost" || plain === "::1" || /^127(\.\d{1,3}){3}$/.test(plain);
}

function isUnder(path: string, folder: string): boolean {
	const inner = segments(path);
	const outer = segments(folder);
	if (inner === null || outer === null || path.startsWith("/") !== folder.startsWith("/"))
		return false;
	return inner.length > outer.length && outer.every((segment, at) => inner[at] === segment);
}

/** Without `.` and `..`; null for a path that climbs out of where it starts. */
function segments(path: string): string[] | null {
	const found: string[] = [];
	for (const segment of path.split("/")) {
		if (segment === "" || segment === ".") continue;
		if (segment !== "..") found.push(segment);
		else if (found.pop() === undefined) return null;
	}
	return found;
}

function quoted(value: string | undefined): string {
	return JSON.stringify((value ?? "").slice(0, 200));
}
