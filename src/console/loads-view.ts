/** The latest loads, as they happen. */
import type { Receipt } from "../flow.ts";
import { dataTable, element } from "./dom.ts";
import type { Session } from "./session.ts";
import { count, moment, momentOfId, rate, statusWords } from "./wording.ts";

const shown = 50;
export const refreshMs = 2_000;

export async function loadsView(session: Session): Promise<HTMLElement> {
	const { loads } = await session.get<{ loads: Receipt[] }>(`/v1/loads?limit=${shown}`);
	const heading = element("h1", {}, "Loads");
	if (loads.length === 0) {
		return element(
			"div",
			{},
			heading,
			element(
				"p",
				{},
				"Nothing was loaded yet. ",
				element("a", { href: "#/drop" }, "Upload an Arrow file"),
				".",
			),
		);
	}
	return element("div", {}, heading, loadsTable(loads));
}

export function loadsTable(loads: readonly Receipt[]): HTMLElement {
	return dataTable(
		"Loads, newest first",
		["When", "Table", "State", { number: "Rows" }, { number: "Rate" }, "Notes"],
		loads.map((load) => [
			element(
				"a",
				{ href: `#/load/${load.load_id}` },
				moment(load.committed_at ?? momentOfId(load.load_id)),
			),
			load.table,
			element("span", { class: `status-${load.status}` }, statusWords[load.status]),
			count(load.rows_inserted),
			rate(load),
			notes(load),
		]),
	);
}

function notes({ error, warnings }: Receipt): string {
	if (error !== undefined) return `${error.title}: ${error.detail}`;
	if (warnings.length === 0) return "";
	return warnings.length === 1 ? "1 warning" : `${warnings.length} warnings`;
}
