/** `POST /v1/uploads`: an upload in parts is opened. */

import { createUpload as openUpload } from "../../stage/stage-upload.ts";
import { parseTableName } from "../../table-name.ts";
import { jsonAnswer } from "../answers.ts";
import { idempotencyKeyHeader } from "../header-docs.ts";
import { loadFieldsSchema, loadParametersOf } from "../load-parameters.ts";
import { newUploadOf } from "../new-upload.ts";
import { partsMode } from "../parts-mode.ts";
import { defineRoute } from "../route.ts";
import { noQuery, openUploadSchema } from "../schemas.ts";

export const createUpload = defineRoute({
	method: "POST",
	path: "/v1/uploads",
	id: "createUpload",
	summary: "Open an upload that takes its bytes in parts",
	right: "load",
	takes: "upload",
	query: noQuery,
	body: loadFieldsSchema,
	headers: { "Idempotency-Key": idempotencyKeyHeader },
	answers: {
		201: {
			description: "The upload takes parts until expires_at",
			schema: openUploadSchema,
			headers: { Location: "The upload" },
		},
	},
	target: ({ body, request }) =>
		loadParametersOf(parseTableName(body.table), body, request.headers),
	async handler(call, load) {
		const { deps } = call;
		const upload = await openUpload(deps, newUploadOf(call, load, "identity"));
		call.note({ load_id: upload.upload_id });
		const answer = {
			upload_id: upload.upload_id,
			part_size: deps.limits.partBytes,
			max_parts: deps.limits.maxParts,
			max_bytes: deps.limits.maxUploadBytes,
			expires_at: upload.expires_at,
			parts: partsMode(deps),
		};
		return jsonAnswer(answer, 201, { Location: `/v1/uploads/${upload.upload_id}` });
	},
});
