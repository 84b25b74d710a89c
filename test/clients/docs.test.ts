/** `/docs` in real Chromium: every operation can be found and tried, every problem has its address; pictures for eyes. */
import { existsSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import {
	type Browser,
	type BrowserContextOptions,
	chromium,
	type Locator,
	type Page,
} from "playwright-core";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { errorCodes } from "../../src/errors.ts";
import { superstorePath } from "../e2e/superstore.ts";
import { createWorld, root, type World } from "../e2e/world.ts";

const browserPath = process.env.CHROMIUM_PATH ?? "/usr/bin/chromium";
const pictures = join(root, "node_modules/.cache/duckdock-docs");

const phone = { width: 390, height: 780 };
const windows: [string, BrowserContextOptions][] = [
	["light", { colorScheme: "light" }],
	["dark", { colorScheme: "dark" }],
	["phone-light", { viewport: phone, colorScheme: "light" }],
	["phone-dark", { viewport: phone, colorScheme: "dark" }],
];

interface Operation {
	method: string;
	path: string;
	summary: string;
}

describe.skipIf(!existsSync(browserPath))(
	`the docs (need Chromium at ${browserPath} or CHROMIUM_PATH)`,
	() => {
		let world: World;
		let browser: Browser;
		let operations: Operation[];
		/** What the browser complained of, and what was asked of others, since the last look. */
		const faults: string[] = [];

		beforeAll(async () => {
			mkdirSync(pictures, { recursive: true });
			world = await createWorld();
			await world.start();
			browser = await chromium.launch({
				executablePath: browserPath,
				args: ["--no-sandbox", "--disable-gpu", "--disable-background-networking"],
			});
			const document = (await (await fetch(`${world.url}/openapi.json`)).json()) as {
				paths: Record<string, Record<string, { summary: string }>>;
			};
			operations = Object.entries(document.paths).flatMap(([path, methods]) =>
				Object.entries(methods).map(([method, { summary }]) => ({ method, path, summary })),
			);
		});
		afterAll(async () => {
			await browser?.close();
			await world?.end();
		});
		afterEach(() => {
			expect(faults.splice(0)).toEqual([]);
		});

		async function open(address: string, options: BrowserContextOptions = {}): Promise<Page> {
			const context = await browser.newContext({
				viewport: { width: 1200, height: 900 },
				...options,
			});
			const page = await context.newPage();
			page.on("console", (message) => {
				// Chromium tells of every refusal that an answer is, as an error of its own.
				if (message.type() === "error" || message.type() === "warning") faults.push(message.text());
			});
			page.on("pageerror", (error) => faults.push(String(error)));
			page.on("request", (request) => {
				const { origin, protocol } = new URL(request.url());
				if (origin !== world.url && protocol !== "data:") faults.push(`asked ${request.url()}`);
			});
			await page.exposeFunction("tellViolation", (text: string) => faults.push(text));
			await page.addInitScript(() => {
				document.addEventListener("securitypolicyviolation", (event) => {
					const told = `${event.violatedDirective}: ${event.blockedURI} at ${event.lineNumber}:${event.columnNumber}`;
					(window as unknown as { tellViolation(text: string): void }).tellViolation(told);
				});
			});
			await page.goto(`${world.url}${address}`);
			return page;
		}
		const close = (page: Page) => page.context().close();
		const picture = (page: Page, name: string) =>
			page.screenshot({ path: join(pictures, `${name}.png`) });
		const entry = (page: Page, name: string) =>
			page.getByRole("navigation").getByRole("link", { name, exact: true });
		const isInView = (element: Locator) =>
			element.evaluate((one) => {
				const { top, bottom } = one.getBoundingClientRect();
				return top >= 0 && bottom <= innerHeight;
			});
		const overflow = (page: Page) =>
			page.evaluate(
				() => document.documentElement.scrollWidth - document.documentElement.clientWidth,
			);

		it("show every operation of the document by its name in the menu", async () => {
			const page = await open("/docs");
			await entry(page, operations[0]!.summary).waitFor();
			await picture(page, "light");
			expect(operations.length).toBeGreaterThan(18);
			for (const { method, path, summary } of operations) {
				await entry(page, summary).click();
				await page.getByRole("heading", { name: summary, exact: true }).waitFor();
				const told = ["method", "path"].map((name) =>
					page.locator(`[part*=label-operation-${name}]`).textContent(),
				);
				expect(await Promise.all(told)).toEqual([method, path]);
			}
			await close(page);
		});

		it("try an operation with a key, which is kept nowhere", async () => {
			const page = await open("/docs#?route=auth");
			await page.getByPlaceholder("dk_<keyid>_<secret>").fill(world.key);
			await page.getByRole("button", { name: "Set" }).click();
			await page.getByText("1 API key applied").waitFor();

			await entry(page, "Load Arrow bytes of any length in one request").click();
			await page.locator("input[data-pname=table]").fill("superstore");
			await page.locator("input[type=file]").setInputFiles(superstorePath);
			await page.getByRole("button", { name: "Execute" }).click();
			await page.getByText("Response Status: OK (200)").waitFor();
			await page.getByText(/"rows_inserted": 9994/).waitFor();
			await picture(page, "receipt");

			await entry(page, "Loads, newest first").click();
			await page.getByRole("button", { name: "Execute" }).click();
			await page
				.getByText(/"table": "main.superstore"/)
				.first()
				.waitFor();
			const kept = () => localStorage.length + sessionStorage.length + document.cookie.length;
			expect(await page.evaluate(kept)).toBe(0);
			await close(page);
		});

		it("show an example of each status, problems by their codes", async () => {
			const page = await open("/docs#?route=get-/v1/loads/-id-");
			await page.getByRole("button", { name: "404", exact: true }).click();
			await page.locator("button[data-tab=body]:visible").last().click();
			await page.getByText('"/docs#load_not_found"').first().waitFor();
			await picture(page, "problem-example");
			await close(page);
		});

		it.each(windows)("lead a problem's type to words about it, %s", async (name, options) => {
			const page = await open("/docs#unsupported_codec", options);
			const row = (code: string) => page.locator(`#${code}`);
			await expect.poll(() => isInView(row("unsupported_codec"))).toBe(true);
			await row("unsupported_codec").getByText(errorCodes.unsupported_codec).waitFor();
			await expect
				.poll(() => page.evaluate(() => document.activeElement?.id))
				.toBe("unsupported_codec");
			expect(await overflow(page)).toBeLessThanOrEqual(0);
			await picture(page, `problem-${name}`);
			// From one to another, and back.
			await page.goto(`${world.url}/docs#not_arrow`);
			await expect.poll(() => isInView(row("not_arrow"))).toBe(true);
			await page.goBack();
			await expect.poll(() => isInView(row("unsupported_codec"))).toBe(true);
			// And the same again.
			await page.reload();
			await expect.poll(() => isInView(row("unsupported_codec"))).toBe(true);
			await close(page);
		});

		it("go from a problem to an operation, which then has the address", async () => {
			const page = await open("/docs#not_arrow");
			await entry(page, "Loads, newest first").click();
			await page.getByRole("heading", { name: "Loads, newest first" }).waitFor();
			await page.reload();
			await page.getByRole("heading", { name: "Loads, newest first" }).waitFor();
			await page.getByRole("link", { name: "Problems", exact: true }).click();
			await expect.poll(() => isInView(page.locator("#problems summary"))).toBe(true);
			await close(page);
		});

		it.each(windows)("have the colours that were asked for, %s", async (name, options) => {
			const page = await open("/docs", options);
			await page.getByRole("heading", { name: "duckdock" }).waitFor();
			await page.getByText("Load Arrow bytes of any length in one request").first().waitFor();
			const ground = await page
				.locator("openapi-explorer")
				.evaluate((one) => getComputedStyle(one).backgroundColor);
			const dark = options.colorScheme === "dark";
			expect(ground).toBe(dark ? "rgb(21, 23, 26)" : "rgb(255, 255, 255)");
			expect(await overflow(page)).toBeLessThanOrEqual(0);
			await picture(page, name);
			await close(page);
		});

		it("have every operation on a phone, to be opened where it stands", async () => {
			const page = await open("/docs", { viewport: phone, colorScheme: "dark" });
			for (const { summary } of operations) {
				await expect.poll(() => page.locator("summary", { hasText: summary }).count()).toBe(1);
			}
			await page.locator("summary", { hasText: "Loads, newest first" }).click();
			await page.getByRole("button", { name: "Execute" }).waitFor();
			expect(await overflow(page)).toBeLessThanOrEqual(0);
			await picture(page, "phone-operation");
			await close(page);
		});

		it("can be used with the keyboard alone", async () => {
			const page = await open("/docs");
			await entry(page, "Loads, newest first").waitFor();
			await page.getByPlaceholder("Filter").focus();
			const focused = () =>
				page.evaluate(() => {
					const inside = document.activeElement?.shadowRoot?.activeElement;
					return (inside ?? document.activeElement)?.textContent?.trim();
				});
			for (let at = 0; at < 20 && (await focused()) !== "Loads, newest first"; at++) {
				await page.keyboard.press("Tab");
			}
			await page.keyboard.press("Enter");
			await page.getByRole("heading", { name: "Loads, newest first" }).waitFor();
			await close(page);
		});

		it("have the words on problems where no script runs", async () => {
			const page = await open("/docs#busy", { javaScriptEnabled: false });
			await page.getByText(errorCodes.busy).waitFor();
			await page.getByRole("link", { name: "OpenAPI" }).waitFor();
			await picture(page, "no-script");
			await close(page);
		});
	},
);
