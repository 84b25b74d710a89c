/**
 * In: a CRS as GeoArrow or GeoParquet metadata names it. Out: the form of it that
 * DuckDB keeps in the type GEOMETRY(…), or null, then the load warns with its label.
 *
 * What DuckDB keeps, measured: `OGC:CRS84` and `OGC:CRS83`, PROJJSON and WKT2 of
 * the kinds below. Any other authority and code, WKT1, PROJ strings and SRIDs it
 * drops without a word, and WKT2 that it cannot parse fails the whole statement.
 *
 * Spec: https://geoarrow.org/extension-types.html#extension-metadata
 */

/** PROJJSON's `type` values that DuckDB keeps; it compares them without case. */
const keptProjjsonTypes = new Set(
	["Geographic", "Geodetic", "Projected", "Vertical", "Engineering", "Compound", "Temporal"]
		.concat("Parametric")
		.map((kind) => `${kind.toLowerCase()}crs`),
);

/** Root keywords of WKT2 that DuckDB keeps. */
const keptWkt2Roots =
	/^(GEOG|GEOGRAPHIC|GEOD|GEODETIC|PROJ|PROJECTED|VERT|VERTICAL|ENG|ENGINEERING|COMPOUND|TIME|PARAMETRIC)CRS$/i;

/** Levels of brackets; real definitions need fewer than 10. */
const maxWkt2Nesting = 32;
/** Characters of a definition; real ones have fewer than 10,000, and it becomes part of a type's name. */
const maxDefinitionChars = 65_536;

/** Other spellings of longitude and latitude on WGS 84 that mean OGC:CRS84 exactly. */
const crs84 =
	/^(urn:ogc:def:crs:ogc:[\d.]*:crs84|https?:\/\/www\.opengis\.net\/def\/crs\/ogc\/[\d.]+\/crs84|crs84|ogc:crs84)$/i;
const crs83 = /^(urn:ogc:def:crs:ogc:[\d.]*:crs83|crs83|ogc:crs83)$/i;

export interface EngineCrs {
	/** To be put under `crs`; null: DuckDB has no place for it. */
	kept: string | Record<string, unknown> | null;
	/** For people: name and code. */
	label: string;
}

/** Null where there is no CRS at all. */
export function engineCrs(crs: unknown): EngineCrs | null {
	if (crs === null || crs === undefined || crs === "") return null;
	if (typeof crs === "string") return fromText(crs.trim());
	if (typeof crs === "object" && !Array.isArray(crs)) {
		return fromProjjson(crs as Record<string, unknown>);
	}
	return { kept: null, label: shorten(JSON.stringify(crs)) };
}

function fromText(text: string): EngineCrs | null {
	if (text === "") return null;
	if (crs84.test(text)) return { kept: "OGC:CRS84", label: "OGC:CRS84" };
	if (crs83.test(text)) return { kept: "OGC:CRS83", label: "OGC:CRS83" };
	if (text.startsWith("{")) {
		try {
			return fromProjjson(JSON.parse(text));
		} catch {
			return { kept: null, label: shorten(text) };
		}
	}
	const root = /^(\w+)\s*[[(]/.exec(text)?.[1];
	if (root === undefined) return { kept: null, label: shorten(text) };
	const isKept =
		text.length <= maxDefinitionChars && keptWkt2Roots.test(root) && isWellFormedWkt2(text);
	return { kept: isKept ? text : null, label: wktLabel(text) };
}

function fromProjjson(crs: Record<string, unknown>): EngineCrs {
	const { type, name, id } = crs;
	const code =
		typeof id === "object" && id !== null && "authority" in id && "code" in id
			? `${id.authority}:${id.code}`
			: null;
	const label = [typeof name === "string" ? name : null, code && `(${code})`]
		.filter((part) => part)
		.join(" ");
	const isKept =
		typeof type === "string" &&
		keptProjjsonTypes.has(type.toLowerCase()) &&
		JSON.stringify(crs).length <= maxDefinitionChars;
	return { kept: isKept ? crs : null, label: shorten(label || JSON.stringify(crs)) };
}

/** `KEYWORD["text", 1.5, word, KEYWORD[…], …]` and nothing after it; the first argument a string. */
function isWellFormedWkt2(text: string): boolean {
	const token = /\s*(?:("(?:[^"\0]|"")*")|(-?\d+(?:\.\d*)?(?:[eE][+-]?\d+)?)|(\w+)|([[\](),]))/y;
	/** Closing brackets that are due. */
	const open: string[] = [];
	/** What stood before: an argument is complete after `value`, `word` and `close`. */
	let before: "start" | "value" | "word" | "open" | "comma" | "close" = "start";
	while (token.lastIndex < text.length) {
		const match = token.exec(text);
		if (match === null) return false;
		const [, string, number, word, mark] = match;
		const expectsArgument = before === "open" || before === "comma";
		if (string !== undefined || number !== undefined) {
			if (!expectsArgument || (open.length === 1 && before === "open" && !string)) return false;
			before = "value";
		} else if (word !== undefined) {
			if (!expectsArgument && before !== "start") return false;
			before = "word";
		} else if (mark === "[" || mark === "(") {
			if (before !== "word" || open.length >= maxWkt2Nesting) return false;
			open.push(mark === "[" ? "]" : ")");
			before = "open";
		} else if (mark === ",") {
			if (before === "open" || before === "comma" || open.length === 0) return false;
			before = "comma";
		} else {
			if (expectsArgument || open.pop() !== mark) return false;
			before = "close";
			if (open.length === 0) return token.lastIndex === text.length;
		}
	}
	return false;
}

/** The name, and the last authority and code, which are those of the whole. */
function wktLabel(text: string): string {
	const name = /"([^"]*)"/.exec(text)?.[1] ?? "";
	const codes = [...text.matchAll(/(?:ID|AUTHORITY)\s*\[\s*"([^"]*)"\s*,\s*"?([^"\],]*)/gi)];
	const last = codes.at(-1);
	return shorten(last ? `${name} (${last[1]}:${last[2]})` : name || text);
}

function shorten(text: string): string {
	return text.length <= 120 ? text : `${text.slice(0, 117)}...`;
}
