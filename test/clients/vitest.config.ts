import { defineConfig } from "vitest/config";

/** Clients that nobody here wrote, and real servers: needs python3 and its package index. */
export default defineConfig({
	test: {
		root: new URL("../..", import.meta.url).pathname,
		include: ["test/clients/**/*.test.ts"],
		pool: "forks",
		fileParallelism: false,
		testTimeout: 120_000,
		hookTimeout: 300_000,
	},
});
