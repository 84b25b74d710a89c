/** An upload's bytes are numbered parts or appends, as it was begun; what is meant for the one form is refused by the other. */
import { IngestError } from "../errors.ts";
import type { UploadRequest } from "../flow.ts";

export function assertTakesParts({ appends }: UploadRequest): void {
	if (appends === undefined) return;
	throw new IngestError(
		"bad_request",
		"this upload takes its bytes in sequence: PATCH it, at the offset that HEAD tells",
	);
}

export function assertTakesAppends({ appends }: UploadRequest): void {
	if (appends !== undefined) return;
	throw new IngestError(
		"bad_request",
		"this upload takes its bytes as numbered parts; one that /v1/ingest begins with Upload-Complete takes appends",
	);
}
