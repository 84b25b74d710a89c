import { defineConfig } from "vitest/config";

/** The stack's templates; needs the CDK (`npm ci --prefix infra`). */
export default defineConfig({
	test: {
		root: new URL("../..", import.meta.url).pathname,
		include: ["infra/cdk/**/*.test.ts"],
		testTimeout: 120_000,
		hookTimeout: 120_000,
	},
});
