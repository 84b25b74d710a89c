/**
 * The queue's consumer on Cloudflare: messages in, calls of the loader out.
 *
 * A message that names no load is dropped with a log line; one whose loader did not
 * say "done" is tried again, later each time, until the queue moves it to its
 * dead-letter queue. This Worker consumes that one too: a last try, then an error
 * line to be alarmed by, with the reason. Nothing is lost with the message: the load
 * stays staged, and the loader's sweep finds it.
 */
import { systemClock } from "../src/clock.ts";
import { createLog, type Log, type LogLevel, logLevels } from "../src/log.ts";
import { createLoaderCaller, type LoaderCaller } from "../src/trigger/call-loader.ts";
import { isStoreEvent, jobOfMessage } from "../src/trigger/r2-event.ts";
import { minSecretChars } from "../src/trigger/signed-request.ts";

interface Fetcher {
	fetch(request: Request): Promise<Response>;
}

interface Env {
	/** Any HTTPS address of a loader (`functions/replay.node.ts`); empty: none. */
	LOADER_URL?: string;
	/** Or a service binding to the Worker before a container (`functions/loader.workers.ts`). */
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

/** How dead-letter queues are named in `infra/wrangler.trigger.toml`. */
const deadSuffix = "-dead";

export default {
	async queue(batch: MessageBatch, env: Env): Promise<void> {
		const level = logLevels.find((one) => one === env.DUCKDOCK_LOG) ?? ("info" as LogLevel);
		const log = createLog(level, (line) => console.log(line), { queue: batch.queue });
		const { LOADER_URL: url, LOADER: binding, LOADER_SECRET: secret = "" } = env;
		if ((!url && binding === undefined) || secret.length < minSecretChars) {
			log.error("LOADER_URL (or LOADER) and LOADER_SECRET of 32 characters or more must be set");
			for (const message of batch.messages) message.retry({ delaySeconds: 60 });
			return;
		}
		const loader = createLoaderCaller({
			url: url || "https://loader",
			secret,
			clock: systemClock,
			fetch: (request) => (binding ? binding.fetch(request) : fetch(request)),
		});
		const isLast = batch.queue.endsWith(deadSuffix);
		await Promise.all(batch.messages.map((message) => take(message, isLast, loader, log)));
	},
};

async function take(message: Message, isLast: boolean, loader: LoaderCaller, log: Log) {
	const { id: message_id, body, attempts: attempt } = message;
	const job = jobOfMessage(body);
	if (job === null) {
		// Of every object of a bucket there may be an event; what is none was sent by mistake.
		if (isStoreEvent(body)) log.info("an event names no load", { message_id });
		else log.error("a message is neither a job nor an event and was dropped", { message_id });
		message.ack();
		return;
	}
	const { done, delayMs, why } = await loader.call(job, attempt);
	const fields = { tenant: job.tenant, load_id: job.upload_id, attempt };
	if (done) log.info("loaded", fields);
	else if (isLast)
		log.error("a load was given up; it stays staged, and the loader's sweep runs it", {
			...fields,
			why,
		});
	else log.warn("to be tried again", { ...fields, why, delay_ms: delayMs });
	if (done || isLast) message.ack();
	else message.retry({ delaySeconds: Math.ceil(delayMs / 1000) });
}
