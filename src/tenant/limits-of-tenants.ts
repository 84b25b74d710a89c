/** What the configuration limits, as the app takes it; what it doesn't is null and costs nothing. */
import type { Clock } from "../clock.ts";
import type { ObjectStore } from "../stage/object-store.ts";
import { createQuotas, type QuotaLimits, type Quotas } from "./quotas.ts";
import { createRequestRate, type RequestRate } from "./request-rate.ts";

export function limitsOfTenants(
	config: { quotas: QuotaLimits & { requestsPerMinute: number | null } },
	store: ObjectStore,
	clock: Clock,
): { rate: RequestRate | null; quotas: Quotas | null } {
	const { requestsPerMinute, ...limits } = config.quotas;
	return {
		rate:
			requestsPerMinute === null
				? null
				: createRequestRate({ perMinute: requestsPerMinute, clock }),
		quotas: hasQuotas(limits) ? createQuotas({ store, clock, limits }) : null,
	};
}

/** Whether anything is limited that the loader must count. */
export function hasQuotas({ bytesPerDay, rowsPerDay, openUploads, parallelLoads }: QuotaLimits) {
	return [bytesPerDay, rowsPerDay, openUploads, parallelLoads].some((limit) => limit !== null);
}
