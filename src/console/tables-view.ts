/** The tenant's tables, and one of them with its growth. */
import type { Receipt } from "../flow.ts";
import { dataTable, element } from "./dom.ts";
import { loadsTable } from "./loads-view.ts";
import { growth, growthPlot } from "./plot.ts";
import { type Session, type TableInfo, tablePath } from "./session.ts";
import { count } from "./wording.ts";

const plotted = 500;

export async function tablesView(session: Session): Promise<HTMLElement> {
	const { tables } = await session.get<{ tables: TableInfo[] }>("/v1/tables");
	const rows = tables.map((table) => [
		element("a", { href: `#/table/${encodeURIComponent(tablePath(table))}` }, tablePath(table)),
		count(table.rows),
		count(table.columns.length),
	]);
	return element(
		"div",
		{},
		element("h1", {}, "Tables"),
		rows.length === 0
			? element("p", {}, "There is no table yet that was loaded here.")
			: dataTable("Tables", ["Table", { number: "Rows" }, { number: "Columns" }], rows),
	);
}

export async function tableView(session: Session, name: string): Promise<HTMLElement> {
	const path = encodeURIComponent(name);
	const table = await session.get<TableInfo>(`/v1/tables/${path}`);
	const loads: Receipt[] = [];
	for await (const load of session.client.loads({ table: name, limit: plotted })) loads.push(load);
	const points = growth(loads);
	return element(
		"div",
		{},
		element("h1", {}, tablePath(table)),
		element("p", {}, `${count(table.rows)} rows as of the last load.`),
		points.length === 0 ? null : (growthPlot(points) as unknown as HTMLElement),
		element("h2", {}, "Columns"),
		dataTable(
			"Columns",
			["Name", "Type", "Nulls"],
			table.columns.map(({ name, type, nullable }) => [name, type, nullable ? "allowed" : "none"]),
		),
		element("h2", {}, "Loads"),
		loadsTable(loads.slice(0, 50)),
	);
}
