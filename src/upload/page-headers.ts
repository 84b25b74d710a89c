/**
 * Pages by path and the headers they go out with, wherever their bytes lie: `/docs`,
 * which runs no script, and `/console`, which runs its own alone.
 */
const policies = {
	docs: "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'",
	console:
		"default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; " +
		"base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
} as const;

/** The console's TypeScript is served with the types taken out, under its own names. */
const types: Readonly<Record<string, string>> = { css: "text/css", ts: "text/javascript" };

export function pageHeaders(path: string): Record<string, string> {
	const type = types[/\.([a-z]+)$/.exec(path)?.[1] ?? ""] ?? "text/html";
	const isDocs = path === "/docs";
	return {
		"Content-Type": `${type}; charset=utf-8`,
		"Content-Security-Policy": isDocs ? policies.docs : policies.console,
		"Cache-Control": `public, max-age=${isDocs ? 300 : 60}`,
	};
}
