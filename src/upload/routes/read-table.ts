/** `GET /v1/tables/{table}`: columns, types and rows as of the last load. */
import { IngestError } from "../../errors.ts";
import { getJson } from "../../stage/json-object.ts";
import { tableKey } from "../../stage/object-keys.ts";
import { formatTableName } from "../../table-name.ts";
import { jsonAnswer } from "../answers.ts";
import { defineRoute } from "../route.ts";
import { noQuery, type TableDocument, tableSchema } from "../schemas.ts";

export const readTable = defineRoute({
	method: "GET",
	path: "/v1/tables/{table}",
	id: "readTable",
	summary: "A table's columns and rows as of the last load",
	right: "table",
	query: noQuery,
	body: null,
	answers: { 200: { description: "As of the last load", schema: tableSchema } },
	async handler({ deps, principal }, table) {
		const key = await tableKey(principal!.tenant, table);
		const stored = await getJson<TableDocument>(deps.store, key);
		if (stored !== null) return jsonAnswer(stored.value);
		throw new IngestError(
			"table_not_found",
			`there is no table ${formatTableName(table)}, or nothing was loaded into it yet`,
		);
	},
	problems: ["table_not_found"],
});
