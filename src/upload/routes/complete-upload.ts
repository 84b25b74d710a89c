/** `POST /v1/uploads/{id}/complete`: the parts become a load. */

import { completeUpload as complete } from "../../stage/complete-upload.ts";
import { answerLoad, appliedPreferences, waitMsOf } from "../answer-load.ts";
import { preferWaitHeader } from "../header-docs.ts";
import { readPreferences } from "../read-headers.ts";
import { defineRoute } from "../route.ts";
import { loadProblems } from "../route-problems.ts";
import { acceptedSchema, completeFieldsSchema, noQuery, receiptSchema } from "../schemas.ts";
import { assertTakesParts } from "../upload-form.ts";

export const completeUpload = defineRoute({
	method: "POST",
	path: "/v1/uploads/{id}/complete",
	id: "completeUpload",
	summary: "Load parts 1 to N",
	right: "upload",
	takes: "load",
	query: noQuery,
	body: completeFieldsSchema,
	headers: { Prefer: preferWaitHeader },
	answers: {
		200: { description: "With Prefer: wait, the receipt", schema: receiptSchema },
		202: {
			description: "The load is staged",
			schema: acceptedSchema,
			headers: { Location: "Where the receipt is", "Retry-After": "Seconds" },
		},
	},
	problems: [...loadProblems, "missing_parts", "upload_completed"],
	async handler(call, upload) {
		const { deps, body, request } = call;
		assertTakesParts(upload);
		const preferences = readPreferences(request.headers);
		const completion = await complete(deps, upload.tenant, upload.upload_id, {
			parts: body.parts,
			rows: body.rows ?? null,
			repr_digest: body.repr_digest ?? null,
		});
		deps.quotas?.closeUpload(upload.tenant, upload.upload_id);
		if (completion.kind === "started") deps.quotas?.addBytes(upload.tenant, completion.bytes);
		const waitMs = waitMsOf(call, preferences, false);
		const headers = appliedPreferences(preferences);
		return answerLoad(call, completion, waitMs, upload.upload_id, headers);
	},
});
