/** `GET /v1/loads/{id}`: the receipt, in every state. */
import { jsonAnswer } from "../answers.ts";
import { defineRoute } from "../route.ts";
import { noQuery, receiptSchema } from "../schemas.ts";

export const readLoad = defineRoute({
	method: "GET",
	path: "/v1/loads/{id}",
	id: "readLoad",
	summary: "The receipt of a load",
	right: "receipt",
	query: noQuery,
	body: null,
	answers: { 200: { description: "Staged, loading, committed or failed", schema: receiptSchema } },
	async handler(_call, receipt) {
		const running = receipt.status === "staged" || receipt.status === "loading";
		return jsonAnswer(receipt, 200, running ? { "Retry-After": "1" } : {});
	},
});
