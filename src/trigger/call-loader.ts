/**
 * One job to a loader over HTTP, and what it says: done, again later, or nothing.
 *
 * The loader answers when the load is final or its patience ends; either way the
 * job can be sent again without harm.
 */
import type { Clock } from "../clock.ts";
import type { ReplayJob } from "../flow.ts";
import { signatureHeader, signBody } from "./signed-request.ts";

/** Where the loader takes jobs. */
export const loaderPath = "/v1/replay";

export interface LoaderCaller {
	/** `done`: never again. Else: again after `delayMs`. */
	call(job: ReplayJob, attempt: number): Promise<{ done: boolean; delayMs: number; why: string }>;
}

const firstDelayMs = 5_000;
const longestDelayMs = 600_000;

export function createLoaderCaller(options: {
	/** `https://loader.example.com`, or a container's binding behind any host. */
	url: string;
	secret: string;
	clock: Clock;
	fetch(request: Request): Promise<Response>;
	/** Longer than the loader's own patience. */
	timeoutMs?: number;
}): LoaderCaller {
	const { url, secret, clock, timeoutMs = 14 * 60_000 } = options;
	return {
		async call(job, attempt) {
			const body = JSON.stringify(job);
			const delayMs = Math.min(longestDelayMs, firstDelayMs * 2 ** Math.min(attempt - 1, 10));
			try {
				const answer = await options.fetch(
					new Request(new URL(loaderPath, url), {
						method: "POST",
						headers: {
							"Content-Type": "application/json",
							[signatureHeader]: await signBody(secret, body, clock.now()),
						},
						body,
						signal: AbortSignal.timeout(timeoutMs),
					}),
				);
				await answer.body?.cancel();
				if (answer.status === 200) return { done: true, delayMs: 0, why: "done" };
				const seconds = Number(answer.headers.get("retry-after"));
				return {
					done: false,
					delayMs: seconds > 0 ? Math.min(seconds * 1000, longestDelayMs) : delayMs,
					why: `the loader answered ${answer.status}`,
				};
			} catch (error) {
				return {
					done: false,
					delayMs,
					why: error instanceof Error ? error.message : String(error),
				};
			}
		},
	};
}
