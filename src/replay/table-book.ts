/**
 * `tables/{tenant}/{schema}/{table}.json`: columns, types and row count as of the
 * last load, for `/v1/tables`. Written before the receipt can be read, one look for
 * however many loads ended meanwhile; what a crash leaves out, the next load brings.
 */

import type { TableName } from "../flow.ts";
import type { BatchSink } from "../insert/batch-sink.ts";
import type { Log } from "../log.ts";
import { putJson } from "../stage/json-object.ts";
import { tableKey } from "../stage/object-keys.ts";
import type { ObjectStore } from "../stage/object-store.ts";
import { foldName, formatTableName } from "../table-name.ts";

export interface TableBook {
	/** The table was loaded into. Resolves once it is written as it is now, or could not be; never rejects. */
	touch(tenant: string, table: TableName): Promise<void>;
	/** Resolves once all that was touched is written. */
	flush(): Promise<void>;
}

interface Touched {
	tables: Map<string, TableName>;
	written: PromiseWithResolvers<void>;
}

export function createTableBook(deps: {
	sink: BatchSink;
	store: ObjectStore;
	log: Log;
}): TableBook {
	const touched = new Map<string, Touched>();
	const writing = new Map<string, Promise<void>>();
	const never = new AbortController().signal;

	async function write(tenant: string): Promise<void> {
		// Loads of one transaction are told of in one go.
		await null;
		for (let batch = touched.get(tenant); batch !== undefined; batch = touched.get(tenant)) {
			touched.delete(tenant);
			try {
				const database = await deps.sink.open(tenant, never);
				try {
					for (const table of batch.tables.values()) {
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
			batch.written.resolve();
		}
		writing.delete(tenant);
	}

	return {
		touch(tenant, table) {
			const batch = touched.get(tenant) ?? { tables: new Map(), written: Promise.withResolvers() };
			touched.set(tenant, batch);
			batch.tables.set(foldName(formatTableName(table)), table);
			if (!writing.has(tenant)) writing.set(tenant, write(tenant));
			return batch.written.promise;
		},
		async flush() {
			while (writing.size > 0) await Promise.all(writing.values());
		},
	};
}
