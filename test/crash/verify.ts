/**
 * What must be true whoever died where: looked at from outside, in a database file
 * that a fresh process opens and in the objects that are left.
 */
import type { Receipt } from "../../src/flow.ts";
import { silentLog } from "../../src/log.ts";
import { createStoreReceiptBook } from "../../src/receipt/store-receipt-book.ts";
import { getJson } from "../../src/stage/json-object.ts";
import { indexKey, receiptKey } from "../../src/stage/object-keys.ts";
import type { ObjectStore } from "../../src/stage/object-store.ts";
import { sweep } from "../../src/trigger/sweep.ts";
import { query } from "../e2e/world.ts";
import type { Ended } from "./client.ts";

/** Every promise that was broken, in words. */
export async function verify(
	store: ObjectStore,
	database: string,
	ended: readonly Ended[],
): Promise<string[]> {
	const faults: string[] = [];
	const check = (holds: boolean, fault: string) => {
		if (!holds) faults.push(fault);
	};
	const committed = ended.filter(({ receipt }) => receipt?.status === "committed");
	for (const { spec, problem, receipt } of ended) {
		if (receipt === null) faults.push(`${spec.tag} was refused: ${JSON.stringify(problem)}`);
		else check(receipt.rows_inserted === spec.rows, `${spec.tag}: ${receipt.rows_inserted} rows`);
	}

	const ledger = (await query(
		database,
		`SELECT load_id, "table", rows_inserted::INT, mode, epoch_ms(committed_at)::DOUBLE
		 FROM _duckdock.loads ORDER BY committed_at, load_id`,
	)) as [string, string, number, string, number][];
	const inLedger = new Map(ledger.map((row) => [row[0], row]));
	check(ledger.length === inLedger.size, "a load is in the ledger twice");
	check(
		ledger.length === committed.length,
		`${ledger.length} ledger rows for ${committed.length} committed loads`,
	);
	for (const { spec, receipt } of committed) {
		const id = receipt!.load_id;
		check(inLedger.has(id), `${spec.tag}: ${id} is not in the ledger`);
		const stored = await getJson<Receipt>(store, receiptKey("acme", id));
		check(
			JSON.stringify(stored?.value) === JSON.stringify(receipt),
			`${spec.tag}: the receipt of ${id} is not the one that was answered`,
		);
		check((await store.head(indexKey("acme", id))) !== null, `${id} is not in the history`);
	}

	const tables = new Map<string, Ended[]>();
	for (const one of committed) {
		const { table } = one.spec;
		tables.set(table, [...(tables.get(table) ?? []), one]);
	}
	for (const [table, loads] of tables) {
		const rows = (await query(
			database,
			`SELECT tag, count(*)::INT, count(DISTINCT n)::INT FROM "${table}" GROUP BY tag`,
		)) as [string, number, number][];
		const counts = new Map(rows.map(([tag, count]) => [tag, count]));
		for (const [tag, count, distinct] of rows) {
			check(count === distinct, `${table}: ${count - distinct} rows of ${tag} are there twice`);
		}
		const replaces = loads.filter(({ spec }) => spec.mode === "replace");
		if (replaces.length > 0) {
			const last = ledger.filter((row) => row[1] === `main.${table}`).at(-1)!;
			const winner = replaces.find(({ receipt }) => receipt!.load_id === last[0])!;
			check(
				rows.length === 1 && counts.get(winner.spec.tag) === winner.spec.rows,
				`${table} holds ${JSON.stringify(rows)} and not ${winner.spec.rows} rows of ${winner.spec.tag}`,
			);
			continue;
		}
		check(
			rows.length === loads.length,
			`${table}: rows of ${rows.length} loads, not ${loads.length}`,
		);
		for (const { spec } of loads) {
			check(
				counts.get(spec.tag) === spec.rows,
				`${table}: ${counts.get(spec.tag) ?? 0} rows of ${spec.tag}, not ${spec.rows}`,
			);
		}
	}

	const views = await query(
		database,
		"SELECT count(*)::INT FROM duckdb_views() WHERE NOT internal",
	);
	check(views[0]![0] === 0, `${views[0]![0]} views are left in the database`);
	return faults;
}

/** After two days nothing is left under `uploads/` but what the sweep keeps for a reason: nothing. */
export async function verifySweep(store: ObjectStore): Promise<string[]> {
	const twoDaysOn = {
		now: () => Date.now() + 54 * 3_600_000,
		sleep: () => Promise.resolve(),
	};
	const deps = {
		store,
		clock: twoDaysOn,
		receipts: createStoreReceiptBook({ store, clock: twoDaysOn }),
		log: silentLog,
		limits: { uploadTtlMs: 24 * 3_600_000 },
		send: async ({ upload_id }: { upload_id: string }) => void lost.push(upload_id),
	};
	const lost: string[] = [];
	const never = new AbortController().signal;
	await sweep(deps, never);
	// A tombstone stays for the upload's time after it was made: that is now.
	await sweep({ ...deps, clock: { ...twoDaysOn, now: () => Date.now() + 150 * 3_600_000 } }, never);
	const left: string[] = [];
	for await (const { key } of store.list("uploads/")) left.push(key);
	return [
		...left.map((key) => `${key} is left after the sweep`),
		...lost.map((id) => `the load ${id} never got its receipt`),
	];
}
