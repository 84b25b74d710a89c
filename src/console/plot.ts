/** A table's rows over time: a stepped line, with its last value in words for who can't see it. */
import type { Receipt } from "../flow.ts";
import { count, moment } from "./wording.ts";

const width = 640;
const height = 220;
const margin = { left: 76, right: 12, top: 12, bottom: 28 };
const namespace = "http://www.w3.org/2000/svg";

interface Point {
	at: number;
	rows: number;
}

/** Rows after each committed load, oldest first; a replace begins anew. */
export function growth(receipts: readonly Receipt[]): Point[] {
	let rows = 0;
	return receipts
		.filter((receipt) => receipt.status === "committed" && receipt.committed_at !== null)
		.sort((a, b) => a.committed_at!.localeCompare(b.committed_at!))
		.map((receipt) => {
			rows =
				receipt.mode === "replace" || receipt.created_table
					? receipt.rows_inserted
					: rows + receipt.rows_inserted;
			return { at: Date.parse(receipt.committed_at!), rows };
		});
}

export function growthPlot(points: readonly Point[]): SVGElement {
	const first = points[0]!;
	const last = points.at(-1)!;
	const until = Math.max(last.at, first.at + 1);
	const most = Math.max(1, ...points.map(({ rows }) => rows));
	const x = (at: number) =>
		margin.left + ((at - first.at) / (until - first.at)) * (width - margin.left - margin.right);
	const y = (rows: number) =>
		height - margin.bottom - (rows / most) * (height - margin.top - margin.bottom);
	const steps = points
		.map(({ at, rows }, index) => (index === 0 ? `M${x(at)} ${y(rows)}` : `H${x(at)}V${y(rows)}`))
		.join("");
	const words = `From ${count(first.rows)} rows at ${moment(new Date(first.at).toISOString())} to ${count(last.rows)} at ${moment(new Date(last.at).toISOString())}`;
	const plot = svg("svg", {
		class: "plot",
		viewBox: `0 0 ${width} ${height}`,
		role: "img",
		"aria-label": words,
	});
	for (const part of [0, 0.5, 1]) {
		const level = Math.round(most * part);
		const [at, from, to] = [y(level), margin.left, width - margin.right].map(String);
		plot.append(svg("line", { x1: from!, x2: to!, y1: at!, y2: at! }));
		plot.append(label(margin.left - 8, y(level) + 4, "end", count(level)));
	}
	plot.append(svg("path", { d: points.length === 1 ? `${steps}h1` : steps }));
	plot.append(svg("circle", { cx: String(x(last.at)), cy: String(y(last.rows)), r: "4" }));
	const day = (at: number) =>
		new Date(at).toLocaleString(undefined, { dateStyle: "short", timeStyle: "short" });
	plot.append(label(margin.left, height - 8, "start", day(first.at)));
	if (points.length > 1) plot.append(label(width - margin.right, height - 8, "end", day(last.at)));
	return plot;
}

function svg(name: string, attributes: Record<string, string>): SVGElement {
	const made = document.createElementNS(namespace, name) as SVGElement;
	for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
	return made;
}

function label(x: number, y: number, anchor: string, text: string): SVGElement {
	const made = svg("text", { x: String(x), y: String(y), "text-anchor": anchor });
	made.textContent = text;
	return made;
}
