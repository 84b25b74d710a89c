/** What a key may do, and what a load needs. */
import * as z from "zod";
import type { ExtraColumnPolicy, LoadMode } from "../flow.ts";

export const rights = ["append", "create", "replace", "add_columns", "read", "metrics"] as const;
export type Right = (typeof rights)[number];

export const rightSchema = z.enum(rights);

/** Of a key for which nobody said otherwise. */
export const defaultRights: readonly Right[] = ["append", "create", "read"];

const rightsOfMode = {
	append: ["append"],
	create: ["create"],
	replace: ["replace"],
	create_append: ["append", "create"],
} as const satisfies Record<LoadMode, readonly Right[]>;

/** Every right that a load takes; all of them are needed. */
export function rightsOfLoad(mode: LoadMode, onExtraColumns: ExtraColumnPolicy): readonly Right[] {
	return onExtraColumns === "add" ? [...rightsOfMode[mode], "add_columns"] : rightsOfMode[mode];
}

/** `--modes`: rights, with `create_append` for the two it takes. Unknown words come back as they are. */
export function rightsOfWords(words: readonly string[]): { rights: Right[]; unknown: string[] } {
	const found = new Set<Right>();
	const unknown: string[] = [];
	for (const word of words) {
		if (word === "create_append") for (const right of rightsOfMode.create_append) found.add(right);
		else if ((rights as readonly string[]).includes(word)) found.add(word as Right);
		else unknown.push(word);
	}
	return { rights: rights.filter((right) => found.has(right)), unknown };
}
