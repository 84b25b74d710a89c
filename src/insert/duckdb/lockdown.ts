/**
 * After ATTACH, an instance reaches its target's files and nothing else: no other
 * path, no network, no extension, no setting. The order matters: ATTACH adds the
 * file and its siblings to allowed_paths by itself, and after
 * `enable_external_access=false` nothing can be added. Every statement here is
 * run once an instance; connections made later inherit what it set.
 */

import { quoteText } from "./sql-names.ts";
import type { TenantTarget } from "./targets.ts";

export interface EngineOptions {
	/** DuckDB's notation: `4GB`, `512MiB`. */
	memoryLimit?: string;
	threads?: number;
	/** Folder for what does not fit the memory limit. */
	tempDirectory?: string;
	/** Extension files to LOAD by path before ATTACH, by name; others are loaded by name. */
	extensionFiles?: Readonly<Record<string, string>>;
}

/** Before ATTACH. */
export function loadStatements(target: TenantTarget, options: EngineOptions): string[] {
	return target.extensions.map((name) => {
		const file = options.extensionFiles?.[name];
		return `LOAD ${file === undefined ? name : quoteText(file)}`;
	});
}

/** After ATTACH, in this order. */
export function lockStatements(target: TenantTarget, options: EngineOptions): string[] {
	const statements = [
		// A session's zone shifts tz-aware values that go into TIMESTAMP or DATE columns.
		"SET GLOBAL TimeZone = 'UTC'",
		"SET GLOBAL autoinstall_known_extensions = false",
		"SET GLOBAL autoload_known_extensions = false",
		"SET GLOBAL allow_community_extensions = false",
		"SET GLOBAL allow_persistent_secrets = false",
	];
	if (options.memoryLimit !== undefined) {
		statements.push(`SET GLOBAL memory_limit = ${quoteText(options.memoryLimit)}`);
	}
	if (options.threads !== undefined) {
		statements.push(`SET GLOBAL threads = ${Math.max(1, Math.trunc(options.threads))}`);
	}
	const spill =
		options.tempDirectory ?? (target.filePath === null ? undefined : `${target.filePath}.tmp`);
	if (spill !== undefined) statements.push(`SET GLOBAL temp_directory = ${quoteText(spill)}`);
	// MotherDuck and DuckLake keep their data elsewhere and must reach it.
	if (target.filePath !== null || target.location === ":memory:") {
		statements.push("SET GLOBAL enable_external_access = false");
	}
	statements.push("SET GLOBAL lock_configuration = true");
	return statements;
}
