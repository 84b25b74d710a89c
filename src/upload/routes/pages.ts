/** `/docs`, made of the table of routes, and `/console`, a static page: the same for everyone. */
import * as z from "zod";
import { notHereAnswer } from "../answers.ts";
import { docsHtml } from "../docs-page.ts";
import { defineRoute, type Route } from "../route.ts";
import { noQuery } from "../schemas.ts";

const policy = "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'";

export function docsPage(described: readonly Route[]): Route {
	let html: string | undefined;
	return defineRoute({
		method: "GET",
		path: "/docs",
		id: "docs",
		summary: "The API for people",
		right: "open",
		query: noQuery,
		body: null,
		answers: { 200: { description: "A page", schema: z.string(), contentType: "text/html" } },
		async handler() {
			html ??= docsHtml(described);
			return new Response(html, {
				headers: {
					"Content-Type": "text/html; charset=utf-8",
					"Content-Security-Policy": policy,
					"Cache-Control": "public, max-age=300",
				},
			});
		},
	});
}

/** The page, and what it is made of: its own files and those that it shares with the client. */
export const consolePages: Route[] = (
	[
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
