/** `GET /healthz`: the process answers. */
import { jsonAnswer } from "../answers.ts";
import { defineRoute } from "../route.ts";
import { healthSchema, noQuery } from "../schemas.ts";

export const healthz = defineRoute({
	method: "GET",
	path: "/healthz",
	id: "healthz",
	summary: "Whether the process answers",
	right: "open",
	query: noQuery,
	body: null,
	answers: { 200: { description: "It does", schema: healthSchema } },
	handler: async () => jsonAnswer({ status: "ok" }),
});
