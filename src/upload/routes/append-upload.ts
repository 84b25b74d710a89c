/** `PATCH /v1/uploads/{id}`: bytes at the end of an upload that `/v1/ingest` began with `Upload-Complete`. */
import { IngestError } from "../../errors.ts";
import type { UploadRequest } from "../../flow.ts";
import { type AppendedUpload, readAppended } from "../../stage/append-body.ts";
import { asAppendError, offsetMismatch } from "../../stage/append-errors.ts";
import { readOpenUpload } from "../../stage/stage-upload.ts";
import { emptyAnswer } from "../answers.ts";
import {
	contentDigestHeader,
	preferHeader,
	reprDigestHeader,
	uploadCompleteHeader,
	uploadLengthHeader,
	uploadOffsetHeader,
} from "../header-docs.ts";
import { assertPartialType, readContentEncoding } from "../read-headers.ts";
import { readUploadComplete, readUploadOffset, resumableOptions } from "../resumable-headers.ts";
import { type Call, defineRoute, partialBody } from "../route.ts";
import { loadProblems } from "../route-problems.ts";
import { acceptedSchema, noQuery, receiptSchema } from "../schemas.ts";
import { takeAppend, tellOffset } from "../take-append.ts";
import { assertTakesAppends } from "../upload-form.ts";

export const appendUpload = defineRoute({
	method: "PATCH",
	path: "/v1/uploads/{id}",
	id: "appendUpload",
	summary: "Append to an upload that takes its bytes in sequence",
	right: "upload",
	takes: ({ request }) => (readUploadComplete(request.headers) === true ? "load" : "bytes"),
	query: noQuery,
	body: partialBody,
	headers: {
		"Upload-Offset": uploadOffsetHeader,
		"Upload-Complete": uploadCompleteHeader,
		"Upload-Length": uploadLengthHeader,
		"Content-Digest": contentDigestHeader,
		"Repr-Digest": reprDigestHeader,
		Prefer: preferHeader,
	},
	options: resumableOptions,
	answers: {
		200: { description: "The upload is complete and loaded", schema: receiptSchema },
		202: {
			description: "The upload is complete and staged",
			schema: acceptedSchema,
			headers: { Location: "Where the receipt is", "Retry-After": "Seconds" },
		},
		204: {
			description: "The bytes are durable",
			schema: null,
			headers: { "Upload-Offset": "Where the next append begins", "Upload-Complete": "?0" },
		},
	},
	problems: [...loadProblems, "offset_mismatch", "upload_completed"],
	async handler(call, request) {
		const { headers } = call.request;
		assertTakesAppends(request);
		assertPartialType(headers);
		if (readContentEncoding(headers) !== "identity") {
			throw new IngestError(
				"unsupported_media_type",
				"a content coding is the whole upload's and is said when it begins",
			);
		}
		const offset = required(readUploadOffset(headers), "Upload-Offset, a number of bytes");
		const complete = required(readUploadComplete(headers), "Upload-Complete, ?0 or ?1");
		const upload = await meetOffset(call, request, offset);
		return takeAppend(call, upload, complete, () => emptyAnswer());
	},
});

/** "If the Upload-Offset request header field value does not match the current offset … 409" (section 4.4.2). */
async function meetOffset(
	call: Call,
	{ tenant, upload_id: id }: UploadRequest,
	offset: number,
): Promise<AppendedUpload> {
	const { deps } = call;
	let upload = await look();
	// Whose bytes are on the way to this same offset has lost its connection.
	if (upload.offset === offset && (await deps.runningAppends?.end(id, false)))
		upload = await look();
	if (upload.offset === offset) return upload;
	tellOffset(call, upload, upload.offset);
	throw offsetMismatch(upload.offset, offset);

	async function look(): Promise<AppendedUpload> {
		const found = await readAppended(deps, tenant, id);
		if (found.state === "open") return found;
		// Tells why not.
		return readOpenUpload(deps, tenant, id).then(
			() => found,
			(error) => Promise.reject(asAppendError(error)),
		);
	}
}

function required<T>(value: T | null, what: string): T {
	if (value !== null) return value;
	throw new IngestError("bad_request", `an append has the header ${what}`);
}
