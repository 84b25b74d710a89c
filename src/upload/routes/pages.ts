/** `/docs` and `/console`: static pages, the same for everyone. */
import { z } from "zod";
import { notHereAnswer } from "../answers.ts";
import { defineRoute } from "../route.ts";
import { noQuery } from "../schemas.ts";

const page = (path: "/docs" | "/console", id: string, summary: string) =>
	defineRoute({
		method: "GET",
		path,
		id,
		summary,
		right: "open",
		query: noQuery,
		body: null,
		answers: { 200: { description: summary, schema: z.string(), contentType: "text/html" } },
		async handler(call) {
			const found = await call.deps.pages?.(path);
			if (found) return found;
			return notHereAnswer(call, `there is no page ${path} here`);
		},
	});

export const docsPage = page("/docs", "docs", "The API for people");
export const consolePage = page("/console", "console", "A console in the browser");
