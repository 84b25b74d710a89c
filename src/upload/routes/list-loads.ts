/** `GET /v1/loads`: history, newest first, of the tables that the key holds. */
import type { Receipt } from "../../flow.ts";
import { formatTableName, parseTableName } from "../../table-name.ts";
import { jsonAnswer } from "../answers.ts";
import { assertHolds } from "../authorise.ts";
import { defineRoute } from "../route.ts";
import { historyQuerySchema, historySchema } from "../schemas.ts";

/** Pages read for one answer; a key that holds few of many tables gets a short page and a cursor. */
const maxPages = 10;

export const listLoads = defineRoute({
	method: "GET",
	path: "/v1/loads",
	id: "listLoads",
	summary: "Loads, newest first",
	right: "read",
	query: historyQuerySchema,
	body: null,
	answers: { 200: { description: "A page; cursor leads to the next", schema: historySchema } },
	async handler({ deps, query, principal }, { holds }) {
		const { limit, status } = query;
		const table = query.table === undefined ? undefined : parseTableName(query.table);
		if (table !== undefined) assertHolds(principal!, table);
		const loads: Receipt[] = [];
		let cursor: string | null = query.cursor ?? null;
		for (let page = 0; page < maxPages; page++) {
			const read = await deps.receipts.history(principal!.tenant, {
				...(table === undefined ? {} : { table: formatTableName(table) }),
				...(status === undefined ? {} : { status }),
				...(cursor === null ? {} : { cursor }),
				limit: limit - loads.length,
			});
			loads.push(...read.receipts.filter((receipt) => holds(parseTableName(receipt.table))));
			cursor = read.cursor;
			if (cursor === null || loads.length >= limit) break;
		}
		return jsonAnswer({ loads, cursor });
	},
});
