/** Asks for a key and tries it before it is kept. */
import { element } from "./dom.ts";
import { openSession } from "./session.ts";

export function signInView(onKey: (key: string) => void): HTMLElement {
	const input = element("input", {
		type: "password",
		name: "key",
		autocomplete: "off",
		spellcheck: "false",
		required: true,
		placeholder: "dk_…",
	});
	const fault = element("div", { role: "alert" });
	const submit = async (event: Event) => {
		event.preventDefault();
		const key = input.value.trim();
		try {
			await openSession(key).get("/v1/loads?limit=1");
			onKey(key);
		} catch (error) {
			fault.replaceChildren(
				element("p", { class: "problem" }, error instanceof Error ? error.message : String(error)),
			);
			input.select();
		}
	};
	return element(
		"div",
		{},
		element("h1", {}, "Sign in"),
		element(
			"form",
			{ submit },
			element("label", {}, "Key", input),
			element(
				"p",
				{ class: "quiet" },
				"It needs the right read. It stays in this tab and goes when the tab is closed.",
			),
			fault,
			element("button", { class: "first" }, "Sign in"),
		),
	);
}
