/**
 * `/docs`: the page around the renderer of `/openapi.json`, and words on each problem.
 * They are plain HTML, so that a problem's `type`, `/docs#not_arrow`, leads to them
 * whether a script runs or not.
 */
import { type ErrorCode, errorCodes } from "../errors.ts";
import { problemKinds } from "../upload/problem-json.ts";

/** Slots and attributes of the renderer: https://github.com/Authress-Engineering/openapi-explorer */
export function docsHtml(): string {
	const codes = Object.entries(problemKinds) as [ErrorCode, (typeof problemKinds)[ErrorCode]][];
	return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>duckdock: the API</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="/docs/docs.css">
<script type="module" src="/docs/docs.ts"></script>
<script type="module" src="/docs/openapi-explorer.min.js"></script>
</head>
<body>
<openapi-explorer spec-url="/openapi.json" hide-server-selection="true" fetch-credentials="omit">
<h1 slot="overview">duckdock</h1>
<div slot="overview-footer">
<pre tabindex="0"><code>curl "$DUCKDOCK_URL/v1/ingest/sales" -H "Authorization: Bearer $DUCKDOCK_KEY" \\
  --data-binary @sales.arrow</code></pre>
<p>The same as a document for programs: <a href="/openapi.json">OpenAPI</a>.</p>
</div>
<a slot="nav-section" href="#problems">Problems</a>
<section slot="custom-section" class="active">
<details id="problems" open>
<summary><h2>Problems</h2></summary>
<p>Every refusal is <code>application/problem+json</code> (<a href="https://www.rfc-editor.org/rfc/rfc9457">RFC 9457</a>)
with one of these codes.</p>
<dl>
${codes
	.map(
		([code, { status, retryable }]) =>
			`<div id="${code}" tabindex="-1"><dt><a href="#${code}"><code>${code}</code></a> <span>${status}</span></dt><dd>${escapeHtml(
				errorCodes[code],
			)}; the same again ${retryable ? "may succeed later" : "gives the same answer"}</dd></div>`,
	)
	.join("\n")}
</dl>
</details>
</section>
</openapi-explorer>
</body>
</html>
`;
}

function escapeHtml(text: string): string {
	return text
		.replaceAll("&", "&amp;")
		.replaceAll("<", "&lt;")
		.replaceAll(">", "&gt;")
		.replaceAll('"', "&quot;");
}
