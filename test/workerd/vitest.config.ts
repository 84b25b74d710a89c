import process from "node:process";
import { defineConfig } from "vitest/config";

/** Plain Node tests that run the Workers in workerd and talk to them over real sockets. */
export default defineConfig({
	test: {
		root: new URL("../..", import.meta.url).pathname,
		include: ["test/workerd/**/*.test.ts"],
		pool: "forks",
		// In CI a machine that others keep busy gets another try; a test that is wrong fails them all.
		retry: process.env.CI ? 2 : 0,
		fileParallelism: false,
		testTimeout: 120_000,
		hookTimeout: 120_000,
	},
});
