/**
 * Requests a minute of one key, counted in this process alone: with several
 * processes a key has the limit in each of them.
 *
 * A window begins with a key's first request and lasts a minute.
 */
import type { Clock } from "../clock.ts";

export interface RateState {
	allowed: boolean;
	/** Null: who counts doesn't tell. */
	limit: number | null;
	/** Requests left in this window; null likewise. */
	remaining: number | null;
	/** Seconds until the window ends, at least 1. */
	resetSeconds: number;
}

export interface RequestRate {
	/** Counts one request. */
	take(keyId: string): RateState | Promise<RateState>;
}

const windowMs = 60_000;
/** Windows kept; the oldest goes first, and its key begins a new one. */
const maxWindows = 100_000;

export function createRequestRate(options: { perMinute: number; clock: Clock }): RequestRate {
	const { perMinute: limit, clock } = options;
	const windows = new Map<string, { startedAt: number; taken: number }>();
	return {
		take(keyId) {
			const now = clock.now();
			let window = windows.get(keyId);
			if (!window || now - window.startedAt >= windowMs) {
				windows.delete(keyId);
				if (windows.size >= maxWindows) windows.delete(windows.keys().next().value as string);
				window = { startedAt: now, taken: 0 };
				windows.set(keyId, window);
			}
			const allowed = window.taken < limit;
			if (allowed) window.taken++;
			return {
				allowed,
				limit,
				remaining: limit - window.taken,
				resetSeconds: Math.max(1, Math.ceil((window.startedAt + windowMs - now) / 1000)),
			};
		},
	};
}

/** https://datatracker.ietf.org/doc/draft-ietf-httpapi-ratelimit-headers/ */
export function rateLimitHeaders(state: RateState): Record<string, string> {
	if (state.limit === null || state.remaining === null) return {};
	return {
		"RateLimit-Policy": `"requests";q=${state.limit};w=${windowMs / 1000}`,
		RateLimit: `"requests";r=${state.remaining};t=${state.resetSeconds}`,
	};
}
