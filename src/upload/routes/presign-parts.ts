/** `POST /v1/uploads/{id}/parts`: URLs that take the parts' bytes straight into the store. */
import { IngestError } from "../../errors.ts";
import { presignParts as presign } from "../../stage/presign-parts.ts";
import { jsonAnswer } from "../answers.ts";
import { partsMode } from "../parts-mode.ts";
import { defineRoute } from "../route.ts";
import { noQuery, partUrlsSchema, wantedPartsSchema } from "../schemas.ts";
import { assertTakesParts } from "../upload-form.ts";

export const presignParts = defineRoute({
	method: "POST",
	path: "/v1/uploads/{id}/parts",
	id: "presignParts",
	summary: "Ask for the URLs of parts, where parts go straight to the store",
	right: "upload",
	query: noQuery,
	body: wantedPartsSchema,
	answers: { 200: { description: "A URL for each part", schema: partUrlsSchema } },
	async handler({ deps, body }, upload) {
		assertTakesParts(upload);
		if (partsMode(deps) === "proxy") {
			throw new IngestError(
				"bad_request",
				`this service takes parts itself: PUT /v1/uploads/${upload.upload_id}/parts/{n}`,
			);
		}
		const { tenant, upload_id: id } = upload;
		return jsonAnswer({ urls: await presign(deps, tenant, id, body.parts) });
	},
	problems: ["upload_completed", "upload_expired"],
});
