/**
 * The queue's consumer on Cloudflare: messages in, calls of the loader out.
 *
 * A message that names no load is dropped with a log line; one whose loader did not
 * say "done" is tried again, later each time, until the queue moves it to its
 * dead-letter queue. Whatever is lost on the way, the loader's sweep finds.
 */
import { systemClock } from "../src/clock.ts";
import { createLog, type LogLevel, logLevels } from "../src/log.ts";
import { createLoaderCaller } from "../src/trigger/call-loader.ts";
import { jobOfMessage } from "../src/trigger/r2-event.ts";
import { minSecretChars } from "../src/trigger/signed-request.ts";

interface Fetcher {
	fetch(request: Request): Promise<Response>;
}

interface Env {
	/** Any HTTPS address of a loader (`functions/replay.node.ts`). */
	LOADER_URL?: string;
	/** Or a service binding to the Worker before a container. */
	LOADER?: Fetcher;
	/** The same as the loader's; `wrangler secret put LOADER_SECRET`. */
	LOADER_SECRET?: string;
	DUCKDOCK_LOG?: string;
}

/** https://developers.cloudflare.com/queues/configuration/javascript-apis/#messagebatch */
interface Message {
	readonly id: string;
	readonly body: unknown;
	readonly attempts: number;
	ack(): void;
	retry(options?: { delaySeconds?: number }): void;
}
interface MessageBatch {
	readonly queue: string;
	readonly messages: readonly Message[];
}

export default {
	async queue(batch: MessageBatch, env: Env): Promise<void> {
		const level = logLevels.find((one) => one === env.DUCKDOCK_LOG) ?? ("info" as LogLevel);
		const log = createLog(level, (line) => console.log(line), { queue: batch.queue });
		const { LOADER_URL: url, LOADER: binding, LOADER_SECRET: secret = "" } = env;
		if ((url === undefined && binding === undefined) || secret.length < minSecretChars) {
			log.error("LOADER_URL (or LOADER) and LOADER_SECRET of 32 characters or more must be set");
			for (const message of batch.messages) message.retry({ delaySeconds: 60 });
			return;
		}
		const loader = createLoaderCaller({
			url: url ?? "https://loader",
			secret,
			clock: systemClock,
			fetch: (request) => (binding ? binding.fetch(request) : fetch(request)),
		});
		await Promise.all(
			batch.messages.map(async (message) => {
				const job = jobOfMessage(message.body);
				if (job === null) {
					log.info("a message names no load", { message_id: message.id });
					message.ack();
					return;
				}
				const { done, delayMs, why } = await loader.call(job, message.attempts);
				const fields = { tenant: job.tenant, load_id: job.upload_id, attempt: message.attempts };
				if (done) {
					log.info("loaded", fields);
					message.ack();
				} else {
					log.warn("to be tried again", { ...fields, why, delay_ms: delayMs });
					message.retry({ delaySeconds: Math.ceil(delayMs / 1000) });
				}
			}),
		);
	},
};
