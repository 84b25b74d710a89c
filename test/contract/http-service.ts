/** What the HTTP contract suite is run against: a base URL, keys, and what this deployment can. */
import type { Limits } from "../../src/limits.ts";
import type { Right } from "../../src/tenant/rights.ts";

export interface HttpService {
	url: string;
	makeKey(options: {
		tenant: string;
		tables?: string[];
		rights?: Right[];
		expiresInMs?: number;
	}): Promise<string>;
	limits: Limits;
	/** Whether a request without Prefer waits until its load is final. */
	canWait: boolean;
	/** First bytes are looked at before anything is staged. */
	refusesEarly: boolean;
	/** Sends 104 ahead of an answer. */
	informs: boolean;
	hasMetrics: boolean;
	/** The suite runs on the service's own machine, which may read `/metrics` without a key. */
	openMetrics: boolean;
	corsOrigin: string;
	stop(): Promise<void>;
}
