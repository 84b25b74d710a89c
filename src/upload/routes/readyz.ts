/** `GET /readyz`: whether uploads can be taken now. Says no details: it is open to everyone. */
import { asIngestError } from "../../errors.ts";
import { jsonAnswer } from "../answers.ts";
import { defineRoute } from "../route.ts";
import { healthSchema, noQuery } from "../schemas.ts";

export const readyz = defineRoute({
	method: "GET",
	path: "/readyz",
	id: "readyz",
	summary: "Whether uploads can be taken now",
	right: "open",
	query: noQuery,
	body: null,
	answers: {
		200: { description: "They can", schema: healthSchema },
		503: { description: "Not now", schema: healthSchema },
	},
	async handler({ deps, log }) {
		if (deps.stopping?.aborted) return notReady("stopping");
		try {
			await deps.store.head("readyz");
		} catch (error) {
			log.warn("not ready", { error: asIngestError(error).message });
			return notReady("the object store does not answer");
		}
		try {
			await deps.checkReady?.();
		} catch (error) {
			log.warn("not ready", { error: asIngestError(error).message });
			return notReady("the loader is not ready");
		}
		return jsonAnswer({ status: "ready" });
	},
});

const notReady = (reason: string) =>
	jsonAnswer({ status: "not ready", reason }, 503, { "Retry-After": "5" });
