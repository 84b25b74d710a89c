/**
 * Parquet in `drop/`: a file whose name ends in .parquet, or whose bytes begin as Parquet does.
 *
 *   a copy on this machine > its footer checked > DuckDB reads it through > a reader like any other
 *
 * The one place where bytes that we did not check reach native memory; it is in the loader's
 * process, and in no other. All else goes to the reader of Arrow.
 */

import { IngestError } from "../errors.ts";
import type { BatchSink, ParquetReader } from "../insert/batch-sink.ts";
import type { Limits } from "../limits.ts";
import { readParquetFooter } from "../parquet/parquet-footer.ts";
import type { StagedSource } from "./open-staged.ts";
import type { ParquetCopies } from "./parquet-copies.ts";
import type { ReplayDeps } from "./replay-one.ts";

export interface ParquetDropDeps {
	copies: ParquetCopies;
	sink: Pick<BatchSink, "openParquet">;
	limits: Limits;
}

export function takeParquet(
	{ openReader }: Pick<ReplayDeps, "openReader">,
	deps: ParquetDropDeps,
): Pick<ReplayDeps, "openReader"> {
	return {
		async openReader(source, upload, signal) {
			const { source: origin, tenant } = upload;
			if (origin.kind !== "drop") return await openReader(source, upload, signal);
			if (/\.parquet$/i.test(origin.key)) return await openCopy(deps, tenant, source, signal);
			try {
				return await openReader(source, upload, signal);
			} catch (error) {
				if (!beginsParquet(error)) throw error;
				return await openCopy(deps, tenant, source, signal);
			}
		},
	};
}

/** The reader of Arrow has seen the first bytes and says what they look like. */
function beginsParquet(error: unknown): boolean {
	return (
		error instanceof IngestError &&
		error.code === "not_arrow" &&
		/Parquet file$/.test(String(error.extra.looks_like))
	);
}

async function openCopy(
	{ copies, sink, limits }: ParquetDropDeps,
	tenant: string,
	source: StagedSource,
	signal: AbortSignal,
): Promise<ParquetReader> {
	const copy = await copies.copy(tenant, source, signal);
	try {
		const footer = await readParquetFooter(copy, limits);
		const counts = { bytes: copy.size, repr_digest: copy.reprDigest };
		const { path, remove } = copy;
		return await sink.openParquet({ path, footer, counts, remove }, signal);
	} catch (error) {
		await copy.remove();
		throw error;
	}
}
