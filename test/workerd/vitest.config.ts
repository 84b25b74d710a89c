import process from "node:process";
import { cloudflareTest } from "@cloudflare/vitest-plugin";
import { defineConfig } from "vitest/config";

// Nothing is asked of a network.
process.env.CLOUDFLARE_CF_FETCH_ENABLED = "false";
process.env.WRANGLER_SEND_METRICS = "false";

const root = new URL("../..", import.meta.url).pathname;
const shared = {
	root,
	// In CI a machine that others keep busy gets another try; a test that is wrong fails them all.
	retry: process.env.CI ? 2 : 0,
	testTimeout: 120_000,
	hookTimeout: 120_000,
};

export default defineConfig({
	test: {
		root,
		fileParallelism: false,
		projects: [
			{
				/** Plain Node tests that run the Workers in workerd and talk to them over real sockets. */
				test: {
					...shared,
					name: "workerd",
					include: ["test/workerd/*.test.ts"],
					pool: "forks",
					fileParallelism: false,
				},
			},
			{
				/** Tests that run in workerd themselves; Node compatibility is the test runner's need. */
				plugins: [
					cloudflareTest({
						miniflare: {
							compatibilityDate: "2026-11-01",
							compatibilityFlags: ["nodejs_compat"],
							r2Buckets: ["OBJECTS"],
						},
					}),
				],
				test: { ...shared, name: "inside workerd", include: ["test/workerd/inside/*.test.ts"] },
			},
		],
	},
});
