/** The console in real Chromium: sign in, upload, watch, read a receipt; pictures for eyes. */
import { existsSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { type Browser, chromium, type Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { superstorePath } from "../e2e/superstore.ts";
import { createWorld, root, type World, writeFile } from "../e2e/world.ts";

const browserPath = process.env.CHROMIUM_PATH ?? "/usr/bin/chromium";
const pictures = join(root, "node_modules/.cache/duckdock-console");
const rows = "9,994";

describe.skipIf(!existsSync(browserPath))(
	`the console (needs Chromium at ${browserPath} or CHROMIUM_PATH)`,
	() => {
		let world: World;
		let browser: Browser;
		let page: Page;
		const faults: string[] = [];

		beforeAll(async () => {
			mkdirSync(pictures, { recursive: true });
			world = await createWorld();
			await world.start();
			browser = await chromium.launch({
				executablePath: browserPath,
				args: ["--no-sandbox", "--disable-gpu", "--disable-background-networking"],
			});
			page = await browser.newPage({ viewport: { width: 1100, height: 800 } });
			page.on("console", (message) => {
				// Chromium tells of every refusal that an answer is; those are the tests' own.
				const told = message.type() === "error" && !/status of 4\d\d/.test(message.text());
				if (told) faults.push(message.text());
			});
			page.on("pageerror", (error) => faults.push(String(error)));
			await page.goto(`${world.url}/console`);
		});
		afterAll(async () => {
			await browser?.close();
			await world?.end();
		});
		const picture = (name: string) => page.screenshot({ path: join(pictures, `${name}.png`) });

		it("refuses a key that is none, in words, and takes one that is", async () => {
			await page.getByLabel("Key").fill("dk_wrong");
			await page.getByRole("button", { name: "Sign in" }).click();
			await page.getByRole("alert").getByText("Unauthenticated").waitFor();
			await picture("sign-in-refused");
			await page.getByLabel("Key").fill(world.key);
			await page.keyboard.press("Enter");
			await page.getByText("Nothing was loaded yet").waitFor();
		});

		it("keeps the key in the tab alone", async () => {
			expect(await page.evaluate(() => localStorage.length + document.cookie.length)).toBe(0);
			const other = await browser.newPage();
			await other.goto(`${world.url}/console`);
			await other.getByLabel("Key").waitFor();
			await other.close();
		});

		it("uploads a file that was chosen and shows its receipt", async () => {
			await page.getByRole("link", { name: "Upload", exact: true }).click();
			await page.locator("input[type=file]").setInputFiles(superstorePath);
			expect(await page.getByLabel("Table").inputValue()).toBe("superstore");
			await page.getByLabel("Table").fill("raw.sales");
			await page.getByRole("button", { name: "Upload" }).click();
			await page.getByRole("heading", { name: "Loaded into raw.sales" }).waitFor();
			await page.getByText(rows, { exact: true }).waitFor();
			await page.getByText("dictionary<values=string, indices=int32>").first().waitFor();
			await picture("receipt");
		});

		it("says what is wrong with a file that is no Arrow, and tries again when asked", async () => {
			await page.goto(`${world.url}/console#/drop`);
			const csv = writeFile(world, "table.csv", "id,name\n1,a\n2,b\n");
			await page.locator("input[type=file]").setInputFiles(csv);
			await page.getByRole("button", { name: "Upload" }).click();
			await page.getByText("it looks like CSV").waitFor();
			await page.getByRole("button", { name: "Try again" }).waitFor();
			await picture("refused");
		});

		it("shows a load that others made, without a reload, and its page", async () => {
			await page.goto(`${world.url}/console#/loads`);
			await page.getByRole("heading", { name: "Loads" }).waitFor();
			await fetch(`${world.url}/v1/ingest/other`, {
				method: "POST",
				headers: { Authorization: `Bearer ${world.key}` },
				body: new Uint8Array(await import("node:fs").then((fs) => fs.readFileSync(superstorePath))),
			});
			await page.getByRole("cell", { name: "main.other" }).waitFor();
			await picture("loads");
			await page
				.getByRole("row", { name: /main\.other/ })
				.getByRole("link")
				.click();
			await page.getByRole("heading", { name: "Load into main.other" }).waitFor();
			await page.getByText("committed after").waitFor();
			await picture("load");
		});

		it("lists tables and plots one's growth", async () => {
			await page.getByRole("link", { name: "Tables" }).click();
			await page.getByRole("link", { name: "raw.sales" }).click();
			await page.getByRole("heading", { name: "raw.sales" }).waitFor();
			await page.getByRole("img", { name: `to ${rows}` }).waitFor();
			await picture("table");
		});

		it("can be used with the keyboard alone, on a phone, in the dark", async () => {
			const phone = await browser.newContext({
				viewport: { width: 390, height: 780 },
				colorScheme: "dark",
			});
			const small = await phone.newPage();
			await small.goto(`${world.url}/console`);
			await small.getByLabel("Key").waitFor();
			await small.keyboard.press("Tab");
			await small.keyboard.press("Tab");
			await small.keyboard.type(world.key);
			await small.keyboard.press("Enter");
			await small.getByRole("heading", { name: "Loads" }).waitFor();
			const overflow = await small.evaluate(
				() => document.documentElement.scrollWidth - document.documentElement.clientWidth,
			);
			expect(overflow).toBeLessThanOrEqual(0);
			await small.screenshot({ path: join(pictures, "phone.png") });
			await phone.close();
		});

		it("signs out and forgets the key", async () => {
			await page.getByRole("button", { name: "Sign out" }).click();
			await page.getByLabel("Key").waitFor();
			expect(await page.evaluate(() => sessionStorage.length)).toBe(0);
		});

		it("ran without a fault in the browser's console", () => {
			expect(faults).toEqual([]);
		});
	},
);
