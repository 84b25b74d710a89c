/** `GET /v1/uploads/{id}`: what is there, for whoever wants to go on. */
import { IngestError } from "../../errors.ts";
import { type AppendedUpload, readAppended as read } from "../../stage/append-body.ts";
import { jsonAnswer } from "../answers.ts";
import { partsMode } from "../parts-mode.ts";
import { resumableOptions } from "../resumable-headers.ts";
import { type Call, defineRoute } from "../route.ts";
import { noQuery, uploadStateSchema } from "../schemas.ts";
import { tellOffset } from "../take-append.ts";

export const readUpload = defineRoute({
	method: "GET",
	path: "/v1/uploads/{id}",
	id: "readUpload",
	summary: "The state of an upload and its parts",
	right: "upload",
	query: noQuery,
	body: null,
	answers: {
		200: {
			description: "As it is now",
			schema: uploadStateSchema,
			headers: {
				"Upload-Offset": "Of an upload that takes appends: where the next one begins",
				"Upload-Complete": "?1 where its load is decided, else ?0",
				"Upload-Length": "Bytes of the whole upload, where they were announced",
				"Upload-Limit": "What it takes, and for how long (max-age, seconds)",
			},
		},
	},
	options: resumableOptions,
	problems: ["upload_expired"],
	async handler(call, { tenant, upload_id: id, appends }) {
		const { deps, request } = call;
		const isHead = request.method === "HEAD";
		// Who asks where to go on has no append that runs.
		if (isHead) await deps.runningAppends?.end(id, true);
		const upload = await read(deps, tenant, id);
		if (appends !== undefined) tellState(call, upload, isHead);
		const { state, parts, manifest } = upload;
		return jsonAnswer({
			upload_id: id,
			state,
			parts: parts.map(({ n, size, sha256 }) => ({ n, size, sha256 })),
			...(manifest === null ? {} : { load_id: id }),
			part_size: deps.limits.partBytes,
			max_parts: deps.limits.maxParts,
			max_bytes: deps.limits.maxUploadBytes,
			expires_at: upload.request.expires_at,
			...(appends === undefined
				? { mode: partsMode(deps) }
				: { mode: "appends", offset: upload.offset, length: upload.length }),
		});
	},
});

/** draft-ietf-httpbis-resumable-upload-12, section 4.3.2; `upload_expired` to HEAD of what takes no more. */
function tellState(call: Call, upload: AppendedUpload, isHead: boolean): void {
	const { state, offset, request } = upload;
	if (state === "open" || state === "completed") {
		tellOffset(call, upload, offset);
		const length = state === "completed" ? offset : upload.length;
		if (length !== null) call.setHeaders({ "Upload-Length": String(length) });
		if (state === "completed") {
			call.setHeaders({ "Content-Location": `/v1/loads/${request.upload_id}` });
		}
	} else if (isHead) {
		throw new IngestError("upload_expired", `the upload ${request.upload_id} is ${state}`);
	}
}
