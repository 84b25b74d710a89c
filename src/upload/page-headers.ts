/**
 * Pages by path, the files that hold them and the headers they go out with: `/docs` and
 * `/console`, which run what the service itself serves and ask nobody else.
 */
const policy =
	"default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

const policies = {
	// The renderer writes its colours into the page as elements and attributes, and all of its HTML by lit's policy.
	docs: `${policy.replace("style-src 'self'", "style-src 'self' 'unsafe-inline'")}; require-trusted-types-for 'script'; trusted-types lit-html`,
	console: policy,
} as const;

/** Our TypeScript is served with the types taken out, under its own names. */
const types: Readonly<Record<string, string>> = {
	css: "text/css",
	js: "text/javascript",
	ts: "text/javascript",
};

/** How long a page may be kept. The renderer is the same until its version is another. */
const maxAgeSeconds = { docs: 300, console: 60, renderer: 86_400 } as const;

/** Under which name a page lies in a folder of them: beside the page `/console` is a folder of that name. */
export function pageFile(path: string): string {
	return /\.[a-z]+$/.test(path) ? path : `${path}.html`;
}

export function pageHeaders(path: string): Record<string, string> {
	const type = types[/\.([a-z]+)$/.exec(path)?.[1] ?? ""] ?? "text/html";
	const kind = path.startsWith("/docs") ? "docs" : "console";
	const maxAge = maxAgeSeconds[path.endsWith(".js") ? "renderer" : kind];
	return {
		"Content-Type": `${type}; charset=utf-8`,
		"Content-Security-Policy": policies[kind],
		"Cache-Control": `public, max-age=${maxAge}`,
	};
}
