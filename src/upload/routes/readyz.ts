/** `GET /readyz`: whether uploads can be taken now. Says no details: it is open to everyone. */
import { IngestError } from "../../errors.ts";
import { jsonAnswer } from "../answers.ts";
import { defineRoute } from "../route.ts";
import { healthSchema, noQuery } from "../schemas.ts";

export const readyz = defineRoute({
	method: "GET",
	path: "/readyz",
	id: "readyz",
	summary: "Whether uploads can be taken now; a problem with 502 or 503 where not",
	right: "open",
	query: noQuery,
	body: null,
	answers: { 200: { description: "They can", schema: healthSchema } },
	async handler({ deps, log }) {
		if (deps.stopping?.aborted) throw notReady("target_unavailable", "the service is stopping");
		const say = (what: string, error: unknown) =>
			log.warn("not ready", {
				what,
				error: error instanceof Error ? error.message : String(error),
			});
		await deps.store.head("readyz").catch((error) => {
			say("store", error);
			throw notReady("store_unavailable", "the object store does not answer");
		});
		await deps.checkReady?.().catch((error) => {
			say("loader", error);
			throw notReady("target_unavailable", "the loader is not ready");
		});
		return jsonAnswer({ status: "ready" });
	},
	problems: ["target_unavailable"],
});

const notReady = (code: "store_unavailable" | "target_unavailable", detail: string) =>
	new IngestError(code, detail, { retryAfterSeconds: 5 });
