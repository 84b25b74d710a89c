/** Headers that every answer has, for browsers: nothing is framed, sniffed, cached or run by accident. */

/** Pages bring their own policy; all else may load and run nothing. */
const nothing = "default-src 'none'; frame-ancestors 'none'";

export function securityHeaders(url: URL, present: Headers): [string, string][] {
	const headers: [string, string][] = [
		["X-Content-Type-Options", "nosniff"],
		["Referrer-Policy", "no-referrer"],
		["Cross-Origin-Resource-Policy", "same-origin"],
	];
	if (!present.has("content-security-policy")) headers.push(["Content-Security-Policy", nothing]);
	if (!present.has("cache-control")) headers.push(["Cache-Control", "no-store"]);
	if (url.protocol === "https:") headers.push(["Strict-Transport-Security", "max-age=31536000"]);
	return headers;
}
