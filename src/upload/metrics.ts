/**
 * Counts for `/metrics`, in the text format of Prometheus.
 * https://prometheus.io/docs/instrumenting/exposition_formats/#text-based-format
 *
 * Label values are bounded: routes and outcomes are closed sets, and only so many
 * tenants have a row of their own; the others share one.
 */
export interface Metrics {
	/** One request that was answered. `outcome`: `ok`, `accepted` or the problem's code. */
	countRequest(labels: { route: string; tenant: string | null; outcome: string }): void;
	/** Seconds from the first byte to the answer. */
	observeSeconds(route: string, seconds: number): void;
	/** Staged bytes. */
	countBytes(tenant: string, bytes: number): void;
	/** Something else's numbers, asked for at each reading; lines in the same format. */
	addSource(source: () => string): void;
	render(): string;
}

const maxTenants = 1_000;
const otherTenants = "(others)";
const secondsBounds = [0.01, 0.05, 0.1, 0.5, 1, 5, 10, 60];

export function createMetrics(): Metrics {
	const requests = new Map<string, number>();
	const bytes = new Map<string, number>();
	const seconds = new Map<string, { buckets: number[]; sum: number; count: number }>();
	const tenants = new Set<string>();
	const sources: (() => string)[] = [];

	const tenantLabel = (tenant: string | null) => {
		if (tenant === null) return "";
		if (!tenants.has(tenant) && tenants.size >= maxTenants) return otherTenants;
		tenants.add(tenant);
		return tenant;
	};
	const add = (map: Map<string, number>, labels: Record<string, string>, n: number) => {
		const key = formatLabels(labels);
		map.set(key, (map.get(key) ?? 0) + n);
	};

	return {
		countRequest: ({ route, tenant, outcome }) =>
			add(requests, { route, tenant: tenantLabel(tenant), outcome }, 1),
		countBytes: (tenant, n) => add(bytes, { tenant: tenantLabel(tenant) }, n),
		observeSeconds(route, value) {
			const found = seconds.get(route) ?? { buckets: secondsBounds.map(() => 0), sum: 0, count: 0 };
			secondsBounds.forEach((bound, at) => {
				if (value <= bound) found.buckets[at]!++;
			});
			found.sum += value;
			found.count++;
			seconds.set(route, found);
		},
		addSource: (source) => sources.push(source),
		render() {
			const lines = [
				...family("duckdock_requests_total", "counter", "Requests by route, tenant, outcome"),
				...[...requests].map(([labels, n]) => `duckdock_requests_total${labels} ${n}`),
				...family("duckdock_staged_bytes_total", "counter", "Bytes staged, as sent"),
				...[...bytes].map(([labels, n]) => `duckdock_staged_bytes_total${labels} ${n}`),
				...family("duckdock_request_seconds", "histogram", "Time to the answer"),
			];
			for (const [route, { buckets, sum, count }] of seconds) {
				secondsBounds.forEach((bound, at) => {
					const labels = formatLabels({ route, le: String(bound) });
					lines.push(`duckdock_request_seconds_bucket${labels} ${buckets[at]}`);
				});
				const all = formatLabels({ route, le: "+Inf" });
				lines.push(`duckdock_request_seconds_bucket${all} ${count}`);
				lines.push(`duckdock_request_seconds_sum${formatLabels({ route })} ${sum}`);
				lines.push(`duckdock_request_seconds_count${formatLabels({ route })} ${count}`);
			}
			for (const source of sources) lines.push(source().trimEnd());
			return `${lines.filter((line) => line !== "").join("\n")}\n`;
		},
	};
}

/** `{a="b"}`, escaped as the format asks: backslash, quote, newline. */
export function formatLabels(labels: Record<string, string>): string {
	const pairs = Object.entries(labels).map(
		([name, value]) =>
			`${name}="${value.replaceAll("\\", "\\\\").replaceAll('"', '\\"').replaceAll("\n", "\\n")}"`,
	);
	return pairs.length === 0 ? "" : `{${pairs.join(",")}}`;
}

const family = (name: string, type: string, help: string) => [
	`# HELP ${name} ${help}`,
	`# TYPE ${name} ${type}`,
];
