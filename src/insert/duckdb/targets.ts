/**
 * One tenant's target: what DuckDB attaches, under which name, and what it can do there.
 *
 * In: the template of `DUCKDOCK_TARGET` and a tenant, whose grammar is checked
 * before it becomes part of a path or a statement. Out: the statement that
 * attaches it.
 *
 * - DuckDB files. New ones are made with storage version v1.5.0. Measured: a file
 *   of the default version (v1.0.0) forgets the CRS of a GEOMETRY column when it is
 *   opened again, in silence, and cannot hold VARIANT. Files that are there keep theirs.
 * - DuckLake, measured with a DuckDB file and with PostgreSQL as its catalog: no keys,
 *   so that the ledger needs its fence row; no ARRAY and no UNION; a CRS is dropped.
 *   With PostgreSQL several loaders write at once.
 * - MotherDuck: databases keep their own name, aliases are refused; attached alone,
 *   so that one tenant's instance sees no other database of the account. Written
 *   from its documentation; what runs without its service is tested, a load is not.
 */

import { existsSync } from "node:fs";
import { resolve } from "node:path";
import type { EngineTarget } from "../../target-template.ts";
import { targetOf } from "../../target-template.ts";
import { quoteIdentifier, quoteText } from "./sql-names.ts";

/** Of every database that can have an alias; never a tenant's name. */
const alias = "target";

const newFileStorageVersion = "v1.5.0";

export interface TenantTarget {
	tenant: string;
	kind: EngineTarget["kind"];
	/** Name of the attached database in its instance. */
	catalog: string;
	/** What ATTACH gets; of files an absolute path. Not for callers' eyes. */
	location: string;
	/** The file on this machine that holds the data or its catalog and that one process at a time may open, or null. */
	filePath: string | null;
	/** Extensions that must be loaded first. */
	extensions: readonly string[];
	/** Of a lake: where its Parquet files go when it is made; absent: beside its catalog. */
	lakeData?: string;
	can: {
		/** PRIMARY KEY, UNIQUE, CHECK, indexes. */
		primaryKeys: boolean;
		/** While it is attached nobody else changes it. */
		beAlone: boolean;
	};
}

/** `bad_request` for a name that is no tenant. */
export function tenantTarget(
	target: EngineTarget,
	tenant: string,
	lakeDataTemplate?: string,
): TenantTarget {
	const location = targetOf(target, tenant);
	const common = { tenant, kind: target.kind, catalog: alias, location, filePath: null };
	switch (target.kind) {
		case "file": {
			const filePath = resolve(location);
			const can = { primaryKeys: true, beAlone: true };
			return { ...common, location: filePath, filePath, extensions: [], can };
		}
		case "ducklake": {
			const path = target.localPath?.replaceAll("{tenant}", () => tenant) ?? null;
			const filePath = path === null ? null : resolve(path);
			const lakeData = lakeDataTemplate?.replaceAll("{tenant}", () => tenant);
			const extensions = ["ducklake"];
			// The catalog's own extension comes by the name that DuckDB gives it.
			if (/^ducklake:postgres:/i.test(location)) extensions.push("postgres_scanner");
			if (/^ducklake:sqlite:/i.test(location)) extensions.push("sqlite_scanner");
			if (lakeData?.startsWith("s3://")) extensions.push("httpfs");
			const data = lakeData === undefined ? {} : { lakeData };
			return {
				...common,
				...data,
				filePath,
				extensions,
				can: { primaryKeys: false, beAlone: false },
			};
		}
		case "motherduck": {
			const [, name, options] = /^[^:]+:([^?]*)(?:\?(.*))?$/s.exec(location)!;
			const alone = /(?:^|&)attach_mode=/.test(options ?? "") ? [] : ["attach_mode=single"];
			const parameters = [...(options ? [options] : []), ...alone].join("&");
			return {
				...common,
				catalog: name!,
				location: `md:${name}${parameters && `?${parameters}`}`,
				extensions: ["motherduck"],
				can: { primaryKeys: true, beAlone: false },
			};
		}
		case "other":
			return { ...common, extensions: [], can: { primaryKeys: true, beAlone: false } };
	}
}

/** A database that lives as long as its instance, for dry runs where no file is there yet. */
export function throwawayTarget(target: TenantTarget): TenantTarget {
	const can = { primaryKeys: true, beAlone: true };
	const location = ":memory:";
	return { ...target, kind: "file", catalog: alias, location, filePath: null, extensions: [], can };
}

/** What is not a file here is taken to be there. */
export function targetExists(target: TenantTarget): boolean {
	return target.filePath === null || existsSync(target.filePath);
}

export function attachStatement(target: TenantTarget): string {
	if (target.kind === "motherduck") return `ATTACH ${quoteText(target.location)}`;
	const options: string[] = [];
	if (target.kind === "file" && target.filePath !== null) {
		// Without READ_WRITE a file that can't be written is attached for reading, in silence.
		options.push("TYPE duckdb", "READ_WRITE");
		if (!existsSync(target.filePath)) {
			options.push(`STORAGE_VERSION ${quoteText(newFileStorageVersion)}`);
		}
	}
	if (target.lakeData !== undefined) options.push(`DATA_PATH ${quoteText(target.lakeData)}`);
	const tail = options.length > 0 ? ` (${options.join(", ")})` : "";
	return `ATTACH ${quoteText(target.location)} AS ${quoteIdentifier(target.catalog)}${tail}`;
}

export function detachStatement(target: TenantTarget): string {
	return `DETACH ${quoteIdentifier(target.catalog)}`;
}
