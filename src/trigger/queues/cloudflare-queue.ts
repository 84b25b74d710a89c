/**
 * The sending end of a Cloudflare Queue. Its other end is a Worker that the
 * platform calls (`functions/trigger.workers.ts`), so nothing is received here.
 * https://developers.cloudflare.com/queues/configuration/javascript-apis/
 */
import type { ReplayQueue } from "../replay-queue.ts";

/** What we use of the binding; the runtime's own object fits. */
export interface QueueBinding {
	send(body: unknown, options?: { contentType?: "json" }): Promise<unknown>;
}

export function createCloudflareQueue(binding: QueueBinding): Pick<ReplayQueue, "send"> {
	return {
		async send({ tenant, upload_id }) {
			await binding.send({ tenant, upload_id }, { contentType: "json" });
		},
	};
}
