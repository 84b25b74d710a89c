/**
 * Where a tenant's rows go: `DUCKDOCK_TARGET` in, what DuckDB can ATTACH out.
 * `{tenant}` stands for the tenant, whose grammar was checked before.
 */
import { assertTenantName } from "./tenant/tenant-name.ts";

export interface EngineTarget {
	/** As configured. */
	template: string;
	kind: "file" | "motherduck" | "ducklake" | "other";
	/** The file on this machine that holds the data or its catalog; null: elsewhere. */
	localPath: string | null;
}

export function parseTarget(template: string): EngineTarget {
	if (/^(md|motherduck):/i.test(template)) return { template, kind: "motherduck", localPath: null };
	const lake = /^ducklake:(?:(sqlite|duckdb):)?(.*)$/is.exec(template);
	if (lake) {
		const remote = lake[1] === undefined && /^[a-z][a-z0-9+.-]+:/i.test(lake[2]!);
		return { template, kind: "ducklake", localPath: remote ? null : lake[2]! };
	}
	const file = /^(?:file:(?:\/\/(?=\/))?)?(?![a-z][a-z0-9+.-]+:)(.+)$/is.exec(template);
	if (file) return { template, kind: "file", localPath: file[1]! };
	return { template, kind: "other", localPath: null };
}

/** What to ATTACH for one tenant. `bad_request` for a name that is no tenant. */
export function targetOf(target: EngineTarget, tenant: string): string {
	const name = assertTenantName(tenant);
	const text = target.kind === "file" ? target.localPath! : target.template;
	return text.replaceAll("{tenant}", () => name);
}
