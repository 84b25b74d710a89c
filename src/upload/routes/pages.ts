/** `/docs` and `/console`: static pages, the same for everyone, from where the runtime keeps them. */
import * as z from "zod";
import { notHereAnswer } from "../answers.ts";
import { defineRoute, type Route } from "../route.ts";
import { noQuery } from "../schemas.ts";

/** The docs, the console, and what they are made of; the console shares files with the client. */
export const pages: Route[] = (
	[
		["/docs", "docs", "The API for people", "text/html"],
		["/docs/{file}", "docsFile", "A file of that page", "text/javascript"],
		["/console", "console", "A console in the browser", "text/html"],
		["/console/src/{file}", "consoleShared", "What the console shares", "text/javascript"],
		["/console/src/{folder}/{file}", "consoleFile", "A file of the console", "text/javascript"],
	] as const
).map(([path, id, summary, contentType]) =>
	defineRoute({
		method: "GET",
		path,
		id,
		summary,
		right: "open",
		query: noQuery,
		body: null,
		answers: {
			200: { description: "A page", schema: z.string(), contentType },
		},
		async handler(call) {
			const asked = new URL(call.request.url).pathname;
			const page = await call.deps.pages?.(asked);
			return page ?? notHereAnswer(call, `there is no page ${asked} here`);
		},
	}),
);
