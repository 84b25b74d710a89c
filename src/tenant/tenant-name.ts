/**
 * Who a tenant is: one lower-case name that is safe as a path segment, as a part
 * of an object key and as a database name. Anything else is refused before an
 * object key or a target string is built of it.
 */
import { IngestError } from "../errors.ts";

const grammar = /^[a-z0-9][a-z0-9_-]{0,62}$/;

/** What `duckdock load` works for, where there is no service and no key. */
export const localTenant = "local";

export function isTenantName(name: unknown): name is string {
	return typeof name === "string" && grammar.test(name);
}

/** The name itself, or `bad_request`. */
export function assertTenantName(name: string): string {
	if (isTenantName(name)) return name;
	throw new IngestError(
		"bad_request",
		`a tenant is 1 to 63 characters of a-z, 0-9, _ and -, the first one a-z or 0-9; this is ${JSON.stringify(String(name).slice(0, 80))}`,
	);
}
