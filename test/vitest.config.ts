import process from "node:process";
import { defineConfig } from "vitest/config";

/** Every file in a process of its own: the addon, DuckDB instances and child processes need one. */
export default defineConfig({
	test: {
		root: new URL("..", import.meta.url).pathname,
		include: ["test/**/*.test.ts", "native/test/**/*.test.ts"],
		exclude: ["test/workerd/**", "test/clients/**", "node_modules/**"],
		pool: "forks",
		// In CI a machine that others keep busy gets another try; a test that is wrong fails them all.
		retry: process.env.CI ? 2 : 0,
		testTimeout: 120_000,
		hookTimeout: 120_000,
	},
});
