/**
 * Requests a minute of one key, counted by Cloudflare's rate-limiting binding:
 * per location and not exact, but for all isolates together. It tells yes or no
 * and no number, so no `RateLimit` header can be made of it.
 * https://developers.cloudflare.com/workers/runtime-apis/bindings/rate-limit/
 */
import type { RequestRate } from "./request-rate.ts";

export interface RateLimitBinding {
	limit(options: { key: string }): Promise<{ success: boolean }>;
}

/** The binding's `simple.period` in `wrangler.toml`: 10 or 60. */
export function createBindingRate(binding: RateLimitBinding, periodSeconds: 10 | 60): RequestRate {
	return {
		async take(keyId) {
			const { success } = await binding.limit({ key: keyId });
			return { allowed: success, limit: null, remaining: null, resetSeconds: periodSeconds };
		},
	};
}
