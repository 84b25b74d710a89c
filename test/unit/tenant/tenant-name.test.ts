import { expect, test } from "vitest";
import { assertTenantName, isTenantName } from "../../../src/tenant/tenant-name.ts";

test.each(["a", "acme", "0", "a-b_c", "9".repeat(63)])("%j is a tenant", (name) => {
	expect(isTenantName(name)).toBe(true);
	expect(assertTenantName(name)).toBe(name);
});

test.each([
	"",
	"A",
	"-a",
	"_a",
	"a".repeat(64),
	"a/b",
	"..",
	"a.b",
	"a\n",
	"\u0430cme", // Cyrillic а
	"acme\u0000",
	"a b",
	"a%2fb",
])("%j is no tenant", (name) => {
	expect(isTenantName(name)).toBe(false);
	expect(() => assertTenantName(name)).toThrow(expect.objectContaining({ code: "bad_request" }));
});
