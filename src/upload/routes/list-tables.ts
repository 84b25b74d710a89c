/** `GET /v1/tables`: the tables that loads made or filled, as far as the key holds them. */
import { getJson } from "../../stage/json-object.ts";
import { tablesPrefix } from "../../stage/object-keys.ts";
import { jsonAnswer } from "../answers.ts";
import { defineRoute } from "../route.ts";
import { type TableDocument, tablesQuerySchema, tablesSchema } from "../schemas.ts";

export const listTables = defineRoute({
	method: "GET",
	path: "/v1/tables",
	id: "listTables",
	summary: "Tables with their columns and rows as of the last load",
	right: "read",
	query: tablesQuerySchema,
	body: null,
	answers: { 200: { description: "A page; cursor leads to the next", schema: tablesSchema } },
	async handler({ deps, query, principal }, { holds }) {
		const prefix = tablesPrefix(principal!.tenant);
		// The cursor is a key's rest: it can name nothing outside the tenant's own prefix.
		const startAfter = query.cursor === undefined ? prefix : `${prefix}${query.cursor}`;
		const tables: TableDocument[] = [];
		let last = "";
		let cursor: string | null = null;
		for await (const { key } of deps.store.list(prefix, { startAfter })) {
			if (tables.length === query.limit) {
				cursor = last;
				break;
			}
			const stored = await getJson<TableDocument>(deps.store, key);
			last = key.slice(prefix.length);
			if (stored !== null && holds(stored.value)) tables.push(stored.value);
		}
		return jsonAnswer({ tables, cursor });
	},
});
