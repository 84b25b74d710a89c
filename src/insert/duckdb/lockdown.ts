/**
 * After ATTACH, an instance reaches its target's files and nothing else: no other
 * path, no network, no extension, no setting. The order matters: ATTACH adds the
 * file and its siblings to allowed_paths by itself, and after
 * `enable_external_access=false` nothing can be added. Every statement here is
 * run once an instance; connections made later inherit what it set.
 */

import { join } from "node:path";
import { quoteText } from "./sql-names.ts";
import type { TenantTarget } from "./targets.ts";

export interface S3Access {
	keyId: string;
	secret: string;
	sessionToken?: string;
	region: string;
	/** `http(s)://HOST[:PORT]`; absent: AWS. */
	endpoint?: string;
}

export interface EngineOptions {
	/** DuckDB's notation: `4GB`, `512MiB`. */
	memoryLimit?: string;
	threads?: number;
	/** Folder for what does not fit the memory limit. */
	tempDirectory?: string;
	/** Extension files to LOAD by path before ATTACH, by the extension's name; others are loaded by name. */
	extensionFiles?: Readonly<Record<string, string>>;
	/** Where extensions are installed, in DuckDB's own order (`v1.5.5/linux_amd64/…`); absent: DuckDB's default. */
	extensionFolder?: string;
	/** Where a new lake keeps its Parquet files, `{tenant}` in it: a folder or `s3://bucket/path/`. */
	lakeData?: string;
	/** Where Parquet files are read from, by tenant in folders of that name; absent: none are. Absolute. */
	parquetFolder?: string;
	/** For lakes whose data lie in a bucket. */
	s3?: S3Access;
}

/** After ATTACH, in this order. `dataFolder`: where DuckLake keeps what its catalog does not, if that is on this machine. */
export function lockStatements(
	target: TenantTarget,
	options: EngineOptions,
	dataFolder: string | null,
): string[] {
	const statements = shared(options);
	// A lake reaches its catalog and data by DuckDB's secrets, and has used them by now.
	if (target.kind === "file") statements.push("SET GLOBAL allow_persistent_secrets = false");
	const spill =
		options.tempDirectory ?? (target.filePath === null ? undefined : `${target.filePath}.tmp`);
	if (spill !== undefined) statements.push(`SET GLOBAL temp_directory = ${quoteText(spill)}`);
	const folders =
		options.parquetFolder === undefined ? [] : [join(options.parquetFolder, target.tenant)];
	if (target.kind === "file") {
		if (folders.length > 0) statements.push(allowFolders(folders));
		statements.push(
			// The one setting that is ours to change later (`engine-threads.ts`).
			"SET GLOBAL allowed_configs = ['threads']",
			"SET GLOBAL enable_external_access = false",
		);
	} else if (target.kind === "ducklake" && target.filePath !== null && dataFolder !== null) {
		// ATTACH adds the paths of DuckDB's own files alone, not those of a lake.
		const path = target.filePath;
		const siblings = [path, `${path}.wal`, `${path}.wal.checkpoint`, `${path}.wal.recovery`];
		statements.push(
			`SET GLOBAL allowed_paths = [${siblings.map(quoteText).join(", ")}]`,
			allowFolders([dataFolder, ...folders]),
			"SET GLOBAL enable_external_access = false",
		);
	}
	// MotherDuck, and a lake whose catalog or data lie elsewhere, must reach the network: only settings are locked.
	statements.push("SET GLOBAL lock_configuration = true");
	return statements;
}

/** Of every instance. */
function shared({ memoryLimit, threads }: EngineOptions): string[] {
	const statements = [
		// A session's zone shifts tz-aware values that go into TIMESTAMP or DATE columns.
		"SET GLOBAL TimeZone = 'UTC'",
		"SET GLOBAL autoinstall_known_extensions = false",
		"SET GLOBAL autoload_known_extensions = false",
		"SET GLOBAL allow_community_extensions = false",
	];
	if (memoryLimit !== undefined) {
		statements.push(`SET GLOBAL memory_limit = ${quoteText(memoryLimit)}`);
	}
	if (threads !== undefined) {
		statements.push(`SET GLOBAL threads = ${Math.max(1, Math.trunc(threads))}`);
	}
	return statements;
}

const allowFolders = (folders: readonly string[]) =>
	`SET GLOBAL allowed_directories = [${folders.map(quoteText).join(", ")}]`;

/** An instance that reads one Parquet file and reaches nothing else; what it makes of it is its own reader's doing. */
export function parquetLockStatements(path: string, options: EngineOptions): string[] {
	return [
		"PRAGMA disable_optimizer",
		...shared(options),
		`SET GLOBAL allowed_paths = [${quoteText(path)}]`,
		"SET GLOBAL enable_external_access = false",
		"SET GLOBAL lock_configuration = true",
	];
}
