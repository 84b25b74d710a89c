/** `PUT /v1/uploads/{id}/parts/{n}`: one part's bytes. */

import { IngestError } from "../../errors.ts";
import { putPart as storePart } from "../../stage/put-part.ts";
import { emptyAnswer } from "../answers.ts";
import { guardBody } from "../guard-body.ts";
import { contentDigestHeader } from "../header-docs.ts";
import { refuseByHead } from "../peek-body.ts";
import { assertArrowType, readContentDigest, readContentEncoding } from "../read-headers.ts";
import { arrowBody, defineRoute } from "../route.ts";
import { headProblems } from "../route-problems.ts";
import { noQuery } from "../schemas.ts";
import { assertTakesParts } from "../upload-form.ts";

export const putPart = defineRoute({
	method: "PUT",
	path: "/v1/uploads/{id}/parts/{n}",
	id: "putPart",
	summary: "Send part n, in any order, again if need be",
	right: "upload",
	takes: "bytes",
	query: noQuery,
	body: arrowBody,
	headers: { "Content-Digest": contentDigestHeader },
	answers: { 204: { description: "The part is durable", schema: null } },
	async handler(call, upload) {
		const { deps, request, params } = call;
		assertTakesParts(upload);
		const n = readPartNumber(params.n!, deps.limits.maxParts);
		assertArrowType(request.headers);
		if (readContentEncoding(request.headers) !== "identity") {
			throw new IngestError(
				"unsupported_media_type",
				"parts are bytes of one sequence and are sent without content coding",
			);
		}
		const sha256 = readContentDigest(request.headers);
		const { stream: guarded, size } = guardBody(request, {
			clock: deps.clock,
			openBody: call.openBody,
			what: `part ${n}`,
			maxBytes: Math.min(deps.limits.maxPartBytes, deps.maxRequestBytes ?? Infinity),
		});
		const stream = n === 1 ? await refuseByHead(deps, guarded, false) : guarded;
		const { tenant, upload_id: id } = upload;
		const part = await storePart(deps, tenant, id, n, stream, {
			...(size === null ? {} : { size }),
			...(sha256 === null ? {} : { sha256 }),
			signal: request.signal,
		});
		deps.metrics?.countBytes(tenant, part.size);
		return emptyAnswer();
	},
	problems: ["upload_completed", "upload_expired", ...headProblems],
});

function readPartNumber(text: string, maxParts: number): number {
	const n = /^[1-9]\d{0,5}$/.test(text) ? Number(text) : 0;
	if (n >= 1 && n <= maxParts) return n;
	throw new IngestError(
		"bad_request",
		`a part's number is 1 to ${maxParts}, not ${JSON.stringify(text.slice(0, 40))}`,
	);
}
