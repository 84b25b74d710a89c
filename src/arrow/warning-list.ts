/**
 * Warnings of a load, each told once. Of a kind that comes again and again for one column, or for
 * none, the first are told and the rest are counted: a receipt is read by people.
 */

import type { Warning } from "../flow.ts";

/** Of one code and column. */
const maxAlike = 5;

export class WarningList {
	readonly #kinds = new Map<string, { told: Map<string, Warning>; more: number }>();

	add(warning: Warning): void {
		const kindKey = JSON.stringify([warning.code, warning.column ?? null]);
		let kind = this.#kinds.get(kindKey);
		if (kind === undefined) {
			kind = { told: new Map(), more: 0 };
			this.#kinds.set(kindKey, kind);
		}
		if (kind.told.has(warning.detail)) return;
		if (kind.told.size < maxAlike) kind.told.set(warning.detail, warning);
		else kind.more++;
	}

	all(): Warning[] {
		const all: Warning[] = [];
		for (const { told, more } of this.#kinds.values()) {
			const kind = [...told.values()];
			const last = kind.pop()!;
			const detail = more === 0 ? last.detail : `${last.detail}; and ${more} more like it`;
			all.push(...kind, { ...last, detail });
		}
		return all;
	}
}
