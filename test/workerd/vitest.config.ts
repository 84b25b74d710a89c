import { defineConfig } from "vitest/config";

/** Plain Node tests that run the Workers in workerd and talk to them over real sockets. */
export default defineConfig({
	test: {
		root: new URL("../..", import.meta.url).pathname,
		include: ["test/workerd/**/*.test.ts"],
		pool: "forks",
		fileParallelism: false,
		testTimeout: 120_000,
		hookTimeout: 120_000,
	},
});
