/** A loaded table in the common notation, read by plain SQL on an instance of its own. */

import { DuckDBTypeId } from "@duckdb/node-api";
import { fromDuckdb } from "./canonical-duckdb.ts";
import type { LoadedTable } from "./compare.ts";
import type { Loader } from "./load-bytes.ts";

export async function readTable(loader: Loader, table: string): Promise<LoadedTable> {
	const connection = await loader.reader();
	const result = await connection.run(`SELECT * FROM main."${table}"`);
	const names = result.columnNames();
	const types = result.columnTypes();
	const rows = await result.getRows();
	const geometry = new Map<string, (string | null)[]>();
	for (const [at, type] of types.entries()) {
		if (type.typeId !== DuckDBTypeId.GEOMETRY) continue;
		const column = `"${names[at]!.replaceAll('"', '""')}"`;
		const texts = await connection.run(`SELECT ST_AsText(${column}) FROM main."${table}"`);
		geometry.set(
			names[at]!,
			(await texts.getRows()).map(([text]) => text as string | null),
		);
	}
	return {
		names,
		types: types.map((type) => type.alias ?? type.toString()),
		columns: types.map((type, at) => rows.map((row) => fromDuckdb(row[at]!, type))),
		geometry,
	};
}
