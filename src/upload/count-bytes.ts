/** Staged bytes, for the tenant's quota and the counts. */
import type { Call } from "./route.ts";

export function countBytes({ deps, principal }: Call, bytes: number): void {
	const { tenant } = principal!;
	deps.metrics?.countBytes(tenant, bytes);
	deps.quotas?.addBytes(tenant, bytes);
}
