/** Receipts of loads that haven't got their counts: staged, loading, or failed before there were any. */
import type { LoadStatus, Manifest, Problem, Receipt } from "../flow.ts";
import { formatTableName } from "../table-name.ts";

export function pendingReceipt(
	manifest: Manifest,
	status: Extract<LoadStatus, "staged" | "loading">,
): Receipt {
	return emptyReceipt(manifest, status);
}

export interface Failure {
	problem: Problem;
	/** Milliseconds since 1970. */
	startedAt: number;
	endedAt: number;
	attempts: number;
}

export function failedReceipt(manifest: Manifest, failure: Failure): Receipt {
	return {
		...emptyReceipt(manifest, "failed"),
		attempts: failure.attempts,
		started_at: new Date(failure.startedAt).toISOString(),
		duration_ms: Math.max(0, Math.round(failure.endedAt - failure.startedAt)),
		error: failure.problem,
	};
}

function emptyReceipt(manifest: Manifest, status: LoadStatus): Receipt {
	return {
		load_id: manifest.upload_id,
		status,
		tenant: manifest.tenant,
		table: formatTableName(manifest.table),
		mode: manifest.mode,
		rows_streamed: 0,
		rows_inserted: 0,
		batches: 0,
		parts: manifest.parts.length,
		bytes: 0,
		repr_digest: "",
		created_table: false,
		columns: [],
		columns_defaulted: [],
		columns_added: [],
		warnings: [],
		source: manifest.source,
		attempts: 0,
		started_at: manifest.completed_at,
		committed_at: null,
		duration_ms: 0,
		engine: "",
	};
}
