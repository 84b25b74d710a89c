/** The error of a Parquet file that breaks its own specification: the data's code, with what is wrong. */
import { type ErrorPlace, IngestError } from "../errors.ts";

export function invalidParquet(
	detail: string,
	options: ErrorPlace & { cause?: unknown } = {},
): IngestError {
	return new IngestError("invalid_arrow", `the Parquet file is broken: ${detail}`, options);
}
