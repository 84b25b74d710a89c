/** `node functions/build-assets.node.ts`: the pages as files, for the Worker's static assets. Run by wrangler. */
import { mkdir, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { pageFile } from "../src/upload/page-headers.ts";
import { pagePaths, servicePages } from "./service-pages.node.ts";

/** Writes them into `folder`, which holds nothing else afterwards. */
export async function buildAssets(folder: string): Promise<void> {
	await rm(folder, { recursive: true, force: true });
	for (const path of await pagePaths()) {
		const page = await servicePages(path);
		const file = join(folder, pageFile(path));
		await mkdir(dirname(file), { recursive: true });
		await writeFile(file, await page!.text());
	}
}

// `[assets]` of `wrangler.toml`.
if (import.meta.main) await buildAssets(join(import.meta.dirname, "../dist/assets"));
