/** `POST /v1/ingest/{table}`: one request, one load. */

import { assertRoom, completeStaged } from "../../stage/complete-upload.ts";
import { stageBody } from "../../stage/stage-body.ts";
import { parseTableName } from "../../table-name.ts";
import { answerLoad, appliedPreferences, waitMsOf } from "../answer-load.ts";
import { createResumable } from "../create-resumable.ts";
import { guardBody } from "../guard-body.ts";
import {
	contentDigestHeader,
	contentEncodingHeader,
	idempotencyKeyHeader,
	preferHeader,
	reprDigestHeader,
	uploadCompleteHeader,
	uploadLengthHeader,
} from "../header-docs.ts";
import { loadParametersOf, loadQuerySchema } from "../load-parameters.ts";
import { newUploadOf } from "../new-upload.ts";
import { refuseByHead } from "../peek-body.ts";
import {
	assertArrowType,
	readContentDigest,
	readContentEncoding,
	readPreferences,
	readReprDigest,
} from "../read-headers.ts";
import { readUploadComplete, resumableOptions } from "../resumable-headers.ts";
import { arrowBody, defineRoute } from "../route.ts";
import { loadProblems } from "../route-problems.ts";
import { acceptedSchema, begunUploadSchema, receiptSchema } from "../schemas.ts";

export const ingest = defineRoute({
	method: "POST",
	path: "/v1/ingest/{table}",
	id: "ingest",
	summary: "Load Arrow bytes of any length in one request",
	right: "load",
	takes: ({ request }) => (readUploadComplete(request.headers) === false ? "upload" : "load"),
	query: loadQuerySchema,
	body: arrowBody,
	headers: {
		"Idempotency-Key": idempotencyKeyHeader,
		Prefer: preferHeader,
		"Content-Encoding": contentEncodingHeader,
		"Content-Digest": contentDigestHeader,
		"Repr-Digest": reprDigestHeader,
		"Upload-Complete": uploadCompleteHeader,
		"Upload-Length": uploadLengthHeader,
	},
	options: resumableOptions,
	answers: {
		200: {
			description: "The rows are in the table, or would be (dry run)",
			schema: receiptSchema,
			headers: { "Idempotency-Replayed": "true: this is the answer to an earlier request" },
		},
		201: {
			description: "With Upload-Complete: ?0, the upload's first bytes are durable",
			schema: begunUploadSchema,
			headers: {
				Location: "The upload",
				"Upload-Offset": "Where the next append begins",
				"Upload-Limit": "What it takes, and for how long (max-age, seconds)",
			},
		},
		202: {
			description: "The bytes are staged and will be loaded",
			schema: acceptedSchema,
			headers: { Location: "Where the receipt is", "Retry-After": "Seconds" },
		},
	},
	problems: loadProblems,
	target: ({ params, query, request }) =>
		loadParametersOf(parseTableName(params.table!), query, request.headers),
	async handler(call, load) {
		const { deps, request } = call;
		const complete = readUploadComplete(request.headers);
		if (complete !== null) return createResumable(call, load, complete);
		assertArrowType(request.headers);
		const preferences = readPreferences(request.headers);
		const encoding = readContentEncoding(request.headers);
		const sha256 = readContentDigest(request.headers);
		const repr_digest = readReprDigest(request.headers);
		assertRoom(deps);
		const { stream: guarded } = guardBody(request, {
			clock: deps.clock,
			openBody: call.openBody,
			what: "the body",
			maxBytes: Math.min(deps.limits.maxUploadBytes, deps.maxRequestBytes ?? Infinity),
		});
		const stream = encoding === "identity" ? await refuseByHead(deps, guarded, true) : guarded;
		const staged = await stageBody(deps, newUploadOf(call, load, encoding), stream, {
			...(sha256 === null ? {} : { sha256 }),
			signal: request.signal,
		});
		const { tenant } = staged.upload;
		deps.metrics?.countBytes(tenant, staged.size);
		const completion = await completeStaged(deps, staged, { repr_digest });
		if (completion.kind === "started") deps.quotas?.addBytes(tenant, completion.bytes);
		const waitMs = waitMsOf(call, preferences, true);
		const headers = appliedPreferences(preferences);
		return answerLoad(call, completion, waitMs, staged.upload.upload_id, headers);
	},
});
