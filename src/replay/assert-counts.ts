/** What the caller said of its bytes against what they were. Before COMMIT. */
import { IngestError } from "../errors.ts";
import type { Manifest, StreamedCounts } from "../flow.ts";

/** `digest_mismatch`, `row_count_mismatch`; null: the caller said nothing. */
export function assertCounts(
	said: Pick<Manifest, "repr_digest" | "rows">,
	counts: StreamedCounts,
): void {
	if (said.repr_digest !== null && said.repr_digest !== counts.repr_digest) {
		throw new IngestError(
			"digest_mismatch",
			`the caller says the Arrow bytes are ${said.repr_digest}, they are ${counts.repr_digest}`,
		);
	}
	if (said.rows !== null && said.rows !== counts.rows_streamed) {
		throw new IngestError(
			"row_count_mismatch",
			`the caller says there are ${said.rows} rows, there are ${counts.rows_streamed}`,
		);
	}
}
