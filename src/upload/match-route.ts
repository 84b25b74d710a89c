/**
 * Method and path in, route and decoded parameters out. Paths are split before
 * they are decoded, so an encoded slash or dot is a character of a name, never a
 * separator.
 */
import { IngestError } from "../errors.ts";
import type { Route } from "./route.ts";

export type Match =
	| { kind: "found"; route: Route; params: Record<string, string> }
	/** Those of the path, whose methods are others. */
	| { kind: "no_method"; routes: Route[] }
	| { kind: "no_path" };

/** `pathname` as the URL has it, percent-encoded. `bad_request` for encodings that are none. */
export function matchRoute(routes: readonly Route[], method: string, pathname: string): Match {
	const segments = pathname.split("/").slice(1);
	const others: Route[] = [];
	for (const route of routes) {
		const pattern = route.path.split("/").slice(1);
		if (pattern.length !== segments.length) continue;
		if (
			!pattern.every((part, at) =>
				isParameter(part) ? segments[at] !== "" : part === segments[at],
			)
		) {
			continue;
		}
		if (route.method !== method) {
			others.push(route);
			continue;
		}
		const params: Record<string, string> = {};
		pattern.forEach((part, at) => {
			if (isParameter(part)) params[part.slice(1, -1)] = decodeSegment(segments[at]!);
		});
		return { kind: "found", route, params };
	}
	return others.length > 0 ? { kind: "no_method", routes: others } : { kind: "no_path" };
}

function decodeSegment(segment: string): string {
	try {
		return decodeURIComponent(segment);
	} catch {
		throw new IngestError(
			"bad_request",
			`the path has a percent-encoding that is not UTF-8: ${segment.slice(0, 100)}`,
		);
	}
}

const isParameter = (part: string) => part.startsWith("{");
