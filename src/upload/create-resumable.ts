/**
 * `POST /v1/ingest/{table}` with `Upload-Complete`: an upload whose bytes may come in
 * several requests. draft-ietf-httpbis-resumable-upload-12, section 4.2.2.
 *
 * Order: the upload is durable > a 104 tells where it is > its first bytes > 201, or
 * the load's answer where they are all of them.
 */
import { asIngestError, IngestError } from "../errors.ts";
import type { LoadParameters } from "../flow.ts";
import { discardUpload } from "../stage/stage-body.ts";
import { createUpload } from "../stage/stage-upload.ts";
import { jsonAnswer } from "./answers.ts";
import { newUploadOf } from "./new-upload.ts";
import { problemKinds } from "./problem-json.ts";
import {
	assertArrowType,
	readContentEncoding,
	readContentLength,
	readReprDigest,
} from "./read-headers.ts";
import { appendLimit, readUploadLength } from "./resumable-headers.ts";
import type { Call } from "./route.ts";
import { takeAppend } from "./take-append.ts";

export async function createResumable(
	call: Call,
	load: LoadParameters,
	complete: boolean,
): Promise<Response> {
	const { deps, request } = call;
	const { headers } = request;
	assertArrowType(headers);
	const encoding = readContentEncoding(headers);
	const length = readUploadLength(headers) ?? (complete ? readContentLength(headers) : null);
	const { maxUploadBytes, uploadTtlMs } = deps.limits;
	if (length !== null && length > maxUploadBytes) {
		throw new IngestError(
			"too_large",
			`the upload will have ${length} bytes, ${maxUploadBytes} are taken`,
			{ extra: { limit_bytes: maxUploadBytes } },
		);
	}
	const upload = await createUpload(deps, {
		...newUploadOf(call, load, encoding),
		appends: { length, repr_digest: readReprDigest(headers) },
	});
	const { upload_id: id, tenant, expires_at } = upload;
	call.note({ load_id: id });
	const Location = `/v1/uploads/${id}`;
	call.inform?.({ Location, "Upload-Limit": appendLimit(deps, uploadTtlMs / 1000) });
	try {
		return await takeAppend(
			call,
			{ state: "open", request: upload, parts: [], manifest: null, offset: 0, length },
			complete,
			(offset) =>
				jsonAnswer({ upload_id: id, offset, max_bytes: maxUploadBytes, expires_at }, 201, {
					Location,
				}),
		);
	} catch (error) {
		if (!comesBack(call, error)) await discardUpload(deps, tenant, id);
		throw error;
	}
}

/** Whether the caller knows where its upload is, and that it may go on. */
function comesBack(call: Call, error: unknown): boolean {
	if (call.inform === null) return false;
	const { code } = asIngestError(error);
	return code === "truncated_stream" || problemKinds[code].retryable;
}
