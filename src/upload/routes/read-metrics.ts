/** `GET /metrics`: counts in the text format of Prometheus. */
import * as z from "zod";
import { notHereAnswer } from "../answers.ts";
import { defineRoute } from "../route.ts";
import { noQuery } from "../schemas.ts";

const textFormat = "text/plain; version=0.0.4; charset=utf-8";

export const readMetrics = defineRoute({
	method: "GET",
	path: "/metrics",
	id: "readMetrics",
	summary: "Counts in the text format of Prometheus",
	right: "metrics",
	query: noQuery,
	body: null,
	answers: { 200: { description: "Counts", schema: z.string(), contentType: textFormat } },
	async handler(call) {
		if (!call.deps.metrics) {
			return notHereAnswer(call, "this runtime keeps no counts");
		}
		return new Response(call.deps.metrics.render(), { headers: { "Content-Type": textFormat } });
	},
});
