/** What is served as the docs and the console, and that nothing else of the repository is. */
import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { servicePages } from "../../functions/service-pages.node.ts";

describe("the docs' pages", () => {
	it("are the page, its styles, its module without types and the renderer as its package has it", async () => {
		const page = await servicePages("/docs");
		expect(page?.headers.get("cache-control")).toBe("public, max-age=300");
		const renderer = await servicePages("/docs/openapi-explorer.min.js");
		expect(renderer?.headers.get("cache-control")).toBe("public, max-age=86400");
		const { dependencies } = JSON.parse(
			readFileSync(new URL("../../package.json", import.meta.url), "utf8"),
		);
		const version = dependencies["openapi-explorer"];
		expect(await renderer!.text()).toContain(`OpenAPI Explorer ${version} `);
	});

	it.each(["/docs/", "/docs/docs-page.ts", "/docs/../package.json", "/docs/openapi-explorer.js"])(
		"are not %s",
		async (path) => {
			expect(await servicePages(path)).toBeNull();
		},
	);
});

describe("the console's pages", () => {
	it("are the page, its styles and its modules without types", async () => {
		const page = await servicePages("/console");
		expect(page?.headers.get("content-type")).toBe("text/html; charset=utf-8");
		expect(page?.headers.get("content-security-policy")).toContain("script-src 'self'");
		const files = [...(await page!.text()).matchAll(/(?:src|href)="(\/console\/[^"]+)"/g)];
		expect(files).toHaveLength(2);
		const seen = new Set<string>();
		const walk = async (path: string): Promise<void> => {
			if (seen.has(path)) return;
			seen.add(path);
			const file = await servicePages(path);
			expect(file, path).not.toBeNull();
			const text = await file!.text();
			if (!path.endsWith(".ts")) return;
			expect(file!.headers.get("content-type")).toBe("text/javascript; charset=utf-8");
			for (const [, name] of text.matchAll(/^(?:import|export)[^"]*"(\.[^"]+)"/gm)) {
				await walk(new URL(name!, `http://x${path}`).pathname);
			}
		};
		for (const [, path] of files) await walk(path!);
		expect(seen.size).toBeGreaterThan(12);
	});

	it.each([
		"/console/src/console/../../package.json",
		"/console/src/%2e%2e/package.json",
		"/console/src/config.ts",
		"/console/src/upload/create-app.ts",
		"/console/src/console/none.ts",
		"/console/console.ts",
	])("are not %s", async (path) => {
		expect(await servicePages(path)).toBeNull();
	});
});
