/**
 * The console: one page, views by the address's fragment.
 *
 * Order: a key (of this tab, or asked for) > the view that the fragment names >
 * for views of what happens, the same view again every two seconds while the tab
 * is looked at, exchanged only when it changed, so that focus and scroll stay.
 */
import { element } from "./dom.ts";
import { dropView } from "./drop-view.ts";
import { loadView } from "./load-view.ts";
import { loadsView, refreshMs } from "./loads-view.ts";
import { forgetKey, openSession, type Session, savedKey, saveKey } from "./session.ts";
import { signInView } from "./sign-in-view.ts";
import { tablesView, tableView } from "./tables-view.ts";

const main = document.getElementById("main")!;
const views = document.getElementById("views")!;
const news = document.getElementById("news")!;
let session: Session | null = null;
/** Counts the views that were opened: what comes late for an older one is dropped. */
let opened = 0;

function viewOf(hash: string): {
	title: string;
	live: boolean;
	make(on: Session): Promise<HTMLElement>;
} {
	const [, name = "loads", argument = ""] = hash.replace(/^#/, "").split("/");
	const value = decodeURIComponent(argument);
	switch (name) {
		case "tables":
			return { title: "Tables", live: true, make: tablesView };
		case "table":
			return { title: value, live: true, make: (on) => tableView(on, value) };
		case "load":
			return { title: "Load", live: true, make: (on) => loadView(on, value) };
		case "drop":
			return { title: "Upload", live: false, make: async (on) => dropView(on) };
		default:
			return { title: "Loads", live: true, make: loadsView };
	}
}

async function show(): Promise<void> {
	const turn = ++opened;
	views.hidden = session === null;
	if (session === null) {
		document.title = "Sign in · duckdock";
		main.replaceChildren(
			signInView((key) => {
				saveKey(key);
				session = openSession(key);
				void show();
			}),
		);
		return;
	}
	const view = viewOf(location.hash);
	document.title = `${view.title} · duckdock`;
	for (const link of views.querySelectorAll("a")) {
		if (link.hash === (location.hash || "#/loads")) link.setAttribute("aria-current", "page");
		else link.removeAttribute("aria-current");
	}
	let before: string | null = null;
	for (;;) {
		const made = await view
			.make(session)
			.catch((error: unknown) =>
				element("p", { class: "problem" }, error instanceof Error ? error.message : String(error)),
			);
		if (turn !== opened) return;
		if (made.outerHTML !== before) {
			const first = before === null;
			before = made.outerHTML;
			main.replaceChildren(made);
			if (first) main.focus({ preventScroll: true });
			else news.textContent = `Updated at ${new Date().toLocaleTimeString()}`;
		}
		if (!view.live) return;
		do await new Promise((wake) => setTimeout(wake, refreshMs));
		while (document.hidden);
		if (turn !== opened || session === null) return;
	}
}

document.getElementById("sign-out")!.addEventListener("click", () => {
	forgetKey();
	session = null;
	void show();
});
addEventListener("hashchange", () => {
	news.textContent = "";
	void show();
});
const key = savedKey();
if (key !== null) session = openSession(key);
void show();
