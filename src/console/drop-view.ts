/**
 * Drop an Arrow file and watch it go: parts, load, receipt. An upload that was
 * interrupted goes on where it stopped when the same file is sent to the same table.
 */
import { ProblemError } from "../client/client-errors.ts";
import type { IngestProgress } from "../client/ingest-client.ts";
import { loadModes } from "../flow.ts";
import { element } from "./dom.ts";
import { receiptDetails } from "./load-view.ts";
import type { Session } from "./session.ts";
import { place, size } from "./wording.ts";

export function dropView(session: Session): HTMLElement {
	const table = element("input", { name: "table", required: true, placeholder: "schema.table" });
	const mode = element(
		"select",
		{ name: "mode" },
		...loadModes.map((name) =>
			element("option", { value: name, selected: name === "create_append" }, name),
		),
	);
	const file = element("input", { type: "file", name: "file", required: true });
	const outcome = element("div", { "aria-live": "polite" });
	const zone = element(
		"label",
		{ class: "drop-zone" },
		element("span", {}, "Drop an Arrow file here, or choose one"),
		file,
	);
	zone.addEventListener("dragover", (event) => {
		event.preventDefault();
		zone.classList.add("over");
	});
	zone.addEventListener("dragleave", () => zone.classList.remove("over"));
	zone.addEventListener("drop", (event) => {
		event.preventDefault();
		zone.classList.remove("over");
		if (event.dataTransfer) file.files = event.dataTransfer.files;
		suggestTable();
	});
	const suggestTable = () => {
		const name = file.files?.[0]?.name.replace(/\.[^.]*$/, "").replace(/\W+/g, "_");
		if (table.value === "" && name) table.value = name;
	};
	file.addEventListener("change", suggestTable);
	const submit = (event: Event) => {
		event.preventDefault();
		const chosen = file.files?.[0];
		if (chosen) void send(session, chosen, table.value, mode.value, outcome);
	};
	return element(
		"div",
		{},
		element("h1", {}, "Upload"),
		element(
			"form",
			{ submit },
			zone,
			element("label", {}, "Table", table),
			element("label", {}, "Mode", mode),
			element("button", { class: "first" }, "Upload"),
		),
		outcome,
	);
}

async function send(
	session: Session,
	file: File,
	table: string,
	mode: string,
	outcome: HTMLElement,
): Promise<void> {
	const bar = element("progress", { max: "1", "aria-label": "Upload" });
	const words = element("p", {}, "Starting…");
	const abort = new AbortController();
	const stop = element("button", { type: "button", click: () => abort.abort() }, "Pause");
	outcome.replaceChildren(bar, words, stop);
	const resumeName = `duckdock.resume.${table}.${mode}.${file.name}.${file.size}.${file.lastModified}`;
	const resume = sessionStorage.getItem(resumeName);
	try {
		const receipt = await session.client.ingest(table, file, {
			mode: mode as (typeof loadModes)[number],
			signal: abort.signal,
			...(resume === null ? {} : { resume }),
			onUpload: ({ upload_id }) => sessionStorage.setItem(resumeName, upload_id),
			onProgress: (progress) => tell(progress, file.size, bar, words),
		});
		sessionStorage.removeItem(resumeName);
		outcome.replaceChildren(
			element("h2", {}, `Loaded into ${receipt.table}`),
			receiptDetails(receipt),
		);
	} catch (error) {
		const paused = abort.signal.aborted;
		if (!paused) sessionStorage.removeItem(resumeName);
		const again = () => void send(session, file, table, mode, outcome);
		outcome.replaceChildren(
			element("div", { class: paused ? "warning" : "problem" }, ...failure(error, paused)),
			element("button", { type: "button", click: again }, paused ? "Go on" : "Try again"),
		);
	}
}

function tell(
	{ step, bytesDone }: IngestProgress,
	total: number,
	bar: HTMLProgressElement,
	words: HTMLElement,
): void {
	if (step === "load") {
		bar.removeAttribute("value");
		words.textContent = "All bytes are there; loading…";
		return;
	}
	bar.value = total === 0 ? 1 : bytesDone / total;
	words.textContent = `${size(bytesDone)} of ${size(total)}`;
}

function failure(error: unknown, paused: boolean): (HTMLElement | string)[] {
	if (paused) return ["Paused. What was sent is kept until the upload expires."];
	if (!(error instanceof ProblemError))
		return [error instanceof Error ? error.message : String(error)];
	const { problem } = error;
	return [
		element("strong", {}, problem.title),
		element("p", {}, problem.detail),
		element("p", {}, place(problem)),
	];
}
