/**
 * A loader in a container that runs while there is work: requests in, its answers out.
 *
 * Order: not running > start > its health says ready > the request goes in. After
 * `idleMs` without one it is told to drain; what came meanwhile starts it again.
 * Whatever goes wrong is 503 with `Retry-After`: who calls, tries again.
 */
import type { Clock } from "../clock.ts";
import type { Log } from "../log.ts";

/** What we use of a Durable Object's container: https://developers.cloudflare.com/durable-objects/api/container/ */
export interface Container {
	readonly running: boolean;
	start(options: {
		entrypoint: string[];
		env: Record<string, string>;
		enableInternet: boolean;
	}): void;
	/** Resolves when it has ended, rejects when it ended by a fault. */
	monitor(): Promise<void>;
	signal(number: number): void;
	getTcpPort(port: number): { fetch(request: Request): Promise<Response> };
}

export interface ContainedLoader {
	fetch(request: Request): Promise<Response>;
	/** Starts it if it doesn't run: its sweep looks at once for what was lost. */
	wake(): Promise<boolean>;
	/** Milliseconds since 1970 at which to call `sleepIfIdle`. */
	idleAt(): number;
	/** Whether it was idle and is told to drain, or doesn't run. */
	sleepIfIdle(): boolean;
}

/** `LOADER_LISTEN` of the environment that it is started with. */
export const containerPort = 8_788;
const entrypoint = ["node", "functions/replay.node.ts"];
const idleMs = 600_000;
/** An image that isn't on the host yet is fetched first. */
const startMs = 120_000;
const pollMs = 250;
const sigterm = 15;

export function createContainedLoader(options: {
	container: Container;
	env: Record<string, string>;
	clock: Clock;
	log: Log;
}): ContainedLoader {
	const { container, env, clock, log } = options;
	const port = () => container.getTcpPort(containerPort);
	let open = 0;
	let lastAt = clock.now();
	let starting: Promise<boolean> | null = null;

	function ready(): Promise<boolean> {
		if (container.running && starting === null) return Promise.resolve(true);
		starting ??= start().finally(() => {
			starting = null;
		});
		return starting;
	}

	async function start(): Promise<boolean> {
		const startedAt = clock.now();
		if (!container.running) {
			container.start({ entrypoint, env, enableInternet: true });
			container.monitor().then(
				() => log.info("the loader's container has ended"),
				(error) => log.error("the loader's container failed", { error: String(error) }),
			);
		}
		while (clock.now() - startedAt < startMs) {
			const healthy = await port()
				.fetch(new Request("http://loader/healthz"))
				.then(async (answer) => {
					await answer.body?.cancel();
					return answer.ok;
				})
				.catch(() => false);
			if (healthy) {
				log.info("the loader's container is ready", { after_ms: clock.now() - startedAt });
				return true;
			}
			await clock.sleep(pollMs);
		}
		log.error("the loader's container did not get ready", { waited_ms: startMs });
		return false;
	}

	return {
		async fetch(request) {
			open++;
			try {
				if (!(await ready())) return again("the loader's container is not ready", 30);
				const { pathname, search } = new URL(request.url);
				return await port().fetch(new Request(`http://loader${pathname}${search}`, request));
			} catch (error) {
				log.warn("the loader's container can't be reached", { error: String(error) });
				return again("the loader's container can't be reached", 5);
			} finally {
				open--;
				lastAt = clock.now();
			}
		},
		wake: ready,
		idleAt: () => lastAt + idleMs,
		sleepIfIdle() {
			if (!container.running) return true;
			if (open > 0 || clock.now() - lastAt < idleMs) return false;
			container.signal(sigterm);
			return true;
		},
	};
}

function again(detail: string, seconds: number): Response {
	return new Response(`${JSON.stringify({ detail })}\n`, {
		status: 503,
		headers: { "Content-Type": "application/json", "Retry-After": String(seconds) },
	});
}

/** Which of `instances` has a tenant's loads: always the same, so one loader writes its database. */
export function instanceOf(tenant: string, instances: number): number {
	// FNV-1a: http://www.isthe.com/chongo/tech/comp/fnv/
	let hash = 0x811c9dc5;
	for (let at = 0; at < tenant.length; at++) {
		hash = Math.imul(hash ^ tenant.charCodeAt(at), 0x01000193) >>> 0;
	}
	return hash % instances;
}
