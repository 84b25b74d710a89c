/** `DELETE /v1/uploads/{id}`: an open upload is given up. */
import { abortUpload } from "../../stage/stage-upload.ts";
import { emptyAnswer } from "../answers.ts";
import { defineRoute } from "../route.ts";
import { noQuery } from "../schemas.ts";

export const deleteUpload = defineRoute({
	method: "DELETE",
	path: "/v1/uploads/{id}",
	id: "deleteUpload",
	summary: "Give up an open upload; its bytes go",
	right: "upload",
	query: noQuery,
	body: null,
	answers: { 204: { description: "No load comes of it, now or later", schema: null } },
	async handler({ deps }, upload) {
		await deps.runningAppends?.end(upload.upload_id, false);
		await abortUpload(deps, upload.tenant, upload.upload_id);
		deps.quotas?.closeUpload(upload.tenant, upload.upload_id);
		return emptyAnswer();
	},
	problems: ["upload_completed"],
});
