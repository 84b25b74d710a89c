import { expect, test } from "vitest";
import { ConfigError, type Environment, isLoopback, readConfig } from "../../src/config.ts";
import { defaultLimits } from "../../src/limits.ts";
import { targetOf } from "../../src/target-template.ts";

function problemsOf(environment: Environment): readonly string[] {
	try {
		readConfig(environment);
	} catch (error) {
		expect(error).toBeInstanceOf(ConfigError);
		return (error as ConfigError).problems;
	}
	return [];
}

test("an empty environment is the embedded default", () => {
	const config = readConfig({});
	expect(config.store).toEqual({ kind: "file", path: "./data/objects" });
	expect(config.keysStore).toBeNull();
	expect(targetOf(config.target, "acme")).toBe("./data/db/acme.duckdb");
	expect(config.listen).toEqual({ host: "127.0.0.1", port: 8787 });
	expect(config.limits).toEqual(defaultLimits);
	expect(config.fsync).toBe(true);
	expect(config.logLevel).toBe("info");
	expect(readConfig({ DUCKDOCK_STORE: " ", DUCKDOCK_THREADS: "" })).toEqual(config);
});

test("every problem is reported at once and by name", () => {
	const problems = problemsOf({
		DUCKDOCK_STORE: "ftp://x",
		DUCKDOCK_TARGET: "./one.duckdb",
		DUCKDOCK_LISTEN: "0.0.0.0:80",
		DUCKDOCK_THREADS: "two",
		DUCKDOCK_PART_BYTES: "many",
		DUCKDOCK_MAX_PARTS: "10001",
		DUCKDOCK_UPLOAD_TTL: "24",
		DUCKDOCK_LOG: "loud",
		DUCKDOCK_FSYNC: "maybe",
		DUCKDOCK_MEMORY_LIMIT: "lots",
		DUCKDOCK_SINGLE_TENANT: "No Tenant",
		DUCKDOCK_CORS_ORIGINS: "https://a.example/path",
	});
	const names = problems.map((line) => line.split(" ")[0]).sort();
	expect(names).toEqual([
		"DUCKDOCK_CORS_ORIGINS",
		"DUCKDOCK_FSYNC",
		"DUCKDOCK_LISTEN",
		"DUCKDOCK_LOG",
		"DUCKDOCK_MAX_PARTS",
		"DUCKDOCK_MEMORY_LIMIT",
		"DUCKDOCK_PART_BYTES",
		"DUCKDOCK_SINGLE_TENANT",
		"DUCKDOCK_STORE",
		"DUCKDOCK_TARGET",
		"DUCKDOCK_THREADS",
		"DUCKDOCK_UPLOAD_TTL",
	]);
});

test("sizes and spans of time are read with their units", () => {
	const { limits } = readConfig({
		DUCKDOCK_PART_BYTES: "1 MiB",
		DUCKDOCK_MAX_PART_BYTES: "95MB",
		DUCKDOCK_MAX_UPLOAD_BYTES: "1.5GiB",
		DUCKDOCK_MAX_BATCH_BYTES: "1048576",
		DUCKDOCK_UPLOAD_TTL: "90m",
	});
	expect(limits.partBytes).toBe(1_048_576);
	expect(limits.maxPartBytes).toBe(95_000_000);
	expect(limits.maxUploadBytes).toBe(1.5 * 1024 ** 3);
	expect(limits.maxBatchBytes).toBe(1_048_576);
	expect(limits.uploadTtlMs).toBe(5_400_000);
});

test("a part may not be larger than the most a part may have", () => {
	expect(readConfig({ DUCKDOCK_MAX_PART_BYTES: "1MiB" }).limits.partBytes).toBe(1_048_576);
	expect(problemsOf({ DUCKDOCK_MAX_PART_BYTES: "1MiB", DUCKDOCK_PART_BYTES: "2MiB" })[0]).toMatch(
		/^DUCKDOCK_PART_BYTES is 2097152/,
	);
});

test.each([
	["file:/var/x", { kind: "file", path: "/var/x" }],
	["file:///var/x", { kind: "file", path: "/var/x" }],
	["s3://bucket", { kind: "s3", bucket: "bucket", prefix: "", endpoint: null }],
	["s3://bucket/a/b/", { kind: "s3", bucket: "bucket", prefix: "a/b", endpoint: null }],
])("the store %s is read", (text, store) => {
	expect(readConfig({ DUCKDOCK_STORE: text }).store).toEqual(store);
});

