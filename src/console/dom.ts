/** Elements from data; text is always text, never markup. */
export type Child = Node | string | number | null | false;

export function element<K extends keyof HTMLElementTagNameMap>(
	name: K,
	attributes: Record<string, string | boolean | ((event: Event) => void)> = {},
	...children: Child[]
): HTMLElementTagNameMap[K] {
	const made = document.createElement(name);
	for (const [key, value] of Object.entries(attributes)) {
		if (typeof value === "function") made.addEventListener(key, value);
		else if (value === true) made.setAttribute(key, "");
		else if (value !== false) made.setAttribute(key, value);
	}
	made.append(...children.filter((child) => child !== null && child !== false).map(asNode));
	return made;
}

const asNode = (child: Node | string | number) =>
	child instanceof Node ? child : document.createTextNode(String(child));

/** A table with one heading a column; columns of numbers stand to the right. */
export function dataTable(
	caption: string,
	headings: readonly (string | { number: string })[],
	rows: readonly (readonly Child[])[],
): HTMLElement {
	const isNumber = headings.map((heading) => typeof heading !== "string");
	const cell = (name: "th" | "td", at: number, child: Child) =>
		element(
			name,
			{ ...(name === "th" ? { scope: "col" } : {}), ...(isNumber[at] ? { class: "number" } : {}) },
			child,
		);
	return element(
		"div",
		{ class: "scroll" },
		element(
			"table",
			{ "aria-label": caption },
			element(
				"thead",
				{},
				element(
					"tr",
					{},
					...headings.map((heading, at) =>
						cell("th", at, typeof heading === "string" ? heading : heading.number),
					),
				),
			),
			element(
				"tbody",
				{},
				...rows.map((row) => element("tr", {}, ...row.map((child, at) => cell("td", at, child)))),
			),
		),
	);
}

/** Terms and what they are; those that are null are left out. */
export function facts(pairs: readonly (readonly [string, Child])[]): HTMLElement {
	return element(
		"dl",
		{},
		...pairs
			.filter(([, value]) => value !== null && value !== false && value !== "")
			.flatMap(([term, value]) => [element("dt", {}, term), element("dd", {}, value)]),
	);
}
