/**
 * One tenant's target: what DuckDB attaches, and what it can do there.
 *
 * In: the template of `DUCKDOCK_TARGET` and a tenant, whose grammar is checked
 * before it becomes part of a path or a statement. Out: the statement that
 * attaches it, under the fixed alias `target`.
 *
 * New DuckDB files are made with storage version v1.5.0. Measured: a file of the
 * default version (v1.0.0) forgets the CRS of a GEOMETRY column when it is opened
 * again, in silence, and cannot hold VARIANT. Files that are there keep theirs.
 */

import { existsSync } from "node:fs";
import { resolve } from "node:path";
import type { EngineTarget } from "../../target-template.ts";
import { targetOf } from "../../target-template.ts";
import { quoteIdentifier, quoteText } from "./sql-names.ts";

/** Alias of the attached database in every instance; never a tenant's name. */
export const catalogAlias = "target";

const newFileStorageVersion = "v1.5.0";

export interface TenantTarget {
	tenant: string;
	kind: EngineTarget["kind"];
	/** What ATTACH gets; a path for files, made absolute. Not for callers' eyes. */
	location: string;
	/** The file on this machine that a lock guards, or null. */
	filePath: string | null;
	/** Extensions that must be loaded first. */
	extensions: readonly string[];
	can: {
		/** PRIMARY KEY, UNIQUE, CHECK, indexes. */
		primaryKeys: boolean;
	};
}

/** `bad_request` for a name that is no tenant. */
export function tenantTarget(target: EngineTarget, tenant: string): TenantTarget {
	const location = targetOf(target, tenant);
	switch (target.kind) {
		case "file": {
			const filePath = resolve(location);
			return {
				tenant,
				kind: "file",
				location: filePath,
				filePath,
				extensions: [],
				can: { primaryKeys: true },
			};
		}
		case "motherduck":
			return {
				tenant,
				kind: "motherduck",
				location,
				filePath: null,
				extensions: ["motherduck"],
				can: { primaryKeys: true },
			};
		case "ducklake":
			return {
				tenant,
				kind: "ducklake",
				location,
				filePath: null,
				extensions: ["ducklake"],
				can: { primaryKeys: false },
			};
		case "other":
			return {
				tenant,
				kind: "other",
				location,
				filePath: null,
				extensions: [],
				can: { primaryKeys: true },
			};
	}
}

/** A database that lives as long as its instance, for dry runs where no file is there yet. */
export function throwawayTarget(target: TenantTarget): TenantTarget {
	return { ...target, location: ":memory:", filePath: null, extensions: [] };
}

export function targetExists(target: TenantTarget): boolean {
	return target.filePath === null || existsSync(target.filePath);
}

export function attachStatement(target: TenantTarget): string {
	const options: string[] = [];
	if (target.filePath !== null) {
		// Without READ_WRITE a file that can't be written is attached for reading, in silence.
		options.push("TYPE duckdb", "READ_WRITE");
		if (!existsSync(target.filePath)) {
			options.push(`STORAGE_VERSION ${quoteText(newFileStorageVersion)}`);
		}
	}
	const tail = options.length > 0 ? ` (${options.join(", ")})` : "";
	return `ATTACH ${quoteText(target.location)} AS ${quoteIdentifier(catalogAlias)}${tail}`;
}

export function detachStatement(): string {
	return `DETACH ${quoteIdentifier(catalogAlias)}`;
}
