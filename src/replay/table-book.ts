/**
 * `tables/{tenant}/{schema}/{table}.json`: columns, types and row count as of the
 * last load, for `/v1/tables`. Written beside the loads, one look for however many
 * loads ended meanwhile; what a crash leaves out, the next load brings.
 */

import type { TableName } from "../flow.ts";
import type { BatchSink } from "../insert/batch-sink.ts";
import type { Log } from "../log.ts";
import { putJson } from "../stage/json-object.ts";
import { tableKey } from "../stage/object-keys.ts";
import type { ObjectStore } from "../stage/object-store.ts";
import { foldName, formatTableName } from "../table-name.ts";

export interface TableBook {
	/** The table was loaded into. */
	touch(tenant: string, table: TableName): void;
	/** Resolves once all that was touched is written. */
	flush(): Promise<void>;
}

export function createTableBook(deps: {
	sink: BatchSink;
	store: ObjectStore;
	log: Log;
}): TableBook {
	const touched = new Map<string, Map<string, TableName>>();
	const writing = new Map<string, Promise<void>>();
	const never = new AbortController().signal;

	async function write(tenant: string): Promise<void> {
		for (let tables = touched.get(tenant); tables !== undefined; tables = touched.get(tenant)) {
			touched.delete(tenant);
			try {
				const database = await deps.sink.open(tenant, never);
				try {
					for (const table of tables.values()) {
						const found = await database.describeTable(table.schema, table.table);
						const key = await tableKey(tenant, table);
						if (found === null) await deps.store.delete(key);
						else await putJson(deps.store, key, found, { volatile: true });
					}
				} finally {
					await database.close();
				}
			} catch (error) {
				deps.log.warn("a table's description could not be written", {
					tenant,
					error: error instanceof Error ? error.message : String(error),
				});
			}
		}
		writing.delete(tenant);
	}

	return {
		touch(tenant, table) {
			const tables = touched.get(tenant) ?? new Map<string, TableName>();
			touched.set(tenant, tables.set(foldName(formatTableName(table)), table));
			if (!writing.has(tenant)) writing.set(tenant, write(tenant));
		},
		async flush() {
			while (writing.size > 0) await Promise.all(writing.values());
		},
	};
}
