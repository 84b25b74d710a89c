/** `GET /v1/uploads/{id}`: what is there, for whoever wants to go on. */
import { readUpload as read } from "../../stage/stage-upload.ts";
import { jsonAnswer } from "../answers.ts";
import { partsMode } from "../parts-mode.ts";
import { defineRoute } from "../route.ts";
import { noQuery, uploadStateSchema } from "../schemas.ts";

export const readUpload = defineRoute({
	method: "GET",
	path: "/v1/uploads/{id}",
	id: "readUpload",
	summary: "The state of an upload and its parts",
	right: "upload",
	query: noQuery,
	body: null,
	answers: { 200: { description: "As it is now", schema: uploadStateSchema } },
	async handler({ deps }, upload) {
		const { state, parts, manifest } = await read(deps, upload.tenant, upload.upload_id);
		return jsonAnswer({
			upload_id: upload.upload_id,
			state,
			parts: parts.map(({ n, size, sha256 }) => ({ n, size, sha256 })),
			...(manifest === null ? {} : { load_id: upload.upload_id }),
			part_size: deps.limits.partBytes,
			max_parts: deps.limits.maxParts,
			max_bytes: deps.limits.maxUploadBytes,
			expires_at: upload.expires_at,
			mode: partsMode(deps),
		});
	},
});
