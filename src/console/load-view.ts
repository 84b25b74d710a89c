/** One load: its state, timeline, columns, warnings or problem, and the receipt as it is. */
import type { Receipt } from "../flow.ts";
import { dataTable, element, facts } from "./dom.ts";
import type { Session } from "./session.ts";
import { count, moment, momentOfId, place, rate, size, span, statusWords } from "./wording.ts";

export async function loadView(session: Session, id: string): Promise<HTMLElement> {
	const load = await session.client.load(id);
	return element(
		"div",
		{},
		element("h1", {}, `Load into ${load.table}`),
		receiptDetails(load),
		load.status === "failed" ? replayButton(session, id) : null,
	);
}

export function receiptDetails(load: Receipt): HTMLElement {
	return element(
		"div",
		{},
		facts([
			["State", element("span", { class: `status-${load.status}` }, statusWords[load.status])],
			["Mode", load.mode],
			["Rows", load.status === "staged" ? null : count(load.rows_inserted)],
			["Bytes", load.bytes === 0 ? null : size(load.bytes)],
			["Rate", rate(load)],
			["Parts", count(load.parts)],
			["Load id", load.load_id],
		]),
		load.error === undefined
			? null
			: element(
					"div",
					{ class: "problem" },
					element("strong", {}, load.error.title),
					element("p", {}, load.error.detail),
					element("p", {}, place(load.error)),
				),
		...load.warnings.map((warning) => element("p", { class: "warning" }, warning.detail)),
		element("h2", {}, "Timeline"),
		timeline(load),
		load.columns.length === 0
			? null
			: element(
					"div",
					{},
					element("h2", {}, "Columns"),
					dataTable(
						"Columns",
						["Name", "Arrow", "DuckDB"],
						load.columns.map((column) => [column.name, column.arrow_type, column.duckdb_type]),
					),
				),
		element(
			"details",
			{},
			element("summary", {}, "Receipt as JSON"),
			element("pre", { tabindex: "0" }, JSON.stringify(load, null, 2)),
		),
	);
}

function timeline(load: Receipt): HTMLElement {
	const steps: [string, string][] = [["upload began", momentOfId(load.load_id)]];
	if (load.started_at) {
		const attempts = load.attempts > 1 ? `, attempt ${load.attempts}` : "";
		steps.push([`loading began${attempts}`, load.started_at]);
	}
	if (load.committed_at)
		steps.push([`committed after ${span(load.duration_ms)}`, load.committed_at]);
	return element(
		"ol",
		{ class: "timeline" },
		...steps.map(([what, when]) =>
			element(
				"li",
				{},
				element("time", { datetime: when, class: "quiet" }, moment(when)),
				` ${what}`,
			),
		),
	);
}

function replayButton(session: Session, id: string): HTMLElement {
	const told = element("p", { role: "status" });
	const replay = async () => {
		button.disabled = true;
		told.textContent = "Running again…";
		try {
			await session.client.replay(id);
			told.textContent = "Committed.";
		} catch (error) {
			told.textContent = error instanceof Error ? error.message : String(error);
			button.disabled = false;
		}
	};
	const button = element("button", { type: "button", click: () => void replay() }, "Run again");
	return element("div", {}, button, told);
}
