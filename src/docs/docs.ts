/**
 * In the browser: `/docs#not_arrow` shows that problem. The renderer shows one part of
 * the page at a time and keeps its name behind a `?` in the fragment; the problems are
 * its first part of our own, `section--1`.
 */
interface Explorer {
	/** Shows a part and, on a wide window, marks it in the menu. */
	scrollTo(part: string): Promise<void>;
	addEventListener(type: "spec-loaded", listener: () => void): void;
}

const part = "section--1";
const explorer = document.querySelector("openapi-explorer") as unknown as Explorer;
const problems = document.getElementById("problems") as HTMLDetailsElement;

/** The problem that the address names, or their list; null: it names something else. */
function named(): HTMLElement | null {
	const [name, query] = location.hash.slice(1).split("?");
	const shown = new URLSearchParams(query).get("route");
	if (!name || (shown !== null && shown !== part)) return null;
	const element = document.getElementById(name);
	return problems.contains(element) ? element : null;
}

/** The address as the renderer would write it, which then writes no second one into the history. */
function claim(element: HTMLElement): void {
	problems.open = true;
	history.replaceState(null, "", `#${element.id}?route=${part}`);
}

async function show(): Promise<void> {
	const element = named();
	if (element === null) return;
	claim(element);
	await explorer.scrollTo(part);
	element.scrollIntoView({ block: element === problems ? "start" : "center" });
	element.focus({ preventScroll: true });
}

// On a narrow window all parts stand one below the other, this one before the operations.
problems.open = matchMedia("(min-width: 768px)").matches;
const first = named();
if (first !== null) claim(first);
// Once more when the renderer is through with what it does then.
explorer.addEventListener("spec-loaded", () => setTimeout(show));
addEventListener("hashchange", show);
