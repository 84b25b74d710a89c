/**
 * What was seen of a database that nobody else changes while it is attached: that its ledger is
 * there, its tables' columns, how many rows they have. Loads that come one after the other ask once.
 *
 * A reading that overlaps a change is right for who reads, and not kept. What may have changed is
 * forgotten before the change begins, and nothing of it is kept until it is over.
 */

import type { TableName } from "../../flow.ts";
import { tableKey } from "../../table-name.ts";
import type { TargetTable } from "./target-table.ts";

export interface Reading {
	table(found: TargetTable): void;
	rows(name: TableName, count: number): void;
}

export interface KnownDatabase {
	ledger: boolean;
	/** Null: it must be looked at. */
	table(name: TableName): TargetTable | null;
	rows(name: TableName): number | null;
	/** Before a look; what it finds is told to the answer. */
	reading(): Reading;
	/** Before statements that make, change or replace tables; the answer when their transaction is over. */
	changing(): () => void;
	/** Before a COMMIT; the answer with the rows that it added by table, or null where nobody knows. */
	committing(): (added: ReadonlyMap<string, number> | null) => void;
}

/** `alone`: nobody else changes it. Else nothing is kept. */
export function createKnownDatabase(alone: boolean): KnownDatabase {
	const tables = new Map<string, TargetTable>();
	const counts = new Map<string, number>();
	let ledger = false;
	let changes = 0;
	let changing = alone ? 0 : 1;
	let commits = 0;
	let committing = 0;
	return {
		get ledger() {
			return ledger;
		},
		set ledger(there) {
			ledger = there && alone;
		},
		table(name) {
			const found = tables.get(tableKey(name));
			return found === undefined ? null : { ...found, name };
		},
		rows: (name) => counts.get(tableKey(name)) ?? null,
		reading() {
			const [change, commit] = [changes, commits];
			const still = () => changing === 0 && changes === change;
			return {
				table(found) {
					if (still() && found.kind === "table") tables.set(tableKey(found.name), found);
				},
				rows(name, count) {
					if (still() && committing === 0 && commits === commit) counts.set(tableKey(name), count);
				},
			};
		},
		changing() {
			const forget = () => {
				changes++;
				tables.clear();
				counts.clear();
			};
			changing++;
			forget();
			return () => {
				changing--;
				forget();
			};
		},
		committing() {
			committing++;
			commits++;
			return (added) => {
				committing--;
				commits++;
				if (added === null) counts.clear();
				for (const [key, rows] of added ?? []) {
					const before = counts.get(key);
					if (before !== undefined) counts.set(key, before + rows);
				}
			};
		},
	};
}
