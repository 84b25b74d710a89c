/**
 * How many threads DuckDB has in an instance: one, and all of them while a load is in work that is enough
 * for several.
 *
 * The thread of a statement does its tasks together with the others, and while another one does the last
 * of them it asks without pause whether that is over. For some thousand rows this costs more than the
 * others give: sixteen loads of 1,000 rows in one transaction took 24 ms of processor time on one thread
 * and 35 on two, the more the fewer cores are free.
 */

import type { DuckDBConnection } from "@duckdb/node-api";

export interface EngineThreads {
	/** Before a transaction with work for all, on its connection; the answer after it. Neither rejects. */
	raise(connection: DuckDBConnection): Promise<() => Promise<void>>;
}

/** `all`: of an instance that has one now and may set the number; null: its number stays as it is. */
export function createEngineThreads(all: number | null): EngineThreads {
	let wanted = 0;
	let threads = 1;
	let turn: Promise<void> = Promise.resolve();

	/** One after the other, and to what is wanted by then. */
	function adjust(connection: DuckDBConnection): Promise<void> {
		turn = turn.then(async () => {
			const next = wanted > 0 ? (all ?? threads) : 1;
			if (next === threads) return;
			try {
				await connection.run(`SET GLOBAL threads = ${next}`);
				threads = next;
			} catch {
				// Loads are slower or dearer, and no other; what ails the instance their own statements tell.
			}
		});
		return turn;
	}

	return {
		async raise(connection) {
			wanted++;
			await adjust(connection);
			return () => {
				wanted--;
				return adjust(connection);
			};
		},
	};
}
