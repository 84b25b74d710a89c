/** What was read and what was inserted, as the receipt that ledger and object store hold. */
import type { InsertResult, LoadParameters, LoadSource, Receipt, StreamedCounts } from "../flow.ts";
import { formatTableName } from "../table-name.ts";

export interface LoadName extends LoadParameters {
	upload_id: string;
	tenant: string;
	source: LoadSource;
	/** Staged objects, or files. */
	parts: readonly unknown[];
}

export interface LoadTimes {
	attempts: number;
	/** Milliseconds since 1970. */
	startedAt: number;
	endedAt: number;
}

export function loadReceipt(
	load: LoadName,
	result: InsertResult,
	counts: StreamedCounts,
	times: LoadTimes,
): Receipt {
	const { ddl, warnings, engine, ...inserted } = result;
	return {
		load_id: load.upload_id,
		status: load.dry_run ? "dry_run" : "committed",
		tenant: load.tenant,
		table: formatTableName(load.table),
		mode: load.mode,
		...counts,
		...inserted,
		parts: load.parts.length,
		warnings,
		source: load.source,
		attempts: times.attempts,
		started_at: new Date(times.startedAt).toISOString(),
		committed_at: load.dry_run ? null : new Date(times.endedAt).toISOString(),
		duration_ms: Math.max(0, Math.round(times.endedAt - times.startedAt)),
		engine,
		...(load.dry_run ? { ddl } : {}),
	};
}
