/**
 * The loader in a Cloudflare Container: signed jobs in by the service binding `LOADER`
 * of the queue's consumer, each to the one instance that has its tenant's database.
 *
 * A schedule wakes the instances, so that their sweep finds what was lost. They
 * sleep when there was nothing to do for a while; their disk doesn't outlive that,
 * so the target is MotherDuck or a lake.
 */
import { systemClock } from "../src/clock.ts";
import { createLog, type Log, logLevels } from "../src/log.ts";
import {
	type ContainedLoader,
	type Container,
	containerPort,
	createContainedLoader,
	instanceOf,
} from "../src/trigger/contained-loader.ts";
import { jobOfMessage } from "../src/trigger/r2-event.ts";
import { signatureHeader, verifyBody } from "../src/trigger/signed-request.ts";

/** Beyond these, variables and secrets of the Worker are those of the loader: `infra/wrangler.loader.toml`. */
interface Env {
	CONTAINERS: {
		getByName(name: string): { fetch(request: Request): Promise<Response> };
	};
	LOADER_SECRET?: string;
	/** How many containers share the tenants; 1 without it. */
	LOADER_INSTANCES?: string;
	DUCKDOCK_LOG?: string;
	[name: string]: unknown;
}

/** https://developers.cloudflare.com/durable-objects/api/state/ */
interface DurableObjectState {
	readonly container?: Container;
	readonly storage: { setAlarm(at: number): Promise<void> };
}

const clock = systemClock;
const wakePath = "/wake";
/** A job is two names. */
const maxBodyBytes = 4_096;

export default {
	async fetch(request: Request, env: Env): Promise<Response> {
		const length = Number(request.headers.get("content-length") ?? Number.NaN);
		if (request.method !== "POST" || !(length <= maxBodyBytes)) {
			return new Response(null, { status: 400 });
		}
		const body = await request.text();
		const signature = request.headers.get(signatureHeader);
		// Strangers start no container; the loader looks again for itself.
		if (!(await verifyBody(env.LOADER_SECRET ?? "", body, signature, clock.now()))) {
			return new Response(null, { status: 401 });
		}
		const job = jobOfMessage(parse(body));
		if (job === null) return new Response(null, { status: 400 });
		const name = nameOf(instanceOf(job.tenant, instancesOf(env)));
		const { url, method, headers } = request;
		return env.CONTAINERS.getByName(name).fetch(new Request(url, { method, headers, body }));
	},

	async scheduled(_event: unknown, env: Env): Promise<void> {
		const all = Array.from({ length: instancesOf(env) }, (_, at) =>
			env.CONTAINERS.getByName(nameOf(at)).fetch(new Request(`http://loader${wakePath}`)),
		);
		for (const answer of await Promise.all(all)) await answer.body?.cancel();
	},
};

const nameOf = (instance: number) => `loader-${instance}`;

function instancesOf({ LOADER_INSTANCES }: Env): number {
	const instances = Number(LOADER_INSTANCES ?? 1);
	return Number.isInteger(instances) && instances >= 1 ? instances : 1;
}

/** One instance: a Durable Object with its container. */
export class LoaderContainer {
	readonly #state: DurableObjectState;
	readonly #log: Log;
	/** Null where the platform has no containers. */
	readonly #loader: ContainedLoader | null;

	constructor(state: DurableObjectState, env: Env) {
		this.#state = state;
		const level = logLevels.find((one) => one === env.DUCKDOCK_LOG) ?? "info";
		this.#log = createLog(level, (line) => console.log(line), { part: "container" });
		const { container } = state;
		this.#loader = container
			? createContainedLoader({ container, env: loaderEnvironment(env), clock, log: this.#log })
			: null;
	}

	async fetch(request: Request): Promise<Response> {
		if (this.#loader === null) {
			this.#log.error("there are no containers here: set [[containers]] in wrangler.loader.toml");
			return new Response(null, { status: 503, headers: { "Retry-After": "60" } });
		}
		try {
			if (new URL(request.url).pathname !== wakePath) return await this.#loader.fetch(request);
			return new Response(null, { status: (await this.#loader.wake()) ? 204 : 503 });
		} finally {
			await this.#state.storage.setAlarm(this.#loader.idleAt());
		}
	}

	async alarm(): Promise<void> {
		if (this.#loader === null || this.#loader.sleepIfIdle()) return;
		await this.#state.storage.setAlarm(Math.max(this.#loader.idleAt(), clock.now() + 60_000));
	}
}

/** What the container's one peer is, the platform sees to: nobody else reaches its port. */
function loaderEnvironment(env: Env): Record<string, string> {
	const own = Object.entries(env).filter((entry): entry is [string, string] => {
		return typeof entry[1] === "string";
	});
	return {
		...Object.fromEntries(own),
		LOADER_LISTEN: `0.0.0.0:${containerPort}`,
		DUCKDOCK_BEHIND_PROXY: "1",
	};
}

function parse(text: string): unknown {
	try {
		return JSON.parse(text);
	} catch {
		return null;
	}
}
