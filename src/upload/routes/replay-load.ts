/** `POST /v1/loads/{id}/replay`: a failed load runs again from what is staged. */

import { requestReplay } from "../../stage/request-replay.ts";
import { answerLoad, appliedPreferences, waitMsOf } from "../answer-load.ts";
import { preferWaitHeader } from "../header-docs.ts";
import { readPreferences } from "../read-headers.ts";
import { defineRoute } from "../route.ts";
import { loadProblems } from "../route-problems.ts";
import { acceptedSchema, noFields, noQuery, receiptSchema } from "../schemas.ts";

export const replayLoad = defineRoute({
	method: "POST",
	path: "/v1/loads/{id}/replay",
	id: "replayLoad",
	summary: "Run a failed load again; of a committed one, its receipt",
	right: "replay",
	takes: "load",
	query: noQuery,
	body: noFields,
	headers: { Prefer: preferWaitHeader },
	answers: {
		200: { description: "The receipt", schema: receiptSchema },
		202: { description: "It runs again", schema: acceptedSchema },
	},
	problems: loadProblems,
	async handler(call, { tenant, load_id }) {
		const receipt = await requestReplay(call.deps, tenant, load_id);
		const preferences = readPreferences(call.request.headers);
		return answerLoad(
			call,
			receipt === null
				? { kind: "started", loadId: load_id, bytes: 0 }
				: { kind: "repeat", receipt },
			waitMsOf(call, preferences, false),
			load_id,
			appliedPreferences(preferences),
		);
	},
});
