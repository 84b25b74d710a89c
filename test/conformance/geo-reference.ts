/**
 * WKT of geometry from storage that another reader read: native encodings are
 * spelled out here, WKT is brought to one spelling. In: the extension's name and
 * the cells; out: what `ST_AsText` of the table is compared with, or null for WKB,
 * whose bytes compare themselves.
 */

import type { Canonical } from "./canonical.ts";

const bracketsByEncoding: Record<string, string> = {
	"geoarrow.point": "POINT",
	"geoarrow.linestring": "LINESTRING",
	"geoarrow.polygon": "POLYGON",
	"geoarrow.multipoint": "MULTIPOINT",
	"geoarrow.multilinestring": "MULTILINESTRING",
	"geoarrow.multipolygon": "MULTIPOLYGON",
};

export function wktReference(
	extension: string,
	cells: Canonical[],
	names: string[],
): (string | null)[] | null {
	if (extension === "geoarrow.wkt" || extension === "WKT") {
		return cells.map((cell) => (cell === null ? null : oneSpelling(String(cell).slice(2))));
	}
	const name = bracketsByEncoding[extension];
	if (name) {
		return cells.map((cell) =>
			cell === null ? null : oneSpelling(`${name} ${native(cell, names)}`),
		);
	}
	if (extension === "geoarrow.box") {
		return cells.map((cell) => {
			if (cell === null) return null;
			const box = cell as Record<string, string>;
			const [a, b, c, d] = ["xmin", "ymin", "xmax", "ymax"].map((bound) => number(box[bound]!));
			return oneSpelling(`POLYGON ((${a} ${b}, ${c} ${b}, ${c} ${d}, ${a} ${d}, ${a} ${b}))`);
		});
	}
	return null;
}

/** `names` are the dimensions, `x y z m`, of a coordinate. */
function native(cell: Canonical, names: string[]): string {
	const mark = ["", "Z ", "M ", "ZM "][["xy", "xyz", "xym", "xyzm"].indexOf(names.join(""))] ?? "";
	const coordinate = coordinateText(cell);
	return mark + (coordinate === null ? nested(cell as Canonical[]) : `(${coordinate})`);
}

function nested(items: Canonical[]): string {
	if (items.length === 0) return "EMPTY";
	return `(${items.map((item) => coordinateText(item) ?? nested(item as Canonical[])).join(",")})`;
}

/** Null where the cell is a list of them. */
function coordinateText(cell: Canonical): string | null {
	const isStruct = cell !== null && typeof cell === "object" && !Array.isArray(cell);
	const numbers = isStruct ? Object.values(cell) : (cell as Canonical[]);
	return typeof numbers[0] === "string" ? numbers.map(number).join(" ") : null;
}

const number = (cell: Canonical): string => String(Number(String(cell).replace(/^f:/, "")));

/**
 * Upper case, no space around brackets and commas, numbers as JavaScript writes
 * them, points of a multipoint without brackets, points of NaN as EMPTY.
 */
export function oneSpelling(wkt: string): string {
	return wkt
		.toUpperCase()
		.trim()
		.replace(/\s+/g, " ")
		.replace(/ ?([(),]) ?/g, "$1")
		.replace(/\bEMPTY/g, " EMPTY")
		.replace(/ +/g, " ")
		.replace(/([(,]) /g, "$1")
		.replace(/-?\d[\d.]*(E[+-]?\d+)?/g, (digits) => String(Number(digits)))
		.replace(
			/(MULTIPOINT(?: ZM?| M)?)\(((?:\([^()]*\)|EMPTY)(?:,(?:\([^()]*\)|EMPTY))*)\)/g,
			(_, head: string, points: string) => `${head}(${points.replace(/[()]/g, "")})`,
		)
		.replace(/^(POINT(?: ZM?| M)?)\(NAN(?: NAN)*\)$/, "$1 EMPTY");
}
