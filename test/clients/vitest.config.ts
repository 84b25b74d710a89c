import process from "node:process";
import { defineConfig } from "vitest/config";

/** Clients that nobody here wrote, and real servers: needs python3 and its package index. */
export default defineConfig({
	test: {
		root: new URL("../..", import.meta.url).pathname,
		include: ["test/clients/**/*.test.ts"],
		pool: "forks",
		// In CI a machine that others keep busy gets another try; a test that is wrong fails them all.
		retry: process.env.CI ? 2 : 0,
		fileParallelism: false,
		testTimeout: 120_000,
		hookTimeout: 300_000,
	},
});
