/**
 * `/docs`: the table of routes and the table of problems for people, one page
 * without a script. A problem's `type` is an address on it: `/docs#not_arrow`.
 */
import { type ErrorCode, errorCodes } from "../errors.ts";
import { problemKinds } from "./problem-json.ts";
import type { Route } from "./route.ts";
import { problemsOf } from "./route-problems.ts";

const style = `
:root { color-scheme: light dark; --line: #8884; --soft: #8881; }
body { font: 16px/1.5 system-ui, sans-serif; margin: 0 auto; max-width: 60rem; padding: 1.5rem; }
h1 { font-size: 1.6rem; } h2 { margin-top: 2.5rem; }
code, pre { font: 0.9em ui-monospace, monospace; }
article { border-top: 1px solid var(--line); padding: 0.5rem 0; }
article h3 { font-size: 1rem; margin: 0.5rem 0; }
.method { display: inline-block; min-width: 4.2rem; font-weight: 700; }
table { border-collapse: collapse; width: 100%; }
td, th { border-top: 1px solid var(--line); padding: 0.3rem 0.6rem 0.3rem 0; text-align: left; vertical-align: top; }
tr:target { background: var(--soft); }
a { color: inherit; }
.wide { overflow-x: auto; }
`;

const rightWords = {
	open: "no key",
	metrics: "right metrics, or a peer on the service's machine",
	load: "the rights of the load's mode, and its table",
	upload: "the rights of the upload's mode, and its table",
	receipt: "right read, and the load's table",
	replay: "the rights of the load's mode, and its table",
	table: "right read, and the table",
	read: "right read",
} as const satisfies Record<Route["right"], string>;

export function docsHtml(routes: readonly Route[]): string {
	const codes = Object.entries(problemKinds) as [ErrorCode, (typeof problemKinds)[ErrorCode]][];
	return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>duckdock: the API</title>
<style>${style}</style>
</head>
<body>
<main>
<h1>duckdock</h1>
<p>Arrow over plain HTTPS into DuckDB, exactly once. The same as a document for programs:
<a href="/openapi.json">OpenAPI</a>.</p>
<pre class="wide"><code>curl "$DUCKDOCK_URL/v1/ingest/sales" -H "Authorization: Bearer $DUCKDOCK_KEY" \\
  --data-binary @sales.arrow</code></pre>
<h2 id="routes">Routes</h2>
${routes.map(routeHtml).join("\n")}
<h2 id="problems">Problems</h2>
<p>Every refusal is <code>application/problem+json</code> (<a href="https://www.rfc-editor.org/rfc/rfc9457">RFC 9457</a>)
with one of these codes.</p>
<div class="wide"><table>
<thead><tr><th scope="col">code</th><th scope="col">status</th><th scope="col">the same again</th><th scope="col">meaning</th></tr></thead>
<tbody>
${codes
	.map(
		([code, { status, retryable }]) =>
			`<tr id="${code}"><td><a href="#${code}"><code>${code}</code></a></td><td>${status}</td><td>${
				retryable ? "may succeed later" : "gives the same answer"
			}</td><td>${escapeHtml(errorCodes[code])}</td></tr>`,
	)
	.join("\n")}
</tbody>
</table></div>
</main>
</body>
</html>
`;
}

function routeHtml(route: Route): string {
	const answers = Object.entries(route.answers).map(
		([status, { description }]) => `<li><code>${status}</code> ${escapeHtml(description)}</li>`,
	);
	const codes = problemsOf(route).map((code) => `<a href="#${code}"><code>${code}</code></a>`);
	const headers = Object.entries(route.headers ?? {}).map(
		([name, text]) => `<li><code>${escapeHtml(name)}</code>: ${escapeHtml(text)}</li>`,
	);
	return `<article id="${route.id}">
<h3><span class="method">${route.method}</span> <code>${escapeHtml(route.path)}</code></h3>
<p>${escapeHtml(route.summary)}. Needs: ${rightWords[route.right]}.</p>
<ul>${answers.join("")}</ul>
${headers.length === 0 ? "" : `<p>Headers:</p><ul>${headers.join("")}</ul>`}
<details><summary>Problems</summary><p>${codes.join(", ")}</p></details>
</article>`;
}

function escapeHtml(text: string): string {
	return text
		.replaceAll("&", "&amp;")
		.replaceAll("<", "&lt;")
		.replaceAll(">", "&gt;")
		.replaceAll('"', "&quot;");
}
