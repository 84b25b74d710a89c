/**
 * Keys under `drop/`: which table a file is for.
 *
 *   drop/{tenant}/{schema}/{table}/[mode=…/]{any}
 *
 * Names are percent-encoded, as in every key. `{any}` may hold slashes. What is no
 * file of a tenant (another prefix, a folder's mark, `drop.json`) is null.
 */

import { IngestError } from "../errors.ts";
import type { TableName } from "../flow.ts";
import { formatTableName, parseTableName } from "../table-name.ts";
import { assertTenantName, isTenantName } from "../tenant/tenant-name.ts";

export interface DropPlace {
	tenant: string;
	/** Encoded, as in the key. */
	schema: string;
	table: string;
	/** Of the segment `mode=…`; null: there is none. */
	mode: string | null;
}

export const dropPrefix = "drop/";
export const dropRuleKey = (tenant: string) => `drop/${assertTenantName(tenant)}/drop.json`;

export function parseDropKey(key: string): DropPlace | null {
	const [top, tenant, schema, table, ...rest] = key.split("/");
	if (top !== "drop" || !isTenantName(tenant) || !schema || !table) return null;
	const mode = /^mode=(.*)$/s.exec(rest[0] ?? "")?.[1] ?? null;
	const file = mode !== null && rest.length > 1 ? rest.slice(1) : rest;
	// A key that ends with a slash is how consoles mark a folder.
	if (file.length === 0 || file.at(-1) === "") return null;
	return { tenant, schema, table, mode: rest.length > 1 ? mode : null };
}

/** `bad_request` for names that no table can have. */
export function tableOfPlace({ schema, table }: DropPlace): TableName {
	try {
		const name = { schema: decodeURIComponent(schema), table: decodeURIComponent(table) };
		return parseTableName(formatTableName(name));
	} catch (cause) {
		if (cause instanceof IngestError) throw cause;
		throw new IngestError("bad_request", `${schema}/${table} is not percent-encoded`, { cause });
	}
}