test("keys and drop may lie in stores of their own, on the same endpoint", () => {
	const config = readConfig({
		DUCKDOCK_KEYS_STORE: "s3://keys",
		DUCKDOCK_DROP_STORE: "file:./drop",
		DUCKDOCK_S3_ENDPOINT: "http://127.0.0.1:9000",
	});
	expect(config.keysStore).toMatchObject({ bucket: "keys", endpoint: "http://127.0.0.1:9000" });
	expect(config.dropStore).toEqual({ kind: "file", path: "./drop" });
});

test("an S3 endpoint may have a path, and no secret", () => {
	for (const good of ["http://127.0.0.1:9000", "https://x.example/", "http://127.0.0.1:8787/a/b"]) {
		expect(problemsOf({ DUCKDOCK_S3_ENDPOINT: good })).toEqual([]);
	}
	for (const bad of ["127.0.0.1:9000", "ftp://x", "http://key:secret@x", "http://x?y=1"]) {
		expect(problemsOf({ DUCKDOCK_S3_ENDPOINT: bad })[0]).toMatch(/^DUCKDOCK_S3_ENDPOINT is http/);
	}
});

test("a target without {tenant} needs a single tenant", () => {
	expect(problemsOf({ DUCKDOCK_TARGET: "./one.duckdb" })[0]).toMatch(/^DUCKDOCK_TARGET has no/);
	const config = readConfig({ DUCKDOCK_TARGET: "md:warehouse", DUCKDOCK_SINGLE_TENANT: "acme" });
	expect(config.singleTenant).toBe("acme");
	expect(config.target).toEqual({ template: "md:warehouse", kind: "motherduck", localPath: null });
});

test.each([
	["/mnt/x/{tenant}.duckdb", "/mnt/x", true],
	["/mnt/x/../y/{tenant}.duckdb", "/mnt/x", false],
	["/mnt/xy/{tenant}.duckdb", "/mnt/x", false],
	["mnt/x/{tenant}.duckdb", "/mnt/x", false],
	["./data/{tenant}.duckdb", undefined, false],
	["ducklake:./{tenant}.ducklake", undefined, false],
	["ducklake:sqlite:/mnt/x/{tenant}.db", "/mnt/x", true],
	["ducklake:postgres:dbname={tenant}", undefined, true],
	["md:{tenant}", undefined, true],
])(
	"on a disk that is lost, target %s with persistent folder %s is fine: %s",
	(target, dir, fine) => {
		const common = { DUCKDOCK_TARGET: target, DUCKDOCK_PERSISTENT_DIR: dir };
		const here = { ...common, DUCKDOCK_EPHEMERAL_DISK: "1" };
		expect(problemsOf(here)).toHaveLength(fine ? 0 : 1);
		expect(problemsOf({ ...common, AWS_LAMBDA_FUNCTION_NAME: "f" })).toHaveLength(fine ? 0 : 1);
		expect(problemsOf(common)).toHaveLength(0);
	},
);

test("beyond loopback the service wants TLS or a proxy", () => {
	const open = { DUCKDOCK_LISTEN: "0.0.0.0:443" };
	expect(problemsOf(open)[0]).toMatch(/^DUCKDOCK_LISTEN/);
	expect(problemsOf({ ...open, DUCKDOCK_BEHIND_PROXY: "0" })).toHaveLength(1);
	expect(readConfig({ ...open, DUCKDOCK_BEHIND_PROXY: "1" }).behindProxy).toBe(true);
	const tls = { DUCKDOCK_TLS_CERT: "c.pem", DUCKDOCK_TLS_KEY: "k.pem" };
	expect(readConfig({ ...open, ...tls }).tls).toEqual({ certPath: "c.pem", keyPath: "k.pem" });
	expect(problemsOf({ ...open, DUCKDOCK_TLS_CERT: "c.pem" })).toEqual([
		"DUCKDOCK_TLS_KEY is missing, DUCKDOCK_TLS_CERT is there",
	]);
});

test.each([
	["127.0.0.1", true],
	["127.9.9.9", true],
	["::1", true],
	["::ffff:127.0.0.1", true],
	["localhost", true],
	["0.0.0.0", false],
	["::", false],
	["127.0.0.1.example.com", false],
	["10.0.0.1", false],
])("host %s is loopback: %s", (host, loopback) => {
	expect(isLoopback(host)).toBe(loopback);
});

test("a name that means nothing is told, not refused", () => {
	expect(readConfig({ DUCKDOCK_STROE: "x", DUCKDOCK_URL: "y", PATH: "z" }).unknownNames).toEqual([
		"DUCKDOCK_STROE",
	]);
});

test("a tenant that is none reaches no target", () => {
	expect(() => targetOf(readConfig({}).target, "../x")).toThrow(
		expect.objectContaining({ code: "bad_request" }),
	);
});
